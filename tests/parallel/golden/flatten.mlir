// before: flatten
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
        %29 = arith.constant 10 : i32
        %30 = arith.muli %28, %29 : i32
        %31 = arith.constant 0 : index
        %32 = arith.constant 32 : index
        %33 = arith.constant 1 : index
        scf.parallel (%34) = (%31) to (%32) step (%33) {
          %35 = arith.constant 32 : i32
          %36 = arith.muli %28, %35 : i32
          %37 = arith.index_cast %34 : index to i32
          %38 = arith.addi %36, %37 : i32
          %39 = arith.remui %38, %3 : i32
          %40 = arith.divui %38, %3 : i32
          %41 = arith.remui %40, %4 : i32
          %42 = arith.divui %40, %4 : i32
          %43 = arith.cmpi ult, %42, %5 : i32
          scf.if %43 {
            %44 = arith.constant 2 : i32
            %45 = arith.constant 3 : i32
            %46 = arith.shli %20, %44 : i32
            %47 = arith.addi %46, %39 : i32
            %48 = arith.extsi %47 : i32 to i64
            %49 = arith.index_cast %48 : i64 to index
            %50 = memref.load %p[%49] : memref<?xi32>
            %51 = arith.muli %50, %n : i32
            %52 = arith.extui %39 : i32 to i64
            %53 = arith.index_cast %52 : i64 to index
            memref.store %51, %23[%53] : memref<4xi32, 3>
            gpu.barrier
            %54 = arith.subi %45, %39 : i32
            %55 = arith.extsi %54 : i32 to i64
            %56 = arith.index_cast %55 : i64 to index
            %57 = memref.load %23[%56] : memref<4xi32, 3>
            %58 = arith.addi %57, %20 : i32
            %59 = arith.addi %58, %30 : i32
            memref.store %59, %p[%49] : memref<?xi32>
          }
        } {windlass.kind = "lane"}
      } {windlass.kind = "block"}
    } {windlass.kind = "grid"}
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
    gpu.launch blocks(%bid_x, %bid_y, %bid_z) in (%gx = %grid_x, %gy = %grid_y, %gz = %grid_z)
               threads(%tid_x, %tid_y, %tid_z) in (%bx = %block_x, %by = %block_y, %bz = %block_z) {
      %12 = arith.index_cast %bid_x : index to i32
      %13 = arith.index_cast %bid_y : index to i32
      %14 = arith.index_cast %bid_z : index to i32
      %15 = arith.index_cast %tid_x : index to i32
      %16 = arith.index_cast %tid_y : index to i32
      %17 = arith.index_cast %tid_z : index to i32
      %18 = arith.muli %4, %17 : i32
      %19 = arith.addi %16, %18 : i32
      %20 = arith.muli %3, %19 : i32
      %21 = arith.addi %15, %20 : i32
      %22 = arith.constant 32 : i32
      %23 = arith.divsi %21, %22 : i32
      %24 = memref.alloca() : memref<4xi32, 3>
      %25 = arith.constant 10 : i32
      %26 = arith.muli %23, %25 : i32
      %27 = arith.constant 2 : i32
      %28 = arith.constant 3 : i32
      %29 = arith.shli %12, %27 : i32
      %30 = arith.addi %29, %15 : i32
      %31 = arith.extsi %30 : i32 to i64
      %32 = arith.index_cast %31 : i64 to index
      %33 = memref.load %p[%32] : memref<?xi32>
      %34 = arith.muli %33, %n : i32
      %35 = arith.extui %15 : i32 to i64
      %36 = arith.index_cast %35 : i64 to index
      memref.store %34, %24[%36] : memref<4xi32, 3>
      gpu.barrier
      %37 = arith.subi %28, %15 : i32
      %38 = arith.extsi %37 : i32 to i64
      %39 = arith.index_cast %38 : i64 to index
      %40 = memref.load %24[%39] : memref<4xi32, 3>
      %41 = arith.addi %40, %12 : i32
      %42 = arith.addi %41, %26 : i32
      memref.store %42, %p[%32] : memref<?xi32>
      gpu.terminator
    }
    return
  }
}
