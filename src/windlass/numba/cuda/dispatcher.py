"""`cuda.jit`: kernels written in Python, compiled for the types of their arguments when they are first launched."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from windlass import cuda
from windlass.diagnostics import CompilationError, Diagnostic, LaunchError
from windlass.diagnostics.deferral import deferred
from windlass.dropins.arguments import ArgumentHandler, In
from windlass.dropins.devices import THREADS, Device, blocks_of
from windlass.frontends.kernels import INCLUDE_FOLDER, compile_function
from windlass.frontends.kernels.types import (
    HeldType,
    KernelArray,
    KernelNumber,
    NoneType,
    Record,
    Signature,
    Tuple,
    adopted,
    layout_of,
    type_of,
)
from windlass.launching.emulation import emulate, emulate_launch
from windlass.numba.cuda.device_array import DeviceNDArray, HostArray, data_of, is_cuda_array
from windlass.numba.types import read_signature
from windlass.runtime.arguments import check_written
from windlass.runtime.launch_shape import read_launch_shape

if TYPE_CHECKING:
    from windlass.numba.cuda import values
    from windlass.reports.report import Report
else:
    values = deferred("windlass.numba.cuda.values")


class KernelRuntimeError(RuntimeError):
    """An exception in a kernel that is launched with debug=True."""

    def __init__(self, msg: str, tid: Any = None, ctaid: Any = None) -> None:
        super().__init__(msg)
        self.tid, self.ctaid, self.msg = tid, ctaid, msg


class ArgumentTypeError(LaunchError, TypeError):
    """Arguments that don't fit a kernel's signature."""


class Overloads(dict[tuple[HeldType, ...], "Overload"]):
    """The kernels that were made of a function, by argument types; others are made when they are asked for."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        super().__init__()
        self._dispatcher = dispatcher

    def __missing__(self, key: Any) -> Overload:
        listed = key if isinstance(key, tuple) else (key,)
        types = tuple(adopted(each) for each in listed)
        if None in types:
            raise KeyError(key)
        found = self.get(types)
        if found is None:
            found = self[types] = Overload(self._dispatcher, types)
        return found


