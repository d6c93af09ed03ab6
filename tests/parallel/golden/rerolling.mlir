// before: rerolling
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
      %12 = arith.constant 16 : i64
      %13 = arith.constant 4 : i64
      %14 = arith.constant 8 : i64
      %15 = arith.constant 12 : i64
      %16 = arith.extui %9 : i32 to i64
      %17 = arith.muli %16, %12 : i64
      %18 = arith.index_cast %17 : i64 to index
      %19 = memref.view %p[%18][] : memref<?xi8> to memref<i32>
      %20 = memref.load %19[] : memref<i32>
      %21 = arith.addi %17, %13 : i64
      %22 = arith.index_cast %21 : i64 to index
      %23 = memref.view %p[%22][] : memref<?xi8> to memref<i32>
      %24 = memref.load %23[] : memref<i32>
      %25 = arith.addi %17, %14 : i64
      %26 = arith.index_cast %25 : i64 to index
      %27 = memref.view %p[%26][] : memref<?xi8> to memref<i32>
      %28 = memref.load %27[] : memref<i32>
      %29 = arith.addi %17, %15 : i64
      %30 = arith.index_cast %29 : i64 to index
      %31 = memref.view %p[%30][] : memref<?xi8> to memref<i32>
      %32 = memref.load %31[] : memref<i32>
      %33 = arith.muli %20, %n : i32
      %34 = arith.muli %24, %n : i32
      %35 = arith.muli %28, %n : i32
      %36 = arith.muli %32, %n : i32
      %37 = arith.index_cast %17 : i64 to index
      %38 = memref.view %p[%37][] : memref<?xi8> to memref<i32>
      memref.store %33, %38[] : memref<i32>
      %39 = arith.index_cast %21 : i64 to index
      %40 = memref.view %p[%39][] : memref<?xi8> to memref<i32>
      memref.store %34, %40[] : memref<i32>
      %41 = arith.index_cast %25 : i64 to index
      %42 = memref.view %p[%41][] : memref<?xi8> to memref<i32>
      memref.store %35, %42[] : memref<i32>
      %43 = arith.index_cast %29 : i64 to index
      %44 = memref.view %p[%43][] : memref<?xi8> to memref<i32>
      memref.store %36, %44[] : memref<i32>
      gpu.terminator
    }
    return
  }
}
// after
module {
  func.func private @"check_alignment.16(memref<?xi8>, i64)"(memref<?xi8>, i64) -> ()
  func.func private @"check_alignment.8(memref<?xi8>, i64)"(memref<?xi8>, i64) -> ()
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
      %12 = arith.constant 16 : i64
      %13 = arith.constant 8 : i64
      %14 = arith.extui %9 : i32 to i64
      %15 = arith.muli %14, %12 : i64
      %16 = arith.addi %15, %13 : i64
      %17 = arith.constant 4 : i64
      %18 = arith.constant 0 : i64
      %19 = arith.constant 1 : i64
      scf.for %20 = %18 to %17 step %19 : i64 {
        %21 = arith.constant 0 : i64
        %22 = arith.constant 4 : i64
        %23 = arith.muli %20, %22 : i64
        %24 = arith.addi %21, %23 : i64
        %25 = arith.addi %15, %24 : i64
        %26 = arith.index_cast %25 : i64 to index
        %27 = memref.view %p[%26][] : memref<?xi8> to memref<i32>
        %28 = memref.load %27[] : memref<i32>
        %29 = arith.muli %28, %n : i32
        %30 = arith.index_cast %25 : i64 to index
        %31 = memref.view %p[%30][] : memref<?xi8> to memref<i32>
        memref.store %29, %31[] : memref<i32>
        scf.yield
      }
      func.call @"check_alignment.16(memref<?xi8>, i64)"(%p, %15) : (memref<?xi8>, i64) -> ()
      func.call @"check_alignment.8(memref<?xi8>, i64)"(%p, %16) : (memref<?xi8>, i64) -> ()
      func.call @"check_alignment.16(memref<?xi8>, i64)"(%p, %15) : (memref<?xi8>, i64) -> ()
      func.call @"check_alignment.8(memref<?xi8>, i64)"(%p, %16) : (memref<?xi8>, i64) -> ()
      gpu.terminator
    }
    return
  }
}
