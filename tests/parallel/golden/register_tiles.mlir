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
      %12 = memref.alloca() : memref<8xi32, 5>
      %13 = arith.constant 0 : i32
      %14 = arith.constant 8 : i64
      %15 = arith.constant 3 : i32
      %16 = arith.constant 0 : index
      memref.store %13, %12[%16] : memref<8xi32, 5>
      %17 = arith.constant 1 : index
      memref.store %13, %12[%17] : memref<8xi32, 5>
      %18 = arith.constant 2 : index
      memref.store %13, %12[%18] : memref<8xi32, 5>
      %19 = arith.constant 3 : index
      memref.store %13, %12[%19] : memref<8xi32, 5>
      %20 = arith.constant 4 : index
      memref.store %13, %12[%20] : memref<8xi32, 5>
      %21 = arith.constant 5 : index
      memref.store %13, %12[%21] : memref<8xi32, 5>
      %22 = arith.constant 6 : index
      memref.store %13, %12[%22] : memref<8xi32, 5>
      %23 = arith.constant 7 : index
      memref.store %13, %12[%23] : memref<8xi32, 5>
      %24 = arith.extsi %n : i32 to i64
      %25 = arith.constant 0 : i64
      %26 = arith.constant 1 : i64
      scf.for %27 = %25 to %24 step %26 : i64 {
        %28 = arith.trunci %27 : i64 to i32
        %29 = arith.shli %28, %15 : i32
        %30 = arith.extui %28 : i32 to i64
        %31 = arith.index_cast %30 : i64 to index
        %32 = memref.load %p[%31] : memref<?xi32>
        %33 = arith.constant 0 : i64
        %34 = arith.constant 1 : i64
        scf.for %35 = %33 to %14 step %34 : i64 {
          %36 = arith.trunci %35 : i64 to i32
          %37 = arith.addi %36, %29 : i32
          %38 = arith.extui %37 : i32 to i64
          %39 = arith.index_cast %38 : i64 to index
          %40 = memref.load %p[%39] : memref<?xi32>
          %41 = arith.muli %32, %40 : i32
          %42 = arith.extui %36 : i32 to i64
          %43 = arith.index_cast %42 : i64 to index
          %44 = memref.load %12[%43] : memref<8xi32, 5>
          %45 = arith.addi %44, %41 : i32
          memref.store %45, %12[%43] : memref<8xi32, 5>
          scf.yield
        }
        scf.yield
      }
      %46 = arith.shli %9, %15 : i32
      %47 = arith.constant 0 : i64
      %48 = arith.constant 1 : i64
      scf.for %49 = %47 to %14 step %48 : i64 {
        %50 = arith.trunci %49 : i64 to i32
        %51 = arith.extui %50 : i32 to i64
        %52 = arith.index_cast %51 : i64 to index
        %53 = memref.load %12[%52] : memref<8xi32, 5>
        %54 = arith.addi %50, %46 : i32
        %55 = arith.extui %54 : i32 to i64
        %56 = arith.index_cast %55 : i64 to index
        memref.store %53, %p[%56] : memref<?xi32>
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
      %12 = memref.alloca() {windlass.axes = [[4, 8]]} : memref<8xi32, 5>
      %13 = arith.constant 0 : i32
      %14 = arith.constant 8 : i64
      %15 = arith.constant 3 : i32
      %16 = arith.constant 0 : index
      memref.store %13, %12[%16] : memref<8xi32, 5>
      %17 = arith.constant 1 : index
      memref.store %13, %12[%17] : memref<8xi32, 5>
      %18 = arith.constant 2 : index
      memref.store %13, %12[%18] : memref<8xi32, 5>
      %19 = arith.constant 3 : index
      memref.store %13, %12[%19] : memref<8xi32, 5>
      %20 = arith.constant 4 : index
      memref.store %13, %12[%20] : memref<8xi32, 5>
      %21 = arith.constant 5 : index
      memref.store %13, %12[%21] : memref<8xi32, 5>
      %22 = arith.constant 6 : index
      memref.store %13, %12[%22] : memref<8xi32, 5>
      %23 = arith.constant 7 : index
      memref.store %13, %12[%23] : memref<8xi32, 5>
      %24 = arith.extsi %n : i32 to i64
      %25 = arith.constant 0 : i64
      %26 = arith.constant 1 : i64
      scf.for %27 = %25 to %24 step %26 : i64 {
        %28 = arith.trunci %27 : i64 to i32
        %29 = arith.shli %28, %15 : i32
        %30 = arith.extui %28 : i32 to i64
        %31 = arith.index_cast %30 : i64 to index
        %32 = memref.load %p[%31] : memref<?xi32>
        %33 = arith.constant 0 : i64
        %34 = arith.constant 1 : i64
        scf.for %35 = %33 to %14 step %34 : i64 {
          %36 = arith.trunci %35 : i64 to i32
          %37 = arith.addi %36, %29 : i32
          %38 = arith.extui %37 : i32 to i64
          %39 = arith.index_cast %38 : i64 to index
          %40 = memref.load %p[%39] : memref<?xi32>
          %41 = arith.muli %32, %40 : i32
          %42 = arith.extui %36 : i32 to i64
          %43 = arith.index_cast %42 : i64 to index
          %44 = memref.load %12[%43] : memref<8xi32, 5>
          %45 = arith.addi %44, %41 : i32
          memref.store %45, %12[%43] : memref<8xi32, 5>
          scf.yield
        } {windlass.counts_elements}
        scf.yield
      }
      %46 = arith.shli %9, %15 : i32
      %47 = arith.constant 0 : i64
      %48 = arith.constant 1 : i64
      scf.for %49 = %47 to %14 step %48 : i64 {
        %50 = arith.trunci %49 : i64 to i32
        %51 = arith.extui %50 : i32 to i64
        %52 = arith.index_cast %51 : i64 to index
        %53 = memref.load %12[%52] : memref<8xi32, 5>
        %54 = arith.addi %50, %46 : i32
        %55 = arith.extui %54 : i32 to i64
        %56 = arith.index_cast %55 : i64 to index
        memref.store %53, %p[%56] : memref<?xi32>
        scf.yield
      } {windlass.counts_elements}
      gpu.terminator
    }
    return
  }
}
