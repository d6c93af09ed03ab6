// before: threads one after another
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
      %12 = arith.constant 1 : i32
      %13 = arith.constant 10 : i32
      %14 = arith.constant 0 : index
      %15 = memref.load %p[%14] : memref<?xi32>
      %16 = arith.addi %15, %12 : i32
      memref.store %16, %p[%14] : memref<?xi32>
      %17 = arith.cmpi slt, %15, %n : i32
      scf.if %17 {
        %18 = arith.muli %6, %13 : i32
        %19 = arith.addi %18, %9 : i32
        %20 = arith.extsi %16 : i32 to i64
        %21 = arith.index_cast %20 : i64 to index
        memref.store %19, %p[%21] : memref<?xi32>
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
    %6 = arith.constant 1 : i32
    %7 = arith.constant 1 : i64
    %8 = arith.extsi %0 : i32 to i64
    %9 = arith.muli %7, %8 : i64
    %10 = arith.extsi %1 : i32 to i64
    %11 = arith.muli %9, %10 : i64
    %12 = arith.extsi %2 : i32 to i64
    %13 = arith.muli %11, %12 : i64
    %14 = arith.extsi %3 : i32 to i64
    %15 = arith.muli %13, %14 : i64
    %16 = arith.extsi %4 : i32 to i64
    %17 = arith.muli %15, %16 : i64
    %18 = arith.extsi %5 : i32 to i64
    %19 = arith.muli %17, %18 : i64
    %20 = arith.index_cast %6 : i32 to index
    %21 = arith.index_cast %6 : i32 to index
    %22 = arith.index_cast %6 : i32 to index
    %23 = arith.index_cast %6 : i32 to index
    %24 = arith.index_cast %6 : i32 to index
    %25 = arith.index_cast %6 : i32 to index
    gpu.launch blocks(%bid_x, %bid_y, %bid_z) in (%gx = %20, %gy = %21, %gz = %22)
               threads(%tid_x, %tid_y, %tid_z) in (%bx = %23, %by = %24, %bz = %25) {
      %26 = arith.index_cast %bid_x : index to i32
      %27 = arith.index_cast %bid_y : index to i32
      %28 = arith.index_cast %bid_z : index to i32
      %29 = arith.index_cast %tid_x : index to i32
      %30 = arith.index_cast %tid_y : index to i32
      %31 = arith.index_cast %tid_z : index to i32
      %32 = arith.constant 0 : i64
      %33 = arith.constant 1 : i64
      scf.for %34 = %32 to %19 step %33 : i64 {
        %35 = arith.extsi %3 : i32 to i64
        %36 = arith.remsi %34, %35 : i64
        %37 = arith.trunci %36 : i64 to i32
        %38 = arith.divsi %34, %35 : i64
        %39 = arith.extsi %4 : i32 to i64
        %40 = arith.remsi %38, %39 : i64
        %41 = arith.trunci %40 : i64 to i32
        %42 = arith.divsi %38, %39 : i64
        %43 = arith.extsi %5 : i32 to i64
        %44 = arith.remsi %42, %43 : i64
        %45 = arith.trunci %44 : i64 to i32
        %46 = arith.divsi %42, %43 : i64
        %47 = arith.extsi %0 : i32 to i64
        %48 = arith.remsi %46, %47 : i64
        %49 = arith.trunci %48 : i64 to i32
        %50 = arith.divsi %46, %47 : i64
        %51 = arith.extsi %1 : i32 to i64
        %52 = arith.remsi %50, %51 : i64
        %53 = arith.trunci %52 : i64 to i32
        %54 = arith.divsi %50, %51 : i64
        %55 = arith.extsi %2 : i32 to i64
        %56 = arith.remsi %54, %55 : i64
        %57 = arith.trunci %56 : i64 to i32
        %58 = arith.divsi %54, %55 : i64
        %59 = arith.constant 1 : i32
        %60 = arith.constant 10 : i32
        %61 = arith.constant 0 : index
        %62 = memref.load %p[%61] : memref<?xi32>
        %63 = arith.addi %62, %59 : i32
        memref.store %63, %p[%61] : memref<?xi32>
        %64 = arith.cmpi slt, %62, %n : i32
        scf.if %64 {
          %65 = arith.muli %49, %60 : i32
          %66 = arith.addi %65, %37 : i32
          %67 = arith.extsi %63 : i32 to i64
          %68 = arith.index_cast %67 : i64 to index
          memref.store %66, %p[%68] : memref<?xi32>
          scf.yield
        }
        gpu.barrier
        scf.yield
      } {windlass.serializes = "threads"}
      gpu.terminator
    }
    return
  }
}
