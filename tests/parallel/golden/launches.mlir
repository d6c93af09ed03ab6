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
      %12 = arith.constant 4 : i64
      %13 = arith.constant 0 : i32
      %14 = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %15 = memref.memory_space_cast %14 : memref<?xi8, #gpu.address_space<workgroup>> to memref<?xi8, 3>
      %16 = arith.muli %6, %3 : i32
      %17 = arith.addi %16, %9 : i32
      %18 = arith.cmpi slt, %17, %n : i32
      %19 = scf.if %18 -> (i32) {
        %20 = arith.extsi %17 : i32 to i64
        %21 = arith.muli %20, %12 : i64
        %22 = arith.index_cast %21 : i64 to index
        %23 = memref.view %p[%22][] : memref<?xi8> to memref<i32>
        %24 = memref.load %23[] : memref<i32>
        scf.yield %24 : i32
      } else {
        scf.yield %13 : i32
      }
      %25 = arith.extui %9 : i32 to i64
      %26 = arith.muli %25, %12 : i64
      %27 = arith.index_cast %26 : i64 to index
      %28 = memref.view %15[%27][] : memref<?xi8, 3> to memref<i32, 3>
      memref.store %19, %28[] : memref<i32, 3>
      gpu.barrier
      %29 = arith.cmpi eq, %9, %13 : i32
      scf.if %29 {
        %30 = arith.extsi %3 : i32 to i64
        %31 = arith.constant 0 : i64
        %32 = arith.constant 1 : i64
        %33 = scf.for %34 = %31 to %30 step %32 iter_args(%35 = %13) -> (i32) : i64 {
          %36 = arith.trunci %34 : i64 to i32
          %37 = arith.extui %36 : i32 to i64
          %38 = arith.muli %37, %12 : i64
          %39 = arith.index_cast %38 : i64 to index
          %40 = memref.view %15[%39][] : memref<?xi8, 3> to memref<i32, 3>
          %41 = memref.load %40[] : memref<i32, 3>
          %42 = arith.addi %41, %35 : i32
          scf.yield %42 : i32
        } {windlass.reductions = ["add"]}
        %43 = arith.extui %6 : i32 to i64
        %44 = arith.muli %43, %12 : i64
        %45 = arith.index_cast %44 : i64 to index
        %46 = memref.view %sums[%45][] : memref<?xi8> to memref<i32>
        memref.store %33, %46[] : memref<i32>
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
      %14 = arith.constant 4 : i64
      %15 = arith.andi %9, %12 : i32
      %16 = arith.extui %15 : i32 to i64
      %17 = arith.muli %16, %14 : i64
      %18 = arith.index_cast %17 : i64 to index
      %19 = memref.view %13[%18][] : memref<8xi8, 3> to memref<f32, 3>
      memref.store %factor, %19[] : memref<f32, 3>
      gpu.barrier
      %20 = arith.subi %12, %9 : i32
      %21 = arith.extsi %20 : i32 to i64
      %22 = arith.muli %21, %14 : i64
      %23 = arith.index_cast %22 : i64 to index
      %24 = memref.view %13[%23][] : memref<8xi8, 3> to memref<f32, 3>
      %25 = memref.load %24[] : memref<f32, 3>
      %26 = arith.extui %6 : i32 to i64
      %27 = arith.muli %26, %14 : i64
      %28 = arith.index_cast %27 : i64 to index
      %29 = memref.view %sums[%28][] : memref<?xi8> to memref<i32>
      %30 = memref.load %29[] : memref<i32>
      %31 = arith.sitofp %30 : i32 to f32
      %32 = arith.mulf %25, %31 : f32
      %33 = arith.shli %6, %12 : i32
      %34 = arith.addi %33, %9 : i32
      %35 = arith.extui %34 : i32 to i64
      %36 = arith.muli %35, %14 : i64
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
      %17 = arith.constant 4 : i64
      %18 = arith.constant 0 : i32
      %19 = arith.index_cast %3 : i32 to index
      %20 = memref.alloca(%19) : memref<?xi8, 3>
      %21 = arith.muli %11, %2 : i32
      %22 = arith.addi %21, %14 : i32
      %23 = arith.cmpi slt, %22, %4 : i32
      %24 = scf.if %23 -> (i32) {
        %25 = arith.extsi %22 : i32 to i64
        %26 = arith.muli %25, %17 : i64
        %27 = arith.index_cast %26 : i64 to index
        %28 = memref.view %p[%27][] : memref<?xi8> to memref<i32>
        %29 = memref.load %28[] : memref<i32>
        scf.yield %29 : i32
      } else {
        scf.yield %18 : i32
      }
      %30 = arith.extui %14 : i32 to i64
      %31 = arith.muli %30, %17 : i64
      %32 = arith.index_cast %31 : i64 to index
      %33 = memref.view %20[%32][] : memref<?xi8, 3> to memref<i32, 3>
      memref.store %24, %33[] : memref<i32, 3>
      gpu.barrier
      %34 = arith.cmpi eq, %14, %18 : i32
      scf.if %34 {
        %35 = arith.extsi %2 : i32 to i64
        %36 = arith.constant 0 : i64
        %37 = arith.constant 1 : i64
        %38 = scf.for %39 = %36 to %35 step %37 iter_args(%40 = %18) -> (i32) : i64 {
          %41 = arith.trunci %39 : i64 to i32
          %42 = arith.extui %41 : i32 to i64
          %43 = arith.muli %42, %17 : i64
          %44 = arith.index_cast %43 : i64 to index
          %45 = memref.view %20[%44][] : memref<?xi8, 3> to memref<i32, 3>
          %46 = memref.load %45[] : memref<i32, 3>
          %47 = arith.addi %46, %40 : i32
          scf.yield %47 : i32
        } {windlass.reductions = ["add"]}
        %48 = arith.extui %11 : i32 to i64
        %49 = arith.muli %48, %17 : i64
        %50 = arith.index_cast %49 : i64 to index
        %51 = memref.view %sums[%50][] : memref<?xi8> to memref<i32>
        memref.store %38, %51[] : memref<i32>
        scf.yield
      }
      gpu.terminator
    }
    %52 = arith.constant 0 : i32
    %53 = arith.constant 0.5 : f32
    %54 = arith.index_cast %0 : i32 to index
    %55 = arith.index_cast %1 : i32 to index
    %56 = arith.index_cast %1 : i32 to index
    %57 = arith.index_cast %0 : i32 to index
    %58 = arith.index_cast %1 : i32 to index
    %59 = arith.index_cast %1 : i32 to index
    gpu.launch blocks(%bid_x, %bid_y, %bid_z) in (%gx = %54, %gy = %55, %gz = %56)
               threads(%tid_x, %tid_y, %tid_z) in (%bx = %57, %by = %58, %bz = %59) {
      %60 = arith.index_cast %bid_x : index to i32
      %61 = arith.index_cast %bid_y : index to i32
      %62 = arith.index_cast %bid_z : index to i32
      %63 = arith.index_cast %tid_x : index to i32
      %64 = arith.index_cast %tid_y : index to i32
      %65 = arith.index_cast %tid_z : index to i32
      %66 = arith.constant 1 : i32
      %67 = memref.alloca() : memref<8xi8, 3>
      %68 = arith.constant 4 : i64
      %69 = arith.andi %63, %66 : i32
      %70 = arith.extui %69 : i32 to i64
      %71 = arith.muli %70, %68 : i64
      %72 = arith.index_cast %71 : i64 to index
      %73 = memref.view %67[%72][] : memref<8xi8, 3> to memref<f32, 3>
      memref.store %53, %73[] : memref<f32, 3>
      gpu.barrier
      %74 = arith.subi %66, %63 : i32
      %75 = arith.extsi %74 : i32 to i64
      %76 = arith.muli %75, %68 : i64
      %77 = arith.index_cast %76 : i64 to index
      %78 = memref.view %67[%77][] : memref<8xi8, 3> to memref<f32, 3>
      %79 = memref.load %78[] : memref<f32, 3>
      %80 = arith.extui %60 : i32 to i64
      %81 = arith.muli %80, %68 : i64
      %82 = arith.index_cast %81 : i64 to index
      %83 = memref.view %sums[%82][] : memref<?xi8> to memref<i32>
      %84 = memref.load %83[] : memref<i32>
      %85 = arith.sitofp %84 : i32 to f32
      %86 = arith.mulf %79, %85 : f32
      %87 = arith.shli %60, %66 : i32
      %88 = arith.addi %87, %63 : i32
      %89 = arith.extui %88 : i32 to i64
      %90 = arith.muli %89, %68 : i64
      %91 = arith.index_cast %90 : i64 to index
      %92 = memref.view %p_2[%91][] : memref<?xi8> to memref<f32>
      %93 = memref.load %92[] : memref<f32>
      %94 = arith.mulf %93, %86 : f32
      %95 = arith.index_cast %90 : i64 to index
      %96 = memref.view %p_2[%95][] : memref<?xi8> to memref<f32>
      memref.store %94, %96[] : memref<f32>
      gpu.terminator
    }
    return
  }
}
