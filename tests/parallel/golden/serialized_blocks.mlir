// before: blocks one after another
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
      %12 = memref.alloca() : memref<4xi32, 3>
      %13 = arith.constant 3 : i32
      %14 = arith.extui %9 : i32 to i64
      %15 = arith.index_cast %14 : i64 to index
      %16 = memref.load %p[%15] : memref<?xi32>
      %17 = arith.muli %16, %n : i32
      memref.store %17, %12[%15] : memref<4xi32, 3>
      gpu.barrier
      %18 = arith.subi %13, %9 : i32
      %19 = arith.extsi %18 : i32 to i64
      %20 = arith.index_cast %19 : i64 to index
      %21 = memref.load %12[%20] : memref<4xi32, 3>
      %22 = arith.addi %21, %6 : i32
      memref.store %22, %p[%15] : memref<?xi32>
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
    %6 = arith.constant 1 : i32
    %7 = arith.constant 1 : i64
    %8 = arith.extsi %0 : i32 to i64
    %9 = arith.muli %7, %8 : i64
    %10 = arith.extsi %1 : i32 to i64
    %11 = arith.muli %9, %10 : i64
    %12 = arith.extsi %2 : i32 to i64
    %13 = arith.muli %11, %12 : i64
    %14 = arith.index_cast %6 : i32 to index
    %15 = arith.index_cast %6 : i32 to index
    %16 = arith.index_cast %6 : i32 to index
    gpu.launch blocks(%bid_x, %bid_y, %bid_z) in (%gx = %14, %gy = %15, %gz = %16)
               threads(%tid_x, %tid_y, %tid_z) in (%bx = %block_x, %by = %block_y, %bz = %block_z) {
      %17 = arith.index_cast %bid_x : index to i32
      %18 = arith.index_cast %bid_y : index to i32
      %19 = arith.index_cast %bid_z : index to i32
      %20 = arith.index_cast %tid_x : index to i32
      %21 = arith.index_cast %tid_y : index to i32
      %22 = arith.index_cast %tid_z : index to i32
      %23 = arith.constant 0 : i64
      %24 = arith.constant 1 : i64
      scf.for %25 = %23 to %13 step %24 : i64 {
        %26 = arith.extsi %0 : i32 to i64
        %27 = arith.remsi %25, %26 : i64
        %28 = arith.trunci %27 : i64 to i32
        %29 = arith.divsi %25, %26 : i64
        %30 = arith.extsi %1 : i32 to i64
        %31 = arith.remsi %29, %30 : i64
        %32 = arith.trunci %31 : i64 to i32
        %33 = arith.divsi %29, %30 : i64
        %34 = arith.extsi %2 : i32 to i64
        %35 = arith.remsi %33, %34 : i64
        %36 = arith.trunci %35 : i64 to i32
        %37 = arith.divsi %33, %34 : i64
        %38 = memref.alloca() : memref<4xi32, 3>
        %39 = arith.constant 3 : i32
        %40 = arith.extui %20 : i32 to i64
        %41 = arith.index_cast %40 : i64 to index
        %42 = memref.load %p[%41] : memref<?xi32>
        %43 = arith.muli %42, %n : i32
        memref.store %43, %38[%41] : memref<4xi32, 3>
        gpu.barrier
        %44 = arith.subi %39, %20 : i32
        %45 = arith.extsi %44 : i32 to i64
        %46 = arith.index_cast %45 : i64 to index
        %47 = memref.load %38[%46] : memref<4xi32, 3>
        %48 = arith.addi %47, %28 : i32
        memref.store %48, %p[%41] : memref<?xi32>
        gpu.barrier
        scf.yield
      } {windlass.serializes = "blocks"}
      gpu.terminator
    }
    return
  }
}
