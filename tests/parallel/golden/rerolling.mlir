// before: rerolling
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
      %12 = arith.extui %9 : i32 to i64
      %13 = arith.index_cast %12 : i64 to index
      %14 = arith.constant 4 : index
      %15 = arith.muli %13, %14 : index
      %16 = memref.load %p[%15] : memref<?xi32>
      %17 = arith.constant 1 : index
      %18 = arith.addi %15, %17 : index
      %19 = memref.load %p[%18] : memref<?xi32>
      %20 = arith.constant 2 : index
      %21 = arith.addi %15, %20 : index
      %22 = memref.load %p[%21] : memref<?xi32>
      %23 = arith.constant 3 : index
      %24 = arith.addi %15, %23 : index
      %25 = memref.load %p[%24] : memref<?xi32>
      %26 = arith.muli %16, %n : i32
      %27 = arith.muli %19, %n : i32
      %28 = arith.muli %22, %n : i32
      %29 = arith.muli %25, %n : i32
      memref.store %26, %p[%15] : memref<?xi32>
      memref.store %27, %p[%18] : memref<?xi32>
      memref.store %28, %p[%21] : memref<?xi32>
      memref.store %29, %p[%24] : memref<?xi32>
      gpu.terminator
    }
    return
  }
}
// after
module {
  func.func private @"check_alignment.16(memref<?xi8>, i64)"(memref<?xi8>, i64) -> ()
  func.func private @"check_alignment.8(memref<?xi8>, i64)"(memref<?xi8>, i64) -> ()
  func.func @"kernel"(%grid_x: index, %grid_y: index, %grid_z: index, %block_x: index, %block_y: index, %block_z: index, %p: memref<?xi8>, %n: i32) {
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
      %12 = arith.extui %9 : i32 to i64
      %13 = arith.constant 16 : i64
      %14 = arith.muli %12, %13 : i64
      %15 = arith.constant 8 : i64
      %16 = arith.addi %14, %15 : i64
      %17 = arith.constant 4 : i64
      %18 = arith.constant 0 : i64
      %19 = arith.constant 1 : i64
      scf.for %20 = %18 to %17 step %19 : i64 {
        %21 = arith.constant 4 : i64
        %22 = arith.muli %20, %21 : i64
        %23 = arith.addi %14, %22 : i64
        %24 = arith.index_cast %23 : i64 to index
        %25 = memref.view %p[%24][] : memref<?xi8> to memref<i32>
        %26 = memref.load %25[] : memref<i32>
        %27 = arith.muli %26, %n : i32
        %28 = arith.index_cast %23 : i64 to index
        %29 = memref.view %p[%28][] : memref<?xi8> to memref<i32>
        memref.store %27, %29[] : memref<i32>
        scf.yield
      }
      func.call @"check_alignment.16(memref<?xi8>, i64)"(%p, %14) : (memref<?xi8>, i64) -> ()
      func.call @"check_alignment.8(memref<?xi8>, i64)"(%p, %16) : (memref<?xi8>, i64) -> ()
      func.call @"check_alignment.16(memref<?xi8>, i64)"(%p, %14) : (memref<?xi8>, i64) -> ()
      func.call @"check_alignment.8(memref<?xi8>, i64)"(%p, %16) : (memref<?xi8>, i64) -> ()
      gpu.terminator
    }
    return
  }
}
