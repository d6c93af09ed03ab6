// before: flatten
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
            %45 = arith.constant 4 : i64
            %46 = arith.constant 3 : i32
            %47 = arith.shli %20, %44 : i32
            %48 = arith.addi %47, %39 : i32
            %49 = arith.extsi %48 : i32 to i64
            %50 = arith.muli %49, %45 : i64
            %51 = arith.index_cast %50 : i64 to index
            %52 = memref.view %p[%51][] : memref<?xi8> to memref<i32>
            %53 = memref.load %52[] : memref<i32>
            %54 = arith.muli %53, %n : i32
            %55 = arith.extui %39 : i32 to i64
            %56 = arith.muli %55, %45 : i64
            %57 = arith.index_cast %56 : i64 to index
            %58 = memref.view %23[%57][] : memref<16xi8, 3> to memref<i32, 3>
            memref.store %54, %58[] : memref<i32, 3>
            gpu.barrier
            %59 = arith.subi %46, %39 : i32
            %60 = arith.extsi %59 : i32 to i64
            %61 = arith.muli %60, %45 : i64
            %62 = arith.index_cast %61 : i64 to index
            %63 = memref.view %23[%62][] : memref<16xi8, 3> to memref<i32, 3>
            %64 = memref.load %63[] : memref<i32, 3>
            %65 = arith.addi %64, %20 : i32
            %66 = arith.addi %65, %30 : i32
            %67 = arith.index_cast %50 : i64 to index
            %68 = memref.view %p[%67][] : memref<?xi8> to memref<i32>
            memref.store %66, %68[] : memref<i32>
          }
        } {windlass.kind = "lane"}
      } {windlass.kind = "block"}
    } {windlass.kind = "grid"}
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
      %24 = memref.alloca() : memref<16xi8, 3>
      %25 = arith.constant 10 : i32
      %26 = arith.muli %23, %25 : i32
      %27 = arith.constant 2 : i32
      %28 = arith.constant 4 : i64
      %29 = arith.constant 3 : i32
      %30 = arith.shli %12, %27 : i32
      %31 = arith.addi %30, %15 : i32
      %32 = arith.extsi %31 : i32 to i64
      %33 = arith.muli %32, %28 : i64
      %34 = arith.index_cast %33 : i64 to index
      %35 = memref.view %p[%34][] : memref<?xi8> to memref<i32>
      %36 = memref.load %35[] : memref<i32>
      %37 = arith.muli %36, %n : i32
      %38 = arith.extui %15 : i32 to i64
      %39 = arith.muli %38, %28 : i64
      %40 = arith.index_cast %39 : i64 to index
      %41 = memref.view %24[%40][] : memref<16xi8, 3> to memref<i32, 3>
      memref.store %37, %41[] : memref<i32, 3>
      gpu.barrier
      %42 = arith.subi %29, %15 : i32
      %43 = arith.extsi %42 : i32 to i64
      %44 = arith.muli %43, %28 : i64
      %45 = arith.index_cast %44 : i64 to index
      %46 = memref.view %24[%45][] : memref<16xi8, 3> to memref<i32, 3>
      %47 = memref.load %46[] : memref<i32, 3>
      %48 = arith.addi %47, %12 : i32
      %49 = arith.addi %48, %26 : i32
      %50 = arith.index_cast %33 : i64 to index
      %51 = memref.view %p[%50][] : memref<?xi8> to memref<i32>
      memref.store %49, %51[] : memref<i32>
      gpu.terminator
    }
    return
  }
}
