module {
  func.func @"spmv"(%grid_x: index, %grid_y: index, %grid_z: index, %block_x: index, %block_y: index, %block_z: index, %n: i32, %rows: memref<?xi32>, %columns: memref<?xi32>, %values: memref<?xf64>, %x: memref<?xf64>, %y: memref<?xf64>) {
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
      %13 = arith.constant 1 : i64
      %14 = arith.constant 0.0 : f64
      %15 = arith.cmpi sgt, %n, %12 : i32
      scf.if %15 {
        %16 = arith.extui %n : i32 to i64
        %17 = arith.constant 0 : i64
        %18 = arith.constant 1 : i64
        scf.for %19 = %17 to %16 step %18 : i64 {
          %20 = arith.index_cast %19 : i64 to index
          %21 = memref.load %rows[%20] : memref<?xi32>
          %22 = arith.addi %19, %13 : i64
          %23 = arith.index_cast %22 : i64 to index
          %24 = memref.load %rows[%23] : memref<?xi32>
          %25 = arith.cmpi slt, %21, %24 : i32
          %26 = scf.if %25 -> (f64) {
            %27 = arith.extsi %21 : i32 to i64
            %28 = arith.extsi %24 : i32 to i64
            %29 = arith.subi %28, %27 : i64
            %30 = arith.constant 0 : i64
            %31 = arith.constant 1 : i64
            %32 = scf.for %33 = %30 to %29 step %31 iter_args(%34 = %14) -> (f64) : i64 {
              %35 = arith.addi %27, %33 : i64
              %36 = arith.index_cast %35 : i64 to index
              %37 = memref.load %values[%36] : memref<?xf64>
              %38 = memref.load %columns[%36] : memref<?xi32>
              %39 = arith.extsi %38 : i32 to i64
              %40 = arith.index_cast %39 : i64 to index
              %41 = memref.load %x[%40] : memref<?xf64>
              %42 = arith.mulf %37, %41 : f64
              %43 = arith.addf %34, %42 : f64
              scf.yield %43 : f64
            } {windlass.reductions = ["fadd"]}
            scf.yield %32 : f64
          } else {
            scf.yield %14 : f64
          }
          memref.store %26, %y[%20] : memref<?xf64>
          scf.yield
        } {windlass.is_independent}
        scf.yield
      }
      gpu.terminator
    }
    return
  }
}
