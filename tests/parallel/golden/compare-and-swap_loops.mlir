// before: compare-and-swap loops
module {
  func.func private @"windlass.compare_exchange(memref<?xi8>, i64, i32, i32)"(memref<?xi8>, i64, i32, i32) -> (i32)
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
      %13 = arith.constant 3 : i32
      %14 = arith.constant false
      %15 = arith.constant true
      %16 = arith.index_cast %12 : i64 to index
      %17 = memref.view %p[%16][] : memref<?xi8> to memref<i32>
      %18 = memref.load %17[] : memref<i32>
      %19 = scf.while (%20 = %18) : (i32) -> (i32) {
        %21 = arith.muli %20, %13 : i32
        %22 = func.call @"windlass.compare_exchange(memref<?xi8>, i64, i32, i32)"(%p, %12, %20, %21) : (memref<?xi8>, i64, i32, i32) -> (i32)
        %23 = arith.cmpi eq, %22, %20 : i32
        %24 = arith.cmpi eq, %20, %22 : i32
        %25 = arith.constant true
        %26 = arith.xori %24, %25 : i1
        scf.condition(%26) %22 : i32
      } do {
      ^bb0(%27: i32):
        scf.yield %27 : i32
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
      %13 = arith.constant 3 : i32
      %14 = arith.constant false
      %15 = arith.constant true
      %16 = arith.index_cast %12 : i64 to index
      %17 = memref.view %p[%16][] : memref<?xi8> to memref<i32>
      %18 = memref.load %17[] : memref<i32>
      %19 = arith.index_cast %12 : i64 to index
      %20 = memref.view %p[%19][] : memref<?xi8> to memref<i32>
      %21 = memref.generic_atomic_rmw %20[] : memref<i32> {
      ^bb0(%22: i32):
        %23 = arith.muli %22, %13 : i32
        memref.atomic_yield %23 : i32
      }
      gpu.terminator
    }
    return
  }
}
