// before: register tiles
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
      %12 = arith.constant 0 : i64
      %13 = memref.alloca() : memref<8xi32, 5>
      %14 = arith.constant 0 : i32
      %15 = arith.constant 4 : i64
      %16 = arith.constant 8 : i64
      %17 = arith.constant 12 : i64
      %18 = arith.constant 16 : i64
      %19 = arith.constant 20 : i64
      %20 = arith.constant 24 : i64
      %21 = arith.constant 28 : i64
      %22 = arith.constant 3 : i32
      %23 = arith.constant 0 : index
      memref.store %14, %13[%23] : memref<8xi32, 5>
      %24 = arith.constant 1 : index
      memref.store %14, %13[%24] : memref<8xi32, 5>
      %25 = arith.constant 2 : index
      memref.store %14, %13[%25] : memref<8xi32, 5>
      %26 = arith.constant 3 : index
      memref.store %14, %13[%26] : memref<8xi32, 5>
      %27 = arith.constant 4 : index
      memref.store %14, %13[%27] : memref<8xi32, 5>
      %28 = arith.constant 5 : index
      memref.store %14, %13[%28] : memref<8xi32, 5>
      %29 = arith.constant 6 : index
      memref.store %14, %13[%29] : memref<8xi32, 5>
      %30 = arith.constant 7 : index
      memref.store %14, %13[%30] : memref<8xi32, 5>
      %31 = arith.extsi %n : i32 to i64
      %32 = arith.constant 0 : i64
      %33 = arith.constant 1 : i64
      scf.for %34 = %32 to %31 step %33 : i64 {
        %35 = arith.trunci %34 : i64 to i32
        %36 = arith.shli %35, %22 : i32
        %37 = arith.extui %35 : i32 to i64
        %38 = arith.index_cast %37 : i64 to index
        %39 = memref.load %p[%38] : memref<?xi32>
        %40 = arith.constant 0 : i64
        %41 = arith.constant 1 : i64
        scf.for %42 = %40 to %16 step %41 : i64 {
          %43 = arith.trunci %42 : i64 to i32
          %44 = arith.addi %43, %36 : i32
          %45 = arith.extui %44 : i32 to i64
          %46 = arith.index_cast %45 : i64 to index
          %47 = memref.load %p[%46] : memref<?xi32>
          %48 = arith.muli %39, %47 : i32
          %49 = arith.extui %43 : i32 to i64
          %50 = arith.index_cast %49 : i64 to index
          %51 = memref.load %13[%50] : memref<8xi32, 5>
          %52 = arith.addi %51, %48 : i32
          memref.store %52, %13[%50] : memref<8xi32, 5>
          scf.yield
        }
        scf.yield
      }
      %53 = arith.shli %9, %22 : i32
      %54 = arith.constant 0 : i64
      %55 = arith.constant 1 : i64
      scf.for %56 = %54 to %16 step %55 : i64 {
        %57 = arith.trunci %56 : i64 to i32
        %58 = arith.extui %57 : i32 to i64
        %59 = arith.index_cast %58 : i64 to index
        %60 = memref.load %13[%59] : memref<8xi32, 5>
        %61 = arith.addi %57, %53 : i32
        %62 = arith.extui %61 : i32 to i64
        %63 = arith.index_cast %62 : i64 to index
        memref.store %60, %p[%63] : memref<?xi32>
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
      %12 = arith.constant 0 : i64
      %13 = memref.alloca() {windlass.axes = [[4, 8]]} : memref<8xi32, 5>
      %14 = arith.constant 0 : i32
      %15 = arith.constant 4 : i64
      %16 = arith.constant 8 : i64
      %17 = arith.constant 12 : i64
      %18 = arith.constant 16 : i64
      %19 = arith.constant 20 : i64
      %20 = arith.constant 24 : i64
      %21 = arith.constant 28 : i64
      %22 = arith.constant 3 : i32
      %23 = arith.constant 0 : index
      memref.store %14, %13[%23] : memref<8xi32, 5>
      %24 = arith.constant 1 : index
      memref.store %14, %13[%24] : memref<8xi32, 5>
      %25 = arith.constant 2 : index
      memref.store %14, %13[%25] : memref<8xi32, 5>
      %26 = arith.constant 3 : index
      memref.store %14, %13[%26] : memref<8xi32, 5>
      %27 = arith.constant 4 : index
      memref.store %14, %13[%27] : memref<8xi32, 5>
      %28 = arith.constant 5 : index
      memref.store %14, %13[%28] : memref<8xi32, 5>
      %29 = arith.constant 6 : index
      memref.store %14, %13[%29] : memref<8xi32, 5>
      %30 = arith.constant 7 : index
      memref.store %14, %13[%30] : memref<8xi32, 5>
      %31 = arith.extsi %n : i32 to i64
      %32 = arith.constant 0 : i64
      %33 = arith.constant 1 : i64
      scf.for %34 = %32 to %31 step %33 : i64 {
        %35 = arith.trunci %34 : i64 to i32
        %36 = arith.shli %35, %22 : i32
        %37 = arith.extui %35 : i32 to i64
        %38 = arith.index_cast %37 : i64 to index
        %39 = memref.load %p[%38] : memref<?xi32>
        %40 = arith.constant 0 : i64
        %41 = arith.constant 1 : i64
        scf.for %42 = %40 to %16 step %41 : i64 {
          %43 = arith.trunci %42 : i64 to i32
          %44 = arith.addi %43, %36 : i32
          %45 = arith.extui %44 : i32 to i64
          %46 = arith.index_cast %45 : i64 to index
          %47 = memref.load %p[%46] : memref<?xi32>
          %48 = arith.muli %39, %47 : i32
          %49 = arith.extui %43 : i32 to i64
          %50 = arith.index_cast %49 : i64 to index
          %51 = memref.load %13[%50] : memref<8xi32, 5>
          %52 = arith.addi %51, %48 : i32
          memref.store %52, %13[%50] : memref<8xi32, 5>
          scf.yield
        } {windlass.counts_elements}
        scf.yield
      }
      %53 = arith.shli %9, %22 : i32
      %54 = arith.constant 0 : i64
      %55 = arith.constant 1 : i64
      scf.for %56 = %54 to %16 step %55 : i64 {
        %57 = arith.trunci %56 : i64 to i32
        %58 = arith.extui %57 : i32 to i64
        %59 = arith.index_cast %58 : i64 to index
        %60 = memref.load %13[%59] : memref<8xi32, 5>
        %61 = arith.addi %57, %53 : i32
        %62 = arith.extui %61 : i32 to i64
        %63 = arith.index_cast %62 : i64 to index
        memref.store %60, %p[%63] : memref<?xi32>
        scf.yield
      } {windlass.counts_elements}
      gpu.terminator
    }
    return
  }
}
