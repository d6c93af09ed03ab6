// before: nest_lanes
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
    %6 = arith.muli %3, %4 : i32
    %7 = arith.muli %6, %5 : i32
    %8 = arith.constant 31 : i32
    %9 = arith.addi %7, %8 : i32
    %10 = arith.constant 32 : i32
    %11 = arith.divsi %9, %10 : i32
    %12 = arith.constant 0 : index
    %13 = arith.constant 1 : index
    %14 = arith.index_cast %0 : i32 to index
    %15 = arith.index_cast %1 : i32 to index
    %16 = arith.index_cast %2 : i32 to index
    scf.parallel (%17, %18, %19) = (%12, %12, %12) to (%14, %15, %16) step (%13, %13, %13) {
      %20 = arith.index_cast %17 : index to i32
      %21 = arith.index_cast %18 : index to i32
      %22 = arith.index_cast %19 : index to i32
      %23 = memref.alloca() : memref<4xi32, 3>
      %24 = arith.constant 0 : index
      %25 = arith.constant 1 : index
      %26 = arith.index_cast %11 : i32 to index
      scf.parallel (%27) = (%24) to (%26) step (%25) {
        %28 = arith.index_cast %27 : index to i32
        %29 = arith.constant 0 : index
        %30 = arith.constant 32 : index
        %31 = arith.constant 1 : index
        scf.parallel (%32) = (%29) to (%30) step (%31) {
          %33 = arith.constant 32 : i32
          %34 = arith.muli %28, %33 : i32
          %35 = arith.index_cast %32 : index to i32
          %36 = arith.addi %34, %35 : i32
          %37 = arith.remui %36, %3 : i32
          %38 = arith.divui %36, %3 : i32
          %39 = arith.remui %38, %4 : i32
          %40 = arith.divui %38, %4 : i32
          %41 = arith.cmpi ult, %40, %5 : i32
          scf.if %41 {
            %42 = arith.constant 2 : i32
            %43 = arith.constant 3 : i32
            %44 = arith.shli %20, %42 : i32
            %45 = arith.addi %44, %37 : i32
            %46 = arith.extsi %45 : i32 to i64
            %47 = arith.index_cast %46 : i64 to index
            %48 = memref.load %p[%47] : memref<?xi32>
            %49 = arith.muli %48, %n : i32
            %50 = arith.extui %37 : i32 to i64
            %51 = arith.index_cast %50 : i64 to index
            memref.store %49, %23[%51] : memref<4xi32, 3>
            gpu.barrier
            %52 = arith.subi %43, %37 : i32
            %53 = arith.extsi %52 : i32 to i64
            %54 = arith.index_cast %53 : i64 to index
            %55 = memref.load %23[%54] : memref<4xi32, 3>
            %56 = arith.addi %55, %20 : i32
            memref.store %56, %p[%47] : memref<?xi32>
          }
        } {windlass.kind = "lane"}
      } {windlass.kind = "block"}
    } {windlass.kind = "grid"}
    return
  }
}
