// before: register tiles
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
      %12 = arith.constant 0 : i64
      %13 = memref.alloca() : memref<32xi8, 5>
      %14 = arith.constant 0 : i32
      %15 = arith.constant 4 : i64
      %16 = arith.constant 8 : i64
      %17 = arith.constant 12 : i64
      %18 = arith.constant 16 : i64
      %19 = arith.constant 20 : i64
      %20 = arith.constant 24 : i64
      %21 = arith.constant 28 : i64
      %22 = arith.constant 3 : i32
      %23 = arith.index_cast %12 : i64 to index
      %24 = memref.view %13[%23][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %24[] : memref<i32, 5>
      %25 = arith.index_cast %15 : i64 to index
      %26 = memref.view %13[%25][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %26[] : memref<i32, 5>
      %27 = arith.index_cast %16 : i64 to index
      %28 = memref.view %13[%27][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %28[] : memref<i32, 5>
      %29 = arith.index_cast %17 : i64 to index
      %30 = memref.view %13[%29][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %30[] : memref<i32, 5>
      %31 = arith.index_cast %18 : i64 to index
      %32 = memref.view %13[%31][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %32[] : memref<i32, 5>
      %33 = arith.index_cast %19 : i64 to index
      %34 = memref.view %13[%33][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %34[] : memref<i32, 5>
      %35 = arith.index_cast %20 : i64 to index
      %36 = memref.view %13[%35][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %36[] : memref<i32, 5>
      %37 = arith.index_cast %21 : i64 to index
      %38 = memref.view %13[%37][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %38[] : memref<i32, 5>
      %39 = arith.extsi %n : i32 to i64
      %40 = arith.constant 0 : i64
      %41 = arith.constant 1 : i64
      scf.for %42 = %40 to %39 step %41 : i64 {
        %43 = arith.trunci %42 : i64 to i32
        %44 = arith.shli %43, %22 : i32
        %45 = arith.extui %43 : i32 to i64
        %46 = arith.muli %45, %15 : i64
        %47 = arith.index_cast %46 : i64 to index
        %48 = memref.view %p[%47][] : memref<?xi8> to memref<i32>
        %49 = memref.load %48[] : memref<i32>
        %50 = arith.constant 0 : i64
        %51 = arith.constant 1 : i64
        scf.for %52 = %50 to %16 step %51 : i64 {
          %53 = arith.trunci %52 : i64 to i32
          %54 = arith.addi %53, %44 : i32
          %55 = arith.extui %54 : i32 to i64
          %56 = arith.muli %55, %15 : i64
          %57 = arith.index_cast %56 : i64 to index
          %58 = memref.view %p[%57][] : memref<?xi8> to memref<i32>
          %59 = memref.load %58[] : memref<i32>
          %60 = arith.muli %49, %59 : i32
          %61 = arith.extui %53 : i32 to i64
          %62 = arith.muli %61, %15 : i64
          %63 = arith.index_cast %62 : i64 to index
          %64 = memref.view %13[%63][] : memref<32xi8, 5> to memref<i32, 5>
          %65 = memref.load %64[] : memref<i32, 5>
          %66 = arith.addi %65, %60 : i32
          %67 = arith.index_cast %62 : i64 to index
          %68 = memref.view %13[%67][] : memref<32xi8, 5> to memref<i32, 5>
          memref.store %66, %68[] : memref<i32, 5>
          scf.yield
        }
        scf.yield
      }
      %69 = arith.shli %9, %22 : i32
      %70 = arith.constant 0 : i64
      %71 = arith.constant 1 : i64
      scf.for %72 = %70 to %16 step %71 : i64 {
        %73 = arith.trunci %72 : i64 to i32
        %74 = arith.extui %73 : i32 to i64
        %75 = arith.muli %74, %15 : i64
        %76 = arith.index_cast %75 : i64 to index
        %77 = memref.view %13[%76][] : memref<32xi8, 5> to memref<i32, 5>
        %78 = memref.load %77[] : memref<i32, 5>
        %79 = arith.addi %73, %69 : i32
        %80 = arith.extui %79 : i32 to i64
        %81 = arith.muli %80, %15 : i64
        %82 = arith.index_cast %81 : i64 to index
        %83 = memref.view %p[%82][] : memref<?xi8> to memref<i32>
        memref.store %78, %83[] : memref<i32>
        scf.yield
      }
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
    gpu.launch blocks(%bid_x, %bid_y, %bid_z) in (%gx = %grid_x, %gy = %grid_y, %gz = %grid_z)
               threads(%tid_x, %tid_y, %tid_z) in (%bx = %block_x, %by = %block_y, %bz = %block_z) {
      %6 = arith.index_cast %bid_x : index to i32
      %7 = arith.index_cast %bid_y : index to i32
      %8 = arith.index_cast %bid_z : index to i32
      %9 = arith.index_cast %tid_x : index to i32
      %10 = arith.index_cast %tid_y : index to i32
      %11 = arith.index_cast %tid_z : index to i32
      %12 = arith.constant 0 : i64
      %13 = memref.alloca() {windlass.axes = [[4, 8]]} : memref<32xi8, 5>
      %14 = arith.constant 0 : i32
      %15 = arith.constant 4 : i64
      %16 = arith.constant 8 : i64
      %17 = arith.constant 12 : i64
      %18 = arith.constant 16 : i64
      %19 = arith.constant 20 : i64
      %20 = arith.constant 24 : i64
      %21 = arith.constant 28 : i64
      %22 = arith.constant 3 : i32
      %23 = arith.index_cast %12 : i64 to index
      %24 = memref.view %13[%23][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %24[] : memref<i32, 5>
      %25 = arith.index_cast %15 : i64 to index
      %26 = memref.view %13[%25][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %26[] : memref<i32, 5>
      %27 = arith.index_cast %16 : i64 to index
      %28 = memref.view %13[%27][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %28[] : memref<i32, 5>
      %29 = arith.index_cast %17 : i64 to index
      %30 = memref.view %13[%29][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %30[] : memref<i32, 5>
      %31 = arith.index_cast %18 : i64 to index
      %32 = memref.view %13[%31][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %32[] : memref<i32, 5>
      %33 = arith.index_cast %19 : i64 to index
      %34 = memref.view %13[%33][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %34[] : memref<i32, 5>
      %35 = arith.index_cast %20 : i64 to index
      %36 = memref.view %13[%35][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %36[] : memref<i32, 5>
      %37 = arith.index_cast %21 : i64 to index
      %38 = memref.view %13[%37][] : memref<32xi8, 5> to memref<i32, 5>
      memref.store %14, %38[] : memref<i32, 5>
      %39 = arith.extsi %n : i32 to i64
      %40 = arith.constant 0 : i64
      %41 = arith.constant 1 : i64
      scf.for %42 = %40 to %39 step %41 : i64 {
        %43 = arith.trunci %42 : i64 to i32
        %44 = arith.shli %43, %22 : i32
        %45 = arith.extui %43 : i32 to i64
        %46 = arith.muli %45, %15 : i64
        %47 = arith.index_cast %46 : i64 to index
        %48 = memref.view %p[%47][] : memref<?xi8> to memref<i32>
        %49 = memref.load %48[] : memref<i32>
        %50 = arith.constant 0 : i64
        %51 = arith.constant 1 : i64
        scf.for %52 = %50 to %16 step %51 : i64 {
          %53 = arith.trunci %52 : i64 to i32
          %54 = arith.addi %53, %44 : i32
          %55 = arith.extui %54 : i32 to i64
          %56 = arith.muli %55, %15 : i64
          %57 = arith.index_cast %56 : i64 to index
          %58 = memref.view %p[%57][] : memref<?xi8> to memref<i32>
          %59 = memref.load %58[] : memref<i32>
          %60 = arith.muli %49, %59 : i32
          %61 = arith.extui %53 : i32 to i64
          %62 = arith.muli %61, %15 : i64
          %63 = arith.index_cast %62 : i64 to index
          %64 = memref.view %13[%63][] : memref<32xi8, 5> to memref<i32, 5>
          %65 = memref.load %64[] : memref<i32, 5>
          %66 = arith.addi %65, %60 : i32
          %67 = arith.index_cast %62 : i64 to index
          %68 = memref.view %13[%67][] : memref<32xi8, 5> to memref<i32, 5>
          memref.store %66, %68[] : memref<i32, 5>
          scf.yield
        } {windlass.counts_elements}
        scf.yield
      }
      %69 = arith.shli %9, %22 : i32
      %70 = arith.constant 0 : i64
      %71 = arith.constant 1 : i64
      scf.for %72 = %70 to %16 step %71 : i64 {
        %73 = arith.trunci %72 : i64 to i32
        %74 = arith.extui %73 : i32 to i64
        %75 = arith.muli %74, %15 : i64
        %76 = arith.index_cast %75 : i64 to index
        %77 = memref.view %13[%76][] : memref<32xi8, 5> to memref<i32, 5>
        %78 = memref.load %77[] : memref<i32, 5>
        %79 = arith.addi %73, %69 : i32
        %80 = arith.extui %79 : i32 to i64
        %81 = arith.muli %80, %15 : i64
        %82 = arith.index_cast %81 : i64 to index
        %83 = memref.view %p[%82][] : memref<?xi8> to memref<i32>
        memref.store %78, %83[] : memref<i32>
        scf.yield
      } {windlass.counts_elements}
      gpu.terminator
    }
    return
  }
}
