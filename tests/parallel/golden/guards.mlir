// before: guards
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
      %14 = arith.cmpi slt, %9, %n : i32
      %15 = scf.if %14 -> (i32) {
        %16 = arith.extsi %9 : i32 to i64
        %17 = arith.extsi %n : i32 to i64
        %18 = arith.subi %17, %16 : i64
        %19 = arith.constant 0 : i64
        %20 = arith.constant 1 : i64
        %21 = scf.for %22 = %19 to %18 step %20 iter_args(%23 = %12) -> (i32) : i64 {
          %24 = arith.trunci %22 : i64 to i32
          %25 = arith.addi %9, %24 : i32
          %26 = arith.extui %25 : i32 to i64
          %27 = arith.muli %26, %13 : i64
          %28 = arith.index_cast %27 : i64 to index
          %29 = memref.view %p[%28][] : memref<?xi8> to memref<i32>
          %30 = memref.load %29[] : memref<i32>
          %31 = arith.addi %30, %23 : i32
          scf.yield %31 : i32
        }
        scf.yield %21 : i32
      } else {
        scf.yield %12 : i32
      }
      %32 = arith.addi %n, %9 : i32
      %33 = arith.extui %32 : i32 to i64
      %34 = arith.muli %33, %13 : i64
      %35 = arith.index_cast %34 : i64 to index
      %36 = memref.view %p[%35][] : memref<?xi8> to memref<i32>
      memref.store %15, %36[] : memref<i32>
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
      %14 = arith.cmpi slt, %9, %n : i32
      %15 = arith.extsi %9 : i32 to i64
      %16 = arith.extsi %n : i32 to i64
      %17 = arith.subi %16, %15 : i64
      %18 = arith.constant 0 : i64
      %19 = arith.constant 1 : i64
      %20 = scf.for %21 = %18 to %17 step %19 iter_args(%22 = %12) -> (i32) : i64 {
        %23 = arith.trunci %21 : i64 to i32
        %24 = arith.addi %9, %23 : i32
        %25 = arith.extui %24 : i32 to i64
        %26 = arith.muli %25, %13 : i64
        %27 = arith.index_cast %26 : i64 to index
        %28 = memref.view %p[%27][] : memref<?xi8> to memref<i32>
        %29 = memref.load %28[] : memref<i32>
        %30 = arith.addi %29, %22 : i32
        scf.yield %30 : i32
      }
      %31 = arith.addi %n, %9 : i32
      %32 = arith.extui %31 : i32 to i64
      %33 = arith.muli %32, %13 : i64
      %34 = arith.index_cast %33 : i64 to index
      %35 = memref.view %p[%34][] : memref<?xi8> to memref<i32>
      memref.store %20, %35[] : memref<i32>
      gpu.terminator
    }
    return
  }
}
