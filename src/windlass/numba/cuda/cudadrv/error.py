"""`numba.cuda.cudadrv.error`: exceptions that programs catch; none of them is raised here."""


class CudaDriverError(Exception):
    """A fault of the driver."""


class CudaRuntimeError(Exception):
    """A fault of the runtime."""


class CudaSupportError(ImportError):
    """No driver, or no device."""


class NvvmError(Exception):
    """A fault of the compiler."""


class NvvmSupportError(ImportError):
    """No compiler."""