class Overload:
    """A kernel for one set of argument types."""

    def __init__(self, dispatcher: Dispatcher, types: tuple[HeldType, ...]) -> None:
        self.types = types
        self.compiled = compile_function(dispatcher.py_func, types, is_debugged=dispatcher.is_debugged)
        self.module = cuda.compile(self.compiled.text, include=INCLUDE_FOLDER)
        for file in self.compiled.files:
            # A notebook's cells are on no disk.
            self.module.code.source_text.setdefault(file, "".join(linecache.getlines(file)))
        self.kernel = self.module[self.compiled.name]

    @property
    def signature(self) -> Signature:
        """The types of its arguments."""
        return Signature(NoneType(), self.types)

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """How many blocks a launch with `cg.this_grid().sync()` may have: all that devices hold at once."""
        threads = int(np.prod(blockdim))
        return Device.MULTIPROCESSOR_COUNT * max(1, Device.MAX_THREADS_PER_MULTI_PROCESSOR // threads)


class Dispatcher:
    """What `cuda.jit` gives: `kernel[grid, block, stream, shared_bytes](*arguments)`.

    Arguments are arrays of the host's or of the device's, numbers, and tuples of them. Hosts' arrays are updated when
    the launch returns.
    """

    def __init__(
        self, function: Callable[..., Any], signatures: Sequence[Signature], *, is_device: bool, is_debugged: bool
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.is_device = is_device
        self.is_debugged = is_debugged
        self.signatures = tuple(signatures)
        self.overloads = Overloads(self)
        self._launches: dict[Any, ConfiguredKernel] = {}
        self.extensions: list[Any] = []
        self.last_report: Report | None = None

    def __getitem__(self, brackets: Any) -> ConfiguredKernel:
        if self.is_device:
            raise LaunchError(
                Diagnostic(
                    "WL0403",
                    f"'{self.py_func.__name__}' is a device function: kernels call it, hosts can't launch it",
                    help="leave device=True out",
                )
            )
        if not isinstance(brackets, tuple) or not 2 <= len(brackets) <= 4:
            raise LaunchError(
                Diagnostic(
                    "WL0403",
                    f"{self.py_func.__name__}: a launch needs a grid and a block in brackets",
                    help=f"write {self.py_func.__name__}[blocks, threads](...)",
                )
            )
        return self.configure(*brackets)

    def configure(self, griddim: Any, blockdim: Any, stream: object = 0, sharedmem: int = 0) -> ConfiguredKernel:
        """The kernel with its grid and block."""
        key = (_extents(griddim), _extents(blockdim), int(sharedmem))
        found = self._launches.get(key)
        if found is None:
            found = self._launches[key] = ConfiguredKernel(self, *key)
        return found

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if self.is_device:
            raise LaunchError(
                Diagnostic(
                    "WL0403",
                    f"'{self.py_func.__name__}' is a device function: only kernels and their functions call it",
                )
            )
        raise LaunchError(
            Diagnostic(
                "WL0403",
                f"{self.py_func.__name__}: a launch needs a grid and a block",
                help=f"write {self.py_func.__name__}[blocks, threads](...)",
            )
        )

    def forall(self, ntasks: int, tpb: int = 0, stream: object = 0, sharedmem: int = 0) -> Callable[..., None]:
        """A launch of at least `ntasks` threads."""
        if ntasks < 0:
            raise ValueError(f"can't create ForAll with negative task count: {ntasks}")
        threads = tpb or THREADS

        def launch(*arguments: Any) -> None:
            if ntasks:
                self.configure(blocks_of(ntasks, threads), threads, stream, sharedmem)(*arguments)

        return launch

    def jax(self, griddim: Any, blockdim: Any, sharedmem: int = 0) -> Callable[..., Any]:
        """A pure function of the kernel's arguments, for JAX and `wl.grad`: `windlass.cuda.Kernel.jax` says how.

        It returns the new value of the array that the kernel writes, or a tuple of them in the order of the parameters.
        """
        configured = self.configure(griddim, blockdim, 0, sharedmem)

        def function(*arguments: Any) -> Any:
            overload, leaves = configured.on_values(arguments)
            return overload.kernel.jax(*configured.brackets)(*leaves)

        function.__name__ = function.__qualname__ = self.py_func.__name__
        return function

    def specialize(self, *arguments: Any) -> Dispatcher:
        """The kernel, compiled for arguments like these."""
        self.overload(tuple(_type_of(self.py_func.__name__, place, each) for place, each in enumerate(arguments)))
        return self

    def compile(self, signature: Any) -> Overload:
        """Compile for the types of a signature."""
        found = read_signature(signature)
        return self.overload(found.arguments if found is not None else ())

    def overload(self, types: tuple[HeldType, ...]) -> Overload:
        """The kernel for arguments of these types."""
        return self.overloads[types]

    def inspect_llvm(self, signature: Any = None) -> Any:
        """The LLVM IR of each overload."""
        texts = {types: overload.module.code.llvm_ir for types, overload in self.overloads.items()}
        return texts if signature is None else self.overloads[signature].module.code.llvm_ir

    def inspect_asm(self, signature: Any = None) -> Any:
        """The PTX of each overload."""
        if signature is not None:
            return self.overloads[signature].kernel.ptx()
        return {types: overload.kernel.ptx() for types, overload in self.overloads.items()}

    def ptx(self, *arguments: Any, sm: int | str = 90) -> str:
        """The kernel for arguments like these as PTX: `windlass.cuda.Kernel.ptx` says more.

        An array is several parameters: its address, then what of its extents and strides isn't known.
        """
        types = tuple(_type_of(self.py_func.__name__, place, each) for place, each in enumerate(arguments))
        return self.overload(types).kernel.ptx(sm)

    @property
    def definitions(self) -> Overloads:
        """The kernels by argument types, as older versions of Numba called them."""
        return self.overloads

    def get_max_threads_per_block(self, signature: Any = None) -> int:
        """How many threads a block may have."""
        return Device.MAX_THREADS_PER_BLOCK

    def get_regs_per_thread(self, signature: Any = None) -> int:
        """How many registers a thread needs: none, for want of a GPU."""
        return 0

    def __repr__(self) -> str:
        return f"<{'device function' if self.is_device else 'kernel'} {self.py_func.__name__}>"


class ConfiguredKernel:
    """A kernel with its grid and block; call it with the kernel's arguments."""

    def __init__(
        self, dispatcher: Dispatcher, grid: tuple[int, ...], block: tuple[int, ...], shared_bytes: int
    ) -> None:
        self.dispatcher = dispatcher
        self.griddim, self.blockdim, self.sharedmem = grid, block, shared_bytes

    @property
    def brackets(self) -> tuple[Any, Any, int]:
        """What stands in the brackets of the C++ kernel."""
        return self.griddim, self.blockdim, self.sharedmem

    def __call__(self, *arguments: Any) -> None:
        if all(isinstance(each, np.ndarray | int | float) for each in arguments) or not _hold_values(arguments):
            self._run(arguments, _as_users_do)
        else:
            overload, leaves = self.on_values(arguments)
            overload.kernel[self.brackets](*leaves)

    def on_values(self, arguments: Sequence[Any]) -> tuple[Overload, list[Any]]:
        """The kernel for arguments of which some are JAX's, or traced by `wl.jit`, and its arguments."""
        dispatcher, name = self.dispatcher, self.dispatcher.py_func.__name__
        given = values.as_values(arguments)
        types = tuple(_type_of(name, place, each, values.held_type) for place, each in enumerate(given))
        if dispatcher.signatures:
            types, given = _fit(name, dispatcher.signatures, types, given)
        overload = dispatcher.overload(types)
        if overload.compiled.exceptions:
            raise values.refuse_exceptions(name)
        leaves = values.flattened(name, types, given)
        return overload, [*leaves, self.sharedmem] if overload.compiled.takes_shared_bytes else leaves

    def emulate(self, *arguments: Any) -> None:
        """The launch thread by thread: the reference, which also finds races and accesses out of bounds."""
        self._run(arguments, emulate)

    def _run(self, arguments: Sequence[Any], form: Callable[[cuda.Kernel], Any]) -> None:
        dispatcher = self.dispatcher
        name = dispatcher.py_func.__name__
        values = [_read_argument(each) for each in arguments]
        types = tuple(_type_of(name, place, each) for place, each in enumerate(values))
        if dispatcher.signatures:
            types, values = _fit(name, dispatcher.signatures, types, values)
        overload = dispatcher.overload(types)
        copies = _separate(arguments, values)
        leaves: list[Any] = []
        records: list[tuple[Any, Any]] = []
        for type_, value in zip(types, values, strict=True):
            _flatten(type_, value, leaves, records)
        if overload.compiled.takes_shared_bytes:
            leaves.append(self.sharedmem)
        error = np.zeros(7, np.int64)
        if overload.compiled.exceptions:
            leaves.append(error)
        kernel = overload.kernel
        read_only: list[Any] = []
        for place, parameter in enumerate(kernel.signature.parameters):
            value = leaves[place]
            if isinstance(value, np.ndarray) and value.dtype.names is not None and parameter.dtype is not None:
                # The kernel's structure was made after this dtype: complex numbers are pairs in it.
                value = leaves[place] = value.view(parameter.dtype)
            if isinstance(value, np.ndarray) and not value.flags.aligned:
                leaves[place] = value.copy()
                copies.append((value, leaves[place]))
            if isinstance(value, np.ndarray) and not value.flags.writeable:
                leaves[place] = value.copy()
                read_only.append((parameter, value, leaves[place]))
            if parameter.kind == "record":
                leaves[place] = np.array((leaves[place].real, leaves[place].imag), parameter.dtype)[()]
        if overload.compiled.prints and form is _as_users_do:
            # Tensor programs print nothing.
            emulate_launch(kernel, read_launch_shape(kernel.signature, self.brackets), leaves, finds_races=False)
        else:
            form(kernel)[self.brackets](*leaves)
        dispatcher.last_report = kernel.last_report
        for original, copy in records:
            for field in original.dtype.names:
                original[field] = copy[0][field]
        for parameter, original, copy in read_only:
            if original.tobytes() != copy.tobytes():
                check_written(kernel.signature, parameter, original)
        for original, copy in copies:
            original[...] = copy
        if error[0]:
            self._raise(overload, error)

    def _raise(self, overload: Overload, error: np.ndarray[Any, Any]) -> None:
        raised = overload.compiled.exceptions[int(error[0]) - 1]
        thread, block = [int(each) for each in error[1:4]], [int(each) for each in error[4:7]]
        where = f"tid={thread} ctaid={block}"
        message = ", ".join(map(str, raised.arguments))
        exception = raised.exception(f"{where}: {message}" if message else where, *raised.arguments[1:])
        exception.add_note(f"raised by the kernel at {raised.position}")
        raise exception

    def __repr__(self) -> str:
        return f"<{self.dispatcher.py_func.__name__}[{self.griddim}, {self.blockdim}]>"


def _as_users_do(kernel: cuda.Kernel) -> cuda.Kernel:
    return kernel


def _extents(value: Any) -> tuple[int, ...]:
    if isinstance(value, tuple | list):
        return tuple(each if isinstance(each, int) else _integer(each) for each in value)
    return (_integer(value),)


def _integer(value: Any) -> int:
    try:
        return value.__index__()
    except AttributeError:
        raise TypeError(f"extents of a launch are integers; got {value!r} ({type(value).__name__})") from None


def _read_argument(argument: Any) -> Any:
    """Arrays as NumPy arrays, all else as it is."""
    if isinstance(argument, ArgumentHandler):
        value = _read_argument(argument.array)
        return value.copy() if isinstance(argument, In) and isinstance(value, np.ndarray) else value
    if isinstance(argument, DeviceNDArray):
        return argument.data
    if isinstance(argument, np.ndarray):
        return argument.view(np.ndarray)
    if isinstance(argument, tuple):
        read = [_read_argument(each) for each in argument]
        return type(argument)(*read) if hasattr(argument, "_fields") else tuple(read)
    if is_cuda_array(argument):
        return data_of(argument)
    return argument


def _hold_values(arguments: Sequence[Any]) -> bool:
    """Whether one of the arguments, or of what a tuple among them holds, is JAX's or traced by `wl.jit`."""
    return any(_hold_values(each) if isinstance(each, tuple) else values.is_value(each) for each in arguments)


def _type_of(name: str, place: int, value: Any, find: Callable[[Any], HeldType] = type_of) -> HeldType:
    try:
        return find(value)
    except TypeError as error:
        raise LaunchError(Diagnostic("WL0407", f"{name}: argument {place + 1} can't go to a kernel: {error}")) from None


def _fit(
    name: str, signatures: Sequence[Signature], types: tuple[HeldType, ...], values: list[Any]
) -> tuple[tuple[HeldType, ...], list[Any]]:
    """The types that a signature gives the arguments: numbers are converted, arrays have to be what it says."""
    reasons: list[str] = []
    best: tuple[int, tuple[HeldType, ...], list[Any]] | None = None
    for signature in signatures:
        wanted = tuple(signature.arguments)
        if len(wanted) != len(types):
            reasons.append(f"it takes {len(wanted)} arguments, got {len(types)}")
            continue
        fitted: list[HeldType] = []
        converted: list[Any] = []
        cost = 0
        for want, have, value in zip(wanted, types, values, strict=True):
            match want, have:
                case KernelNumber(), KernelNumber() if want.kind == "c" or have.kind != "c":
                    if want != have:
                        cost += 1 if np.can_cast(have.dtype, want.dtype) else 10
                    fitted.append(want)
                    is_plain = isinstance(value, bool | int | float | complex | np.generic)
                    converted.append((np.asarray(value) if is_plain else value).astype(want.dtype)[()])
                case KernelArray(), KernelArray() if (
                    want.dtype == have.dtype
                    and want.ndim == have.ndim
                    and (
                        want.layout in ("A", have.layout)
                        or (isinstance(value, np.ndarray) and _is_ordered(value, want.layout))
                    )
                ):
                    fitted.append(have if want.layout == "A" else want)
                    converted.append(value)
                case (Tuple(), Tuple()) | (NoneType(), NoneType()) | (Record(), Record()) if want == have:
                    fitted.append(have)
                    converted.append(value)
                case _:
                    reasons.append(f"it takes {want}, got {have}")
                    break
        else:
            if best is None or cost < best[0]:
                best = (cost, tuple(fitted), converted)
    if best is None:
        raise ArgumentTypeError(
            Diagnostic(
                "WL0401",
                f"{name}: the arguments don't fit its signature: {reasons[0]}",
                notes=tuple(f"signature: {signature}" for signature in signatures),
                help="convert the argument with astype, or leave the signature out of cuda.jit",
            )
        )
    return best[1], best[2]


def _is_ordered(array: np.ndarray[Any, Any], layout: str) -> bool:
    return array.flags.c_contiguous if layout == "C" else array.flags.f_contiguous


def _separate(arguments: Sequence[Any], values: list[Any]) -> list[tuple[Any, Any]]:
    """Hosts' arrays that overlap others go to the kernel as copies, as they would to a device."""
    is_of_host = [isinstance(each, np.ndarray) and not isinstance(each, HostArray) for each in arguments]
    arrays = [place for place, value in enumerate(values) if isinstance(value, np.ndarray)]
    copies: list[tuple[Any, Any]] = []
    originals = list(values)
    for place in arrays:
        others = (other for other in arrays if other != place)
        if is_of_host[place] and any(np.may_share_memory(originals[place], originals[other]) for other in others):
            values[place] = originals[place].copy(order="K")
            if layout_of(values[place]) != layout_of(originals[place]):
                values[place] = originals[place]
                continue
            if originals[place].flags.writeable:
                copies.append((originals[place], values[place]))
    return copies


def _flatten(type_: HeldType, value: Any, leaves: list[Any], records: list[tuple[Any, Any]]) -> None:
    """The C++ kernel's arguments for one of the Python kernel's; records and the arrays that hold them are noted."""
    match type_:
        case KernelArray():
            leaves.append(_memory(type_, value))
            leaves += value.shape
            if type_.layout == "A":
                leaves += [step // value.itemsize for step in value.strides]
        case Tuple(types):
            for each, part in zip(types, value, strict=True):
                _flatten(each, part, leaves, records)
        case Record():
            leaves.append(np.array([value], type_.dtype))
            records.append((value, leaves[-1]))
        case NoneType():
            return
        case _:
            leaves.append(value)


def _memory(type_: KernelArray, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The run of elements that a kernel gets for an array: from its first one in memory to its last."""
    if type_.layout == "C":
        return array
    if type_.layout == "F":
        return array.T
    if any(step % array.itemsize for step in array.strides):
        raise LaunchError(
            Diagnostic("WL0405", f"an array's strides {array.strides} are no multiples of its elements' size")
        )
    if any(step < 0 for step in array.strides):
        raise LaunchError(
            Diagnostic(
                "WL0405", "an array goes backwards in memory", help="pass a copy: numpy.ascontiguousarray(array)"
            )
        )
    if array.size == 0:
        return np.zeros(0, array.dtype)
    count = 1 + sum(
        (extent - 1) * step // array.itemsize for extent, step in zip(array.shape, array.strides, strict=True)
    )
    return np.lib.stride_tricks.as_strided(array, (count,), (array.itemsize,), writeable=array.flags.writeable)


def jit(
    func_or_sig: Any = None,
    device: bool = False,
    inline: Any = False,
    link: Sequence[Any] | None = None,
    debug: bool | None = None,
    opt: bool = True,
    lineinfo: bool = False,
    cache: bool = False,
    **options: Any,
) -> Any:
    """`cuda.jit`, with or without signatures: makes a kernel, or with `device` a function for kernels, of a function.

    Options that tell Numba how to compile (fastmath, max_registers, cache, ...) change nothing here; with `debug`
    exceptions that the kernel raises are raised by the launch.

    Raises CompilationError for `link`: there is nothing that could be linked.
    """
    if link:
        raise CompilationError(
            Diagnostic("WL0110", "kernels can't be linked with other code", help="write the functions in Python")
        )
    if options.get("boundscheck"):
        debug = True if debug is None else debug
    if func_or_sig is None or not callable(func_or_sig) or adopted(func_or_sig) is not None:
        given = func_or_sig if isinstance(func_or_sig, list) else [func_or_sig]
        signatures = [found for found in map(read_signature, given) if found is not None]

        def decorate(function: Callable[..., Any]) -> Any:
            return _make(function, signatures, device, bool(debug))

        return decorate
    return _make(func_or_sig, (), device, bool(debug))


def _make(function: Any, signatures: Sequence[Signature], device: bool, debug: bool) -> Dispatcher:
    if isinstance(function, Dispatcher):
        raise TypeError("cuda.jit of what is a kernel already")
    returns = any(not isinstance(signature.result, NoneType) for signature in signatures)
    return Dispatcher(
        getattr(function, "py_func", function), signatures, is_device=device or returns, is_debugged=debug
    )


def compile_ptx(pyfunc: Any, sig: Any, *, device: bool = False, cc: Any = None, **options: Any) -> tuple[str, Any]:
    """`cuda.compile_ptx`: the kernel of a signature as PTX for compute capability `cc`, and the type of its result.

    Raises CompilationError (WL0110) for functions that are no kernels.
    """
    if device:
        raise CompilationError(
            Diagnostic(
                "WL0110",
                f"'{getattr(pyfunc, '__name__', pyfunc)}' can't be compiled to PTX: only kernels are",
                help="call it from a kernel: it is compiled with that",
            )
        )
    made = _make(pyfunc, (), False, bool(options.get("debug")))
    lines = bool(options.get("lineinfo"))
    overload = made.compile(sig)
    return overload.kernel.ptx(10 * cc[0] + cc[1] if cc else 90, line_info=lines), overload.signature.result


def declare_device(name: str, sig: Any) -> Any:
    """`cuda.declare_device`: functions of other compilers can't be called here.

    Raises CompilationError.
    """
    raise CompilationError(
        Diagnostic(
            "WL0110",
            f"'{name}' is a function of another compiler, which kernels here can't call",
            help="write it in Python, with cuda.jit(device=True)",
        )
    )


__all__ = ["Dispatcher", "KernelRuntimeError", "compile_ptx", "declare_device", "jit"]
