"""What CuPy, PyCUDA and Numba have in common, once: the thin rooms `cupy`, `pycuda` and `numba` give it their names.

Takes what Python programs ask of a GPU; gives it on memory of this process. `devices.py` has the device, its streams,
events and contexts; `arrays.py` arrays that lie on it; `arguments.py` how hosts' arrays go to kernels; `sources.py`
CUDA C++ compiled with nvcc's options; `templates.py` elementwise and reduction kernels made of expressions, `parts.py`
where these stand in the user's files. What
differs between the libraries (names, parameters, results, errors) is said in their own rooms.

Start reading at `devices.py`.
"""
