// before: typed subscripts
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
      %13 = memref.alloca() : memref<1088xi8, 3>
      %14 = arith.constant 68 : i64
      %15 = arith.extui %9 : i32 to i64
      %16 = arith.muli %15, %12 : i64
      %17 = arith.index_cast %16 : i64 to index
      %18 = memref.view %p[%17][] : memref<?xi8> to memref<i32>
      %19 = memref.load %18[] : memref<i32>
      %20 = arith.extui %10 : i32 to i64
      %21 = arith.muli %20, %14 : i64
      %22 = arith.muli %15, %12 : i64
      %23 = arith.addi %21, %22 : i64
      %24 = arith.index_cast %23 : i64 to index
      %25 = memref.view %13[%24][] : memref<1088xi8, 3> to memref<i32, 3>
      memref.store %19, %25[] : memref<i32, 3>
      gpu.barrier
      %26 = arith.muli %15, %14 : i64
      %27 = arith.muli %20, %12 : i64
      %28 = arith.addi %26, %27 : i64
      %29 = arith.addi %28, %12 : i64
      %30 = arith.index_cast %29 : i64 to index
      %31 = memref.view %13[%30][] : memref<1088xi8, 3> to memref<i32, 3>
      %32 = memref.load %31[] : memref<i32, 3>
      %33 = arith.muli %n, %10 : i32
      %34 = arith.addi %33, %9 : i32
      %35 = arith.extui %34 : i32 to i64
      %36 = arith.muli %35, %12 : i64
      %37 = arith.index_cast %36 : i64 to index
      %38 = memref.view %p[%37][] : memref<?xi8> to memref<i32>
      memref.store %32, %38[] : memref<i32>
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
      %12 = arith.constant 4 : i64
      %13 = memref.alloca() : memref<272xi32, 3>
      %14 = arith.constant 68 : i64
      %15 = arith.extui %9 : i32 to i64
      %16 = arith.muli %15, %12 : i64
      %17 = arith.index_cast %15 : i64 to index
      %18 = memref.load %p[%17] : memref<?xi32>
      %19 = arith.extui %10 : i32 to i64
      %20 = arith.muli %19, %14 : i64
      %21 = arith.muli %15, %12 : i64
      %22 = arith.addi %20, %21 : i64
      %23 = arith.index_cast %19 : i64 to index
      %24 = arith.constant 17 : index
      %25 = arith.muli %23, %24 : index
      %26 = arith.addi %25, %17 : index
      memref.store %18, %13[%26] : memref<272xi32, 3>
      gpu.barrier
      %27 = arith.muli %15, %14 : i64
      %28 = arith.muli %19, %12 : i64
      %29 = arith.addi %27, %28 : i64
      %30 = arith.addi %29, %12 : i64
      %31 = arith.muli %17, %24 : index
      %32 = arith.addi %31, %23 : index
      %33 = arith.constant 1 : index
      %34 = arith.addi %32, %33 : index
      %35 = memref.load %13[%34] : memref<272xi32, 3>
      %36 = arith.muli %n, %10 : i32
      %37 = arith.addi %36, %9 : i32
      %38 = arith.extui %37 : i32 to i64
      %39 = arith.muli %38, %12 : i64
      %40 = arith.index_cast %38 : i64 to index
      memref.store %35, %p[%40] : memref<?xi32>
      gpu.terminator
    }
    return
  }
}
