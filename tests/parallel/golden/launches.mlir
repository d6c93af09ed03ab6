// before: inlined launches
module {
  func.func @"kernel"(%grid_x: index, %grid_y: index, %grid_z: index, %block_x: index, %block_y: index, %block_z: index, %shared_bytes: i32, %p: memref<?xi8>, %sums: memref<?xi8>, %n: i32) {
    %0 = arith.index_cast %grid_x : index to i32
    %1 = arith.index_cast %grid_y : index to i32
    %2 = arith.index_cast %grid_z : index to i32
    %3 = arith.index_cast %block_x : index to i32
    %4 = arith.index_cast %block_y : index to i32
    %5 = arith.index_cast %block_z : index to i32
    gpu.launch blocks(%bid_x, %bid_y, %bid_z) in (%gx = %grid_x, %gy = %grid_y, %gz = %grid_z)
               threads(%tid_x, %tid_y, %tid_z) in (%bx = %block_x, %by = %block_y, %bz = %block_z) dynamic_shared_memory_size %shared_bytes {
      %6 = arith.index_cast %bid_x : index to i32
      %7 = arith.index_cast %bid_y : index to i32
      %8 = arith.index_cast %bid_z : index to i32
      %9 = arith.index_cast %tid_x : index to i32
      %10 = arith.index_cast %tid_y : index to i32
      %11 = arith.index_cast %tid_z : index to i32
      %12 = arith.constant 0 : i32
      %13 = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %14 = memref.memory_space_cast %13 : memref<?xi8, #gpu.address_space<workgroup>> to memref<?xi8, 3>
      %15 = arith.muli %6, %3 : i32
      %16 = arith.addi %15, %9 : i32
      %17 = arith.cmpi slt, %16, %n : i32
      %18 = scf.if %17 -> (i32) {
        %19 = arith.extsi %16 : i32 to i64
        %20 = arith.constant 4 : i64
        %21 = arith.muli %19, %20 : i64
        %22 = arith.index_cast %21 : i64 to index
        %23 = memref.view %p[%22][] : memref<?xi8> to memref<i32>
        %24 = memref.load %23[] : memref<i32>
        scf.yield %24 : i32
      } else {
        scf.yield %12 : i32
      }
      %25 = arith.extui %9 : i32 to i64
      %26 = arith.constant 4 : i64
      %27 = arith.muli %25, %26 : i64
      %28 = arith.index_cast %27 : i64 to index
      %29 = memref.view %14[%28][] : memref<?xi8, 3> to memref<i32, 3>
      memref.store %18, %29[] : memref<i32, 3>
      gpu.barrier
      %30 = arith.cmpi eq, %9, %12 : i32
      scf.if %30 {
        %31 = arith.extsi %3 : i32 to i64
        %32 = arith.constant 0 : i64
        %33 = arith.constant 1 : i64
        %34 = scf.for %35 = %32 to %31 step %33 iter_args(%36 = %12) -> (i32) : i64 {
          %37 = arith.trunci %35 : i64 to i32
          %38 = arith.extui %37 : i32 to i64
          %39 = arith.muli %38, %26 : i64
          %40 = arith.index_cast %39 : i64 to index
          %41 = memref.view %14[%40][] : memref<?xi8, 3> to memref<i32, 3>
          %42 = memref.load %41[] : memref<i32, 3>
          %43 = arith.addi %42, %36 : i32
          scf.yield %43 : i32
        } {windlass.reductions = ["add"]}
        %44 = arith.extui %6 : i32 to i64
        %45 = arith.muli %44, %26 : i64
        %46 = arith.index_cast %45 : i64 to index
        %47 = memref.view %sums[%46][] : memref<?xi8> to memref<i32>
        memref.store %34, %47[] : memref<i32>
        scf.yield
      }
      gpu.terminator
    }
    return
  }
  func.func @"kernel.1"(%grid_x: index, %grid_y: index, %grid_z: index, %block_x: index, %block_y: index, %block_z: index, %shared_bytes: i32, %p: memref<?xi8>, %sums: memref<?xi8>, %factor: f32) {
    %0 = arith.index_cast %grid_x : index to i32
    %1 = arith.index_cast %grid_y : index to i32
    %2 = arith.index_cast %grid_z : index to i32
    %3 = arith.index_cast %block_x : index to i32
    %4 = arith.index_cast %block_y : index to i32
    %5 = arith.index_cast %block_z : index to i32
    gpu.launch blocks(%bid_x, %bid_y, %bid_z) in (%gx = %grid_x, %gy = %grid_y, %gz = %grid_z)
               threads(%tid_x, %tid_y, %tid_z) in (%bx = %block_x, %by = %block_y, %bz = %block_z) dynamic_shared_memory_size %shared_bytes {
      %6 = arith.index_cast %bid_x : index to i32
      %7 = arith.index_cast %bid_y : index to i32
      %8 = arith.index_cast %bid_z : index to i32
      %9 = arith.index_cast %tid_x : index to i32
      %10 = arith.index_cast %tid_y : index to i32
      %11 = arith.index_cast %tid_z : index to i32
      %12 = arith.constant 1 : i32
      %13 = memref.alloca() : memref<8xi8, 3>
      %14 = arith.andi %9, %12 : i32
      %15 = arith.extui %14 : i32 to i64
      %16 = arith.constant 4 : i64
      %17 = arith.muli %15, %16 : i64
      %18 = arith.index_cast %17 : i64 to index
      %19 = memref.view %13[%18][] : memref<8xi8, 3> to memref<f32, 3>
      memref.store %factor, %19[] : memref<f32, 3>
      gpu.barrier
      %20 = arith.subi %12, %9 : i32
      %21 = arith.extsi %20 : i32 to i64
      %22 = arith.muli %21, %16 : i64
      %23 = arith.index_cast %22 : i64 to index
      %24 = memref.view %13[%23][] : memref<8xi8, 3> to memref<f32, 3>
      %25 = memref.load %24[] : memref<f32, 3>
      %26 = arith.extui %6 : i32 to i64
      %27 = arith.muli %26, %16 : i64
      %28 = arith.index_cast %27 : i64 to index
      %29 = memref.view %sums[%28][] : memref<?xi8> to memref<i32>
      %30 = memref.load %29[] : memref<i32>
      %31 = arith.sitofp %30 : i32 to f32
      %32 = arith.mulf %25, %31 : f32
      %33 = arith.shli %6, %12 : i32
      %34 = arith.addi %33, %9 : i32
      %35 = arith.extui %34 : i32 to i64
      %36 = arith.muli %35, %16 : i64
      %37 = arith.index_cast %36 : i64 to index
      %38 = memref.view %p[%37][] : memref<?xi8> to memref<f32>
      %39 = memref.load %38[] : memref<f32>
      %40 = arith.mulf %39, %32 : f32
      %41 = arith.index_cast %36 : i64 to index
      %42 = memref.view %p[%41][] : memref<?xi8> to memref<f32>
      memref.store %40, %42[] : memref<f32>
      gpu.terminator
    }
    return
  }
  func.func @"main"(%p: memref<?xi8>, %sums: memref<?xi8>, %p_2: memref<?xi8>) {
    %0 = arith.constant 2 : i32
    %1 = arith.constant 1 : i32
    %2 = arith.constant 4 : i32
    %3 = arith.constant 16 : i32
    %4 = arith.constant 7 : i32
    %5 = arith.index_cast %0 : i32 to index
    %6 = arith.index_cast %1 : i32 to index
    %7 = arith.index_cast %1 : i32 to index
    %8 = arith.index_cast %2 : i32 to index
    %9 = arith.index_cast %1 : i32 to index
    %10 = arith.index_cast %1 : i32 to index
    func.call @"kernel"(%5, %6, %7, %8, %9, %10, %3, %p, %sums, %4) : (index, index, index, index, index, index, i32, memref<?xi8>, memref<?xi8>, i32) -> ()
    %11 = arith.constant 0 : i32
    %12 = arith.constant 0.5 : f32
    %13 = arith.index_cast %0 : i32 to index
    %14 = arith.index_cast %1 : i32 to index
    %15 = arith.index_cast %1 : i32 to index
    %16 = arith.index_cast %0 : i32 to index
    %17 = arith.index_cast %1 : i32 to index
    %18 = arith.index_cast %1 : i32 to index
    func.call @"kernel.1"(%13, %14, %15, %16, %17, %18, %11, %p_2, %sums, %12) : (index, index, index, index, index, index, i32, memref<?xi8>, memref<?xi8>, f32) -> ()
    return
  }
}
// after
module {
  func.func @"main"(%p: memref<?xi8>, %sums: memref<?xi8>, %p_2: memref<?xi8>) {
    %0 = arith.constant 2 : i32
    %1 = arith.constant 1 : i32
    %2 = arith.constant 4 : i32
    %3 = arith.constant 16 : i32
    %4 = arith.constant 7 : i32
    %5 = arith.index_cast %0 : i32 to index
    %6 = arith.index_cast %1 : i32 to index
    %7 = arith.index_cast %1 : i32 to index
    %8 = arith.index_cast %2 : i32 to index
    %9 = arith.index_cast %1 : i32 to index
    %10 = arith.index_cast %1 : i32 to index
    gpu.launch blocks(%bid_x, %bid_y, %bid_z) in (%gx = %5, %gy = %6, %gz = %7)
               threads(%tid_x, %tid_y, %tid_z) in (%bx = %8, %by = %9, %bz = %10) {
      %11 = arith.index_cast %bid_x : index to i32
      %12 = arith.index_cast %bid_y : index to i32
      %13 = arith.index_cast %bid_z : index to i32
      %14 = arith.index_cast %tid_x : index to i32
      %15 = arith.index_cast %tid_y : index to i32
      %16 = arith.index_cast %tid_z : index to i32
      %17 = arith.constant 0 : i32
      %18 = arith.index_cast %3 : i32 to index
      %19 = memref.alloca(%18) : memref<?xi8, 3>
      %20 = arith.muli %11, %2 : i32
      %21 = arith.addi %20, %14 : i32
      %22 = arith.cmpi slt, %21, %4 : i32
      %23 = scf.if %22 -> (i32) {
        %24 = arith.extsi %21 : i32 to i64
        %25 = arith.constant 4 : i64
        %26 = arith.muli %24, %25 : i64
        %27 = arith.index_cast %26 : i64 to index
        %28 = memref.view %p[%27][] : memref<?xi8> to memref<i32>
        %29 = memref.load %28[] : memref<i32>
        scf.yield %29 : i32
      } else {
        scf.yield %17 : i32
      }
      %30 = arith.extui %14 : i32 to i64
      %31 = arith.constant 4 : i64
      %32 = arith.muli %30, %31 : i64
      %33 = arith.index_cast %32 : i64 to index
      %34 = memref.view %19[%33][] : memref<?xi8, 3> to memref<i32, 3>
      memref.store %23, %34[] : memref<i32, 3>
      gpu.barrier
      %35 = arith.cmpi eq, %14, %17 : i32
      scf.if %35 {
        %36 = arith.extsi %2 : i32 to i64
        %37 = arith.constant 0 : i64
        %38 = arith.constant 1 : i64
        %39 = scf.for %40 = %37 to %36 step %38 iter_args(%41 = %17) -> (i32) : i64 {
          %42 = arith.trunci %40 : i64 to i32
          %43 = arith.extui %42 : i32 to i64
          %44 = arith.muli %43, %31 : i64
          %45 = arith.index_cast %44 : i64 to index
          %46 = memref.view %19[%45][] : memref<?xi8, 3> to memref<i32, 3>
          %47 = memref.load %46[] : memref<i32, 3>
          %48 = arith.addi %47, %41 : i32
          scf.yield %48 : i32
        } {windlass.reductions = ["add"]}
        %49 = arith.extui %11 : i32 to i64
        %50 = arith.muli %49, %31 : i64
        %51 = arith.index_cast %50 : i64 to index
        %52 = memref.view %sums[%51][] : memref<?xi8> to memref<i32>
        memref.store %39, %52[] : memref<i32>
        scf.yield
      }
      gpu.terminator
    }
    %53 = arith.constant 0 : i32
    %54 = arith.constant 0.5 : f32
    %55 = arith.index_cast %0 : i32 to index
    %56 = arith.index_cast %1 : i32 to index
    %57 = arith.index_cast %1 : i32 to index
    %58 = arith.index_cast %0 : i32 to index
    %59 = arith.index_cast %1 : i32 to index
    %60 = arith.index_cast %1 : i32 to index
    gpu.launch blocks(%bid_x, %bid_y, %bid_z) in (%gx = %55, %gy = %56, %gz = %57)
               threads(%tid_x, %tid_y, %tid_z) in (%bx = %58, %by = %59, %bz = %60) {
      %61 = arith.index_cast %bid_x : index to i32
      %62 = arith.index_cast %bid_y : index to i32
      %63 = arith.index_cast %bid_z : index to i32
      %64 = arith.index_cast %tid_x : index to i32
      %65 = arith.index_cast %tid_y : index to i32
      %66 = arith.index_cast %tid_z : index to i32
      %67 = arith.constant 1 : i32
      %68 = memref.alloca() : memref<8xi8, 3>
      %69 = arith.andi %64, %67 : i32
      %70 = arith.extui %69 : i32 to i64
      %71 = arith.constant 4 : i64
      %72 = arith.muli %70, %71 : i64
      %73 = arith.index_cast %72 : i64 to index
      %74 = memref.view %68[%73][] : memref<8xi8, 3> to memref<f32, 3>
      memref.store %54, %74[] : memref<f32, 3>
      gpu.barrier
      %75 = arith.subi %67, %64 : i32
      %76 = arith.extsi %75 : i32 to i64
      %77 = arith.muli %76, %71 : i64
      %78 = arith.index_cast %77 : i64 to index
      %79 = memref.view %68[%78][] : memref<8xi8, 3> to memref<f32, 3>
      %80 = memref.load %79[] : memref<f32, 3>
      %81 = arith.extui %61 : i32 to i64
      %82 = arith.muli %81, %71 : i64
      %83 = arith.index_cast %82 : i64 to index
      %84 = memref.view %sums[%83][] : memref<?xi8> to memref<i32>
      %85 = memref.load %84[] : memref<i32>
      %86 = arith.sitofp %85 : i32 to f32
      %87 = arith.mulf %80, %86 : f32
      %88 = arith.shli %61, %67 : i32
      %89 = arith.addi %88, %64 : i32
      %90 = arith.extui %89 : i32 to i64
      %91 = arith.muli %90, %71 : i64
      %92 = arith.index_cast %91 : i64 to index
      %93 = memref.view %p_2[%92][] : memref<?xi8> to memref<f32>
      %94 = memref.load %93[] : memref<f32>
      %95 = arith.mulf %94, %87 : f32
      %96 = arith.index_cast %91 : i64 to index
      %97 = memref.view %p_2[%96][] : memref<?xi8> to memref<f32>
      memref.store %95, %97[] : memref<f32>
      gpu.terminator
    }
    return
  }
}
