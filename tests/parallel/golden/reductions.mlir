// before: reductions
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
      %12 = arith.constant 0 : i32
      %13 = arith.extsi %9 : i32 to i64
      %14 = arith.extsi %n : i32 to i64
      %15 = arith.subi %14, %13 : i64
      %16 = arith.constant 0 : i64
      %17 = arith.constant 1 : i64
      %18 = scf.for %19 = %16 to %15 step %17 iter_args(%20 = %12) -> (i32) : i64 {
        %21 = arith.trunci %19 : i64 to i32
        %22 = arith.addi %9, %21 : i32
        %23 = arith.extui %22 : i32 to i64
        %24 = arith.index_cast %23 : i64 to index
        %25 = memref.load %p[%24] : memref<?xi32>
        %26 = arith.addi %25, %20 : i32
        scf.yield %26 : i32
      }
      %27 = arith.addi %n, %9 : i32
      %28 = arith.extui %27 : i32 to i64
      %29 = arith.index_cast %28 : i64 to index
      memref.store %18, %p[%29] : memref<?xi32>
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
      %12 = arith.constant 0 : i32
      %13 = arith.extsi %9 : i32 to i64
      %14 = arith.extsi %n : i32 to i64
      %15 = arith.subi %14, %13 : i64
      %16 = arith.constant 0 : i64
      %17 = arith.constant 1 : i64
      %18 = scf.for %19 = %16 to %15 step %17 iter_args(%20 = %12) -> (i32) : i64 {
        %21 = arith.trunci %19 : i64 to i32
        %22 = arith.addi %9, %21 : i32
        %23 = arith.extui %22 : i32 to i64
        %24 = arith.index_cast %23 : i64 to index
        %25 = memref.load %p[%24] : memref<?xi32>
        %26 = arith.addi %25, %20 : i32
        scf.yield %26 : i32
      } {windlass.reductions = ["add"]}
      %27 = arith.addi %n, %9 : i32
      %28 = arith.extui %27 : i32 to i64
      %29 = arith.index_cast %28 : i64 to index
      memref.store %18, %p[%29] : memref<?xi32>
      gpu.terminator
    }
    return
  }
}
