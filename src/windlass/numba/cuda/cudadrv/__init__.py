"""`numba.cuda.cudadrv`: names that programs take from Numba's driver: exceptions, and the class of device arrays."""
