// before: reductions
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
      %12 = arith.constant 0 : i32
      %13 = arith.constant 4 : i64
      %14 = arith.extsi %9 : i32 to i64
      %15 = arith.extsi %n : i32 to i64
      %16 = arith.subi %15, %14 : i64
      %17 = arith.constant 0 : i64
      %18 = arith.constant 1 : i64
      %19 = scf.for %20 = %17 to %16 step %18 iter_args(%21 = %12) -> (i32) : i64 {
        %22 = arith.trunci %20 : i64 to i32
        %23 = arith.addi %9, %22 : i32
        %24 = arith.extui %23 : i32 to i64
        %25 = arith.muli %24, %13 : i64
        %26 = arith.index_cast %25 : i64 to index
        %27 = memref.view %p[%26][] : memref<?xi8> to memref<i32>
        %28 = memref.load %27[] : memref<i32>
        %29 = arith.addi %28, %21 : i32
        scf.yield %29 : i32
      }
      %30 = arith.addi %n, %9 : i32
      %31 = arith.extui %30 : i32 to i64
      %32 = arith.muli %31, %13 : i64
      %33 = arith.index_cast %32 : i64 to index
      %34 = memref.view %p[%33][] : memref<?xi8> to memref<i32>
      memref.store %19, %34[] : memref<i32>
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
      %12 = arith.constant 0 : i32
      %13 = arith.constant 4 : i64
      %14 = arith.extsi %9 : i32 to i64
      %15 = arith.extsi %n : i32 to i64
      %16 = arith.subi %15, %14 : i64
      %17 = arith.constant 0 : i64
      %18 = arith.constant 1 : i64
      %19 = scf.for %20 = %17 to %16 step %18 iter_args(%21 = %12) -> (i32) : i64 {
        %22 = arith.trunci %20 : i64 to i32
        %23 = arith.addi %9, %22 : i32
        %24 = arith.extui %23 : i32 to i64
        %25 = arith.muli %24, %13 : i64
        %26 = arith.index_cast %25 : i64 to index
        %27 = memref.view %p[%26][] : memref<?xi8> to memref<i32>
        %28 = memref.load %27[] : memref<i32>
        %29 = arith.addi %28, %21 : i32
        scf.yield %29 : i32
      } {windlass.reductions = ["add"]}
      %30 = arith.addi %n, %9 : i32
      %31 = arith.extui %30 : i32 to i64
      %32 = arith.muli %31, %13 : i64
      %33 = arith.index_cast %32 : i64 to index
      %34 = memref.view %p[%33][] : memref<?xi8> to memref<i32>
      memref.store %19, %34[] : memref<i32>
      gpu.terminator
    }
    return
  }
}
