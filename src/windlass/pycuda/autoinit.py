"""`import windlass.pycuda.autoinit`: the device is there; nothing has to be made ready."""

from __future__ import annotations

from windlass.pycuda.driver import Context, Device

device = Device(0)
context = Context(device)
