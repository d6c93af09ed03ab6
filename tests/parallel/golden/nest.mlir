// before: nest
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
      %12 = arith.constant 2 : i32
      %13 = memref.alloca() : memref<4xi32, 3>
      %14 = arith.constant 3 : i32
      %15 = arith.shli %6, %12 : i32
      %16 = arith.addi %15, %9 : i32
      %17 = arith.extsi %16 : i32 to i64
      %18 = arith.index_cast %17 : i64 to index
      %19 = memref.load %p[%18] : memref<?xi32>
      %20 = arith.muli %19, %n : i32
      %21 = arith.extui %9 : i32 to i64
      %22 = arith.index_cast %21 : i64 to index
      memref.store %20, %13[%22] : memref<4xi32, 3>
      gpu.barrier
      %23 = arith.subi %14, %9 : i32
      %24 = arith.extsi %23 : i32 to i64
      %25 = arith.index_cast %24 : i64 to index
      %26 = memref.load %13[%25] : memref<4xi32, 3>
      %27 = arith.addi %26, %6 : i32
      memref.store %27, %p[%18] : memref<?xi32>
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
    %6 = arith.constant 0 : index
    %7 = arith.constant 1 : index
    %8 = arith.index_cast %0 : i32 to index
    %9 = arith.index_cast %1 : i32 to index
    %10 = arith.index_cast %2 : i32 to index
    scf.parallel (%11, %12, %13) = (%6, %6, %6) to (%8, %9, %10) step (%7, %7, %7) {
      %14 = arith.index_cast %11 : index to i32
      %15 = arith.index_cast %12 : index to i32
      %16 = arith.index_cast %13 : index to i32
      %17 = memref.alloca() : memref<4xi32, 3>
      %18 = arith.constant 0 : index
      %19 = arith.constant 1 : index
      %20 = arith.index_cast %3 : i32 to index
      %21 = arith.index_cast %4 : i32 to index
      %22 = arith.index_cast %5 : i32 to index
      scf.parallel (%23, %24, %25) = (%18, %18, %18) to (%20, %21, %22) step (%19, %19, %19) {
        %26 = arith.index_cast %23 : index to i32
        %27 = arith.index_cast %24 : index to i32
        %28 = arith.index_cast %25 : index to i32
        %29 = arith.constant 2 : i32
        %30 = arith.constant 3 : i32
        %31 = arith.shli %14, %29 : i32
        %32 = arith.addi %31, %26 : i32
        %33 = arith.extsi %32 : i32 to i64
        %34 = arith.index_cast %33 : i64 to index
        %35 = memref.load %p[%34] : memref<?xi32>
        %36 = arith.muli %35, %n : i32
        %37 = arith.extui %26 : i32 to i64
        %38 = arith.index_cast %37 : i64 to index
        memref.store %36, %17[%38] : memref<4xi32, 3>
        gpu.barrier
        %39 = arith.subi %30, %26 : i32
        %40 = arith.extsi %39 : i32 to i64
        %41 = arith.index_cast %40 : i64 to index
        %42 = memref.load %17[%41] : memref<4xi32, 3>
        %43 = arith.addi %42, %14 : i32
        memref.store %43, %p[%34] : memref<?xi32>
      } {windlass.kind = "block"}
    } {windlass.kind = "grid"}
    return
  }
}
