// before: nest
module {
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
      %12 = arith.constant 2 : i32
      %13 = arith.constant 4 : i64
      %14 = memref.alloca() : memref<16xi8, 3>
      %15 = arith.constant 3 : i32
      %16 = arith.shli %6, %12 : i32
      %17 = arith.addi %16, %9 : i32
      %18 = arith.extsi %17 : i32 to i64
      %19 = arith.muli %18, %13 : i64
      %20 = arith.index_cast %19 : i64 to index
      %21 = memref.view %p[%20][] : memref<?xi8> to memref<i32>
      %22 = memref.load %21[] : memref<i32>
      %23 = arith.muli %22, %n : i32
      %24 = arith.extui %9 : i32 to i64
      %25 = arith.muli %24, %13 : i64
      %26 = arith.index_cast %25 : i64 to index
      %27 = memref.view %14[%26][] : memref<16xi8, 3> to memref<i32, 3>
      memref.store %23, %27[] : memref<i32, 3>
      gpu.barrier
      %28 = arith.subi %15, %9 : i32
      %29 = arith.extsi %28 : i32 to i64
      %30 = arith.muli %29, %13 : i64
      %31 = arith.index_cast %30 : i64 to index
      %32 = memref.view %14[%31][] : memref<16xi8, 3> to memref<i32, 3>
      %33 = memref.load %32[] : memref<i32, 3>
      %34 = arith.addi %33, %6 : i32
      %35 = arith.index_cast %19 : i64 to index
      %36 = memref.view %p[%35][] : memref<?xi8> to memref<i32>
      memref.store %34, %36[] : memref<i32>
      gpu.terminator
    }
    return
  }
}
// after
module {
  func.func @"kernel"(%grid_x: index, %grid_y: index, %grid_z: index, %block_x: index, %block_y: index, %block_z: index, %p: memref<?xi8>, %n: i32) {
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
      %17 = memref.alloca() : memref<16xi8, 3>
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
        %30 = arith.constant 4 : i64
        %31 = arith.constant 3 : i32
        %32 = arith.shli %14, %29 : i32
        %33 = arith.addi %32, %26 : i32
        %34 = arith.extsi %33 : i32 to i64
        %35 = arith.muli %34, %30 : i64
        %36 = arith.index_cast %35 : i64 to index
        %37 = memref.view %p[%36][] : memref<?xi8> to memref<i32>
        %38 = memref.load %37[] : memref<i32>
        %39 = arith.muli %38, %n : i32
        %40 = arith.extui %26 : i32 to i64
        %41 = arith.muli %40, %30 : i64
        %42 = arith.index_cast %41 : i64 to index
        %43 = memref.view %17[%42][] : memref<16xi8, 3> to memref<i32, 3>
        memref.store %39, %43[] : memref<i32, 3>
        gpu.barrier
        %44 = arith.subi %31, %26 : i32
        %45 = arith.extsi %44 : i32 to i64
        %46 = arith.muli %45, %30 : i64
        %47 = arith.index_cast %46 : i64 to index
        %48 = memref.view %17[%47][] : memref<16xi8, 3> to memref<i32, 3>
        %49 = memref.load %48[] : memref<i32, 3>
        %50 = arith.addi %49, %14 : i32
        %51 = arith.index_cast %35 : i64 to index
        %52 = memref.view %p[%51][] : memref<?xi8> to memref<i32>
        memref.store %50, %52[] : memref<i32>
      } {windlass.kind = "block"}
    } {windlass.kind = "grid"}
    return
  }
}
