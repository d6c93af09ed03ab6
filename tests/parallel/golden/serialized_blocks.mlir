// before: blocks one after another
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
      %12 = arith.constant 4 : i64
      %13 = memref.alloca() : memref<16xi8, 3>
      %14 = arith.constant 3 : i32
      %15 = arith.extui %9 : i32 to i64
      %16 = arith.muli %15, %12 : i64
      %17 = arith.index_cast %16 : i64 to index
      %18 = memref.view %p[%17][] : memref<?xi8> to memref<i32>
      %19 = memref.load %18[] : memref<i32>
      %20 = arith.muli %19, %n : i32
      %21 = arith.muli %15, %12 : i64
      %22 = arith.index_cast %21 : i64 to index
      %23 = memref.view %13[%22][] : memref<16xi8, 3> to memref<i32, 3>
      memref.store %20, %23[] : memref<i32, 3>
      gpu.barrier
      %24 = arith.subi %14, %9 : i32
      %25 = arith.extsi %24 : i32 to i64
      %26 = arith.muli %25, %12 : i64
      %27 = arith.index_cast %26 : i64 to index
      %28 = memref.view %13[%27][] : memref<16xi8, 3> to memref<i32, 3>
      %29 = memref.load %28[] : memref<i32, 3>
      %30 = arith.addi %29, %6 : i32
      %31 = arith.index_cast %16 : i64 to index
      %32 = memref.view %p[%31][] : memref<?xi8> to memref<i32>
      memref.store %30, %32[] : memref<i32>
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
        %38 = arith.constant 4 : i64
        %39 = memref.alloca() : memref<16xi8, 3>
        %40 = arith.constant 3 : i32
        %41 = arith.extui %20 : i32 to i64
        %42 = arith.muli %41, %38 : i64
        %43 = arith.index_cast %42 : i64 to index
        %44 = memref.view %p[%43][] : memref<?xi8> to memref<i32>
        %45 = memref.load %44[] : memref<i32>
        %46 = arith.muli %45, %n : i32
        %47 = arith.muli %41, %38 : i64
        %48 = arith.index_cast %47 : i64 to index
        %49 = memref.view %39[%48][] : memref<16xi8, 3> to memref<i32, 3>
        memref.store %46, %49[] : memref<i32, 3>
        gpu.barrier
        %50 = arith.subi %40, %20 : i32
        %51 = arith.extsi %50 : i32 to i64
        %52 = arith.muli %51, %38 : i64
        %53 = arith.index_cast %52 : i64 to index
        %54 = memref.view %39[%53][] : memref<16xi8, 3> to memref<i32, 3>
        %55 = memref.load %54[] : memref<i32, 3>
        %56 = arith.addi %55, %28 : i32
        %57 = arith.index_cast %42 : i64 to index
        %58 = memref.view %p[%57][] : memref<?xi8> to memref<i32>
        memref.store %56, %58[] : memref<i32>
        gpu.barrier
        scf.yield
      } {windlass.serializes = "blocks"}
      gpu.terminator
    }
    return
  }
}
