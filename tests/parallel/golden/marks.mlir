// before: marks
module {
  func.func @"kernel"(%grid_x: index, %grid_y: index, %grid_z: index, %block_x: index, %block_y: index, %block_z: index, %p: memref<?xi32>, %n: i32) {
    %0 = arith.index_cast %grid_x : index to i32
    %1 = arith.index_cast %grid_y : index to i32
    %2 = arith.index_cast %grid_z : index to i32
    %3 = arith.index_cast %block_x : index to i32
    %4 = arith.index_cast %block_y : index to i32
    %5 = arith.index_cast %block_z : index to i32
    gpu.launch blocks(%bid_x, %bid_y, %bid_z) in (%gx = %grid_x, %gy = %grid_y, %gz = %grid_z)
               threads(%tid_x, %tid_y, %tid_z) in (%bx = %block_x, %by = %block_y, %bz = %block_z) {
      %6 = arith.index_cast %bid_x : index to i32
      %7 = arith.index_cast %bid_y : index to i32
      %8 = arith.index_cast %bid_z : index to i32
      %9 = arith.index_cast %tid_x : index to i32
      %10 = arith.index_cast %tid_y : index to i32
      %11 = arith.index_cast %tid_z : index to i32
      %12 = arith.extsi %n : i32 to i64
      %13 = arith.constant 0 : i64
      %14 = arith.constant 1 : i64
      scf.for %15 = %13 to %12 step %14 : i64 {
        %16 = arith.trunci %15 : i64 to i32
        "windlass.mark"() {function = "__windlass_iteration", number = 0} : () -> ()
        %17 = arith.extui %16 : i32 to i64
        %18 = arith.index_cast %17 : i64 to index
        %19 = memref.load %p[%18] : memref<?xi32>
        %20 = arith.extsi %19 : i32 to i64
        %21 = arith.index_cast %20 : i64 to index
        memref.store %16, %p[%21] : memref<?xi32>
        scf.yield
      }
      gpu.terminator
    }
    return
  }
}
// after
module {
  func.func @"kernel"(%grid_x: index, %grid_y: index, %grid_z: index, %block_x: index, %block_y: index, %block_z: index, %p: memref<?xi32>, %n: i32) {
    %0 = arith.index_cast %grid_x : index to i32
    %1 = arith.index_cast %grid_y : index to i32
    %2 = arith.index_cast %grid_z : index to i32
    %3 = arith.index_cast %block_x : index to i32
    %4 = arith.index_cast %block_y : index to i32
    %5 = arith.index_cast %block_z : index to i32
    gpu.launch blocks(%bid_x, %bid_y, %bid_z) in (%gx = %grid_x, %gy = %grid_y, %gz = %grid_z)
               threads(%tid_x, %tid_y, %tid_z) in (%bx = %block_x, %by = %block_y, %bz = %block_z) {
      %6 = arith.index_cast %bid_x : index to i32
      %7 = arith.index_cast %bid_y : index to i32
      %8 = arith.index_cast %bid_z : index to i32
      %9 = arith.index_cast %tid_x : index to i32
      %10 = arith.index_cast %tid_y : index to i32
      %11 = arith.index_cast %tid_z : index to i32
      %12 = arith.extsi %n : i32 to i64
      %13 = arith.constant 0 : i64
      %14 = arith.constant 1 : i64
      scf.for %15 = %13 to %12 step %14 : i64 {
        %16 = arith.trunci %15 : i64 to i32
        %17 = arith.extui %16 : i32 to i64
        %18 = arith.index_cast %17 : i64 to index
        %19 = memref.load %p[%18] : memref<?xi32>
        %20 = arith.extsi %19 : i32 to i64
        %21 = arith.index_cast %20 : i64 to index
        memref.store %16, %p[%21] : memref<?xi32>
        scf.yield
      } {windlass.is_independent}
      gpu.terminator
    }
    return
  }
}
