// before: nest_lanes
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
      %23 = memref.alloca() : memref<16xi8, 3>
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
            %43 = arith.constant 4 : i64
            %44 = arith.constant 3 : i32
            %45 = arith.shli %20, %42 : i32
            %46 = arith.addi %45, %37 : i32
            %47 = arith.extsi %46 : i32 to i64
            %48 = arith.muli %47, %43 : i64
            %49 = arith.index_cast %48 : i64 to index
            %50 = memref.view %p[%49][] : memref<?xi8> to memref<i32>
            %51 = memref.load %50[] : memref<i32>
            %52 = arith.muli %51, %n : i32
            %53 = arith.extui %37 : i32 to i64
            %54 = arith.muli %53, %43 : i64
            %55 = arith.index_cast %54 : i64 to index
            %56 = memref.view %23[%55][] : memref<16xi8, 3> to memref<i32, 3>
            memref.store %52, %56[] : memref<i32, 3>
            gpu.barrier
            %57 = arith.subi %44, %37 : i32
            %58 = arith.extsi %57 : i32 to i64
            %59 = arith.muli %58, %43 : i64
            %60 = arith.index_cast %59 : i64 to index
            %61 = memref.view %23[%60][] : memref<16xi8, 3> to memref<i32, 3>
            %62 = memref.load %61[] : memref<i32, 3>
            %63 = arith.addi %62, %20 : i32
            %64 = arith.index_cast %48 : i64 to index
            %65 = memref.view %p[%64][] : memref<?xi8> to memref<i32>
            memref.store %63, %65[] : memref<i32>
          }
        } {windlass.kind = "lane"}
      } {windlass.kind = "block"}
    } {windlass.kind = "grid"}
    return
  }
}
