"""Rodinia's CUDA programs as native code beside their OpenMP versions: how long the kernels of each take."""
