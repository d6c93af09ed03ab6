"""`import windlass.pycuda.autoprimaryctx`: the device is there; nothing has to be made ready."""

from windlass.pycuda.autoinit import context, device

__all__ = ["context", "device"]
