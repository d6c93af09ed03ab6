"""Calls of what is there in kernels only: threads' indices, barriers, shared memory, atomics, what warps share."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from windlass.frontends.kernels import promotion
from windlass.frontends.kernels.calls import Calls
from windlass.frontends.kernels.intrinsics import INTEGER_LIBRARY, Intrinsic, grid_group
from windlass.frontends.kernels.names import cpp_name
from windlass.frontends.kernels.types import (
    KernelArray,
    KernelNumber,
    Record,
    Tuple,
    boolean,
    float32,
    float64,
    int32,
    int64,
    uint32,
    uint64,
)
from windlass.frontends.kernels.values import (
    NONE,
    UNKNOWN,
    HeldValue,
    constant_number,
    convert_number,
    known,
    tuple_of,
)

THREAD_BITS, INDEX_BITS = 11, 42
"""Indices of threads are below 2**11, those of blocks below 2**31."""

_ATOMICS = {
    "add": "atomicAdd",
    "sub": "atomicSub",
    "and_": "atomicAnd",
    "or_": "atomicOr",
    "xor": "atomicXor",
    "exch": "atomicExch",
    "max": "windlass_atomic_maximum",
    "min": "windlass_atomic_minimum",
    "nanmax": "atomicMax",
    "nanmin": "atomicMin",
    "inc": "windlass_atomic_increment",
    "dec": "windlass_atomic_decrement",
}
_RANDOM = {
    "xoroshiro128p_next": ("windlass_xoroshiro", uint64),
    "xoroshiro128p_uniform_float32": ("windlass_uniform_float", float32),
    "xoroshiro128p_uniform_float64": ("windlass_uniform_double", float64),
    "xoroshiro128p_normal_float32": ("windlass_normal_float", float32),
    "xoroshiro128p_normal_float64": ("windlass_normal_double", float64),
}
_STATEMENTS = {
    "syncthreads": "__syncthreads()",
    "threadfence": "__threadfence()",
    "threadfence_block": "__threadfence_block()",
    "threadfence_system": "__threadfence_system()",
    "this_grid().sync": "cooperative_groups::this_grid().sync()",
}


class DeviceCalls(Calls):
    """Calls of intrinsics."""

    def intrinsic_value(self, node: ast.AST, thing: Any) -> HeldValue | None:
        """Values such as threadIdx.x."""
        if not isinstance(thing, Intrinsic):
            return None
        name = thing.name
        if name == "warpsize":
            return constant_number(32, int32)
        if name == "laneid":
            text = "(int)__nvvm_read_ptx_sreg_laneid()"
            return self.compute(node, int32, text, is_nonnegative=True, bits=5, hint="laneid")
        owner, _, axis = name.partition(".")
        if owner in ("threadIdx", "blockIdx", "blockDim", "gridDim") and axis:
            bits = THREAD_BITS if owner in ("threadIdx", "blockDim") else 31
            return HeldValue(int32, (f"(int){name}",), UNKNOWN, True, bits)
        return None

    def intrinsic(self, node: ast.Call, name: str, function: Any) -> HeldValue:
        family, _, member = name.partition(".")
        if name in ("shared.array", "local.array"):
            return self._new_array(node, family)
        arguments = [self.expression(argument) for argument in node.args]
        arguments += [self.expression(each.value) for each in node.keywords]
        if name in _STATEMENTS:
            self.write(node, f"{_STATEMENTS[name]};")
            if name == "this_grid().sync":
                self.unit.uses_grid_sync = True
            return NONE
        if name in _RANDOM:
            return self._random(node, name, arguments)
        if family == "atomic":
            return self._atomic(node, member, arguments)
        if family == "libdevice":
            return self._library(node, member, arguments)
        handler: Callable[[ast.Call, list[HeldValue]], HeldValue] | None = getattr(
            self, f"_call_{name.replace('.', '_')}", None
        )
        if handler is None:
            raise self.refuse(node, f"kernels can't call '{name}'")
        return handler(node, arguments)

    # -- threads ------------------------------------------------------------------------------------------------------

    def _axes(self, node: ast.Call, arguments: list[HeldValue], text: str) -> HeldValue:
        count = self.constant_integer(node, arguments[0], "the number of axes") if arguments else 1
        if count not in (1, 2, 3):
            raise self.mistyped(node, f"the number of axes is 1, 2 or 3; got {count}")
        values = [
            self.compute(node, int64, text.replace("AXIS", axis), is_nonnegative=True, bits=INDEX_BITS)
            for axis in "xyz"[:count]
        ]
        return values[0] if count == 1 else tuple_of(values)

    def _call_grid(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        text = "((long long)blockIdx.AXIS * (long long)blockDim.AXIS + (long long)threadIdx.AXIS)"
        return self._axes(node, arguments, text)

    def _call_gridsize(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self._axes(node, arguments, "((long long)blockDim.AXIS * (long long)gridDim.AXIS)")

    def _call_cg_this_grid(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return known(grid_group)

    def _call_nanosleep(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return NONE

    def _call_syncwarp(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        mask = convert_number(arguments[0], uint32) if arguments else "0xffffffffu"
        self.write(node, f"__syncwarp({mask});")
        return NONE

    def _counted_barrier(self, node: ast.Call, name: str, arguments: list[HeldValue]) -> HeldValue:
        return self.compute(node, int32, f"{name}({self.truth(node, arguments[0]).text})", is_nonnegative=True)

    def _call_syncthreads_count(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self._counted_barrier(node, "__syncthreads_count", arguments)

    def _call_syncthreads_and(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self._counted_barrier(node, "__syncthreads_and", arguments)

    def _call_syncthreads_or(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self._counted_barrier(node, "__syncthreads_or", arguments)

    # -- memory -------------------------------------------------------------------------------------------------------

    def _new_array(self, node: ast.Call, space: str) -> HeldValue:
        values = [self.expression(argument) for argument in node.args]
        named = {each.arg: self.expression(each.value) for each in node.keywords}
        given = dict(zip(("shape", "dtype"), values, strict=False)) | named
        if "shape" not in given or "dtype" not in given:
            raise self.mistyped(node, f"{space}.array takes a shape and a dtype")
        shape, dtype = given["shape"], given["dtype"].constant
        if isinstance(dtype, type):
            dtype = {int: int64, float: float64, bool: boolean}.get(dtype, dtype)
        if isinstance(dtype, str):
            dtype = self.number_of_dtype(node, dtype)
        if not isinstance(dtype, KernelNumber | Record):
            raise self.mistyped(node, "the dtype of an array has to be a type, such as float32")
        if isinstance(dtype, Record):
            self.unit.note_record(dtype)
        parts = shape.parts() if isinstance(shape.type, Tuple) else [shape]
        extents = [self.constant_integer(node, part, "the shape of an array in a kernel") for part in parts]
        size = 1
        for extent in extents:
            size *= extent
        type_ = KernelArray(dtype, len(extents), "C")
        pointer = self.out.declare(type_.leaves()[0], "view")
        name = self.out.named(cpp_name(self.hint), node) if self.hint else self.out.fresh(space)
        texts = tuple(f"{extent}LL" for extent in extents)
        if space == "shared" and size == 0 and len(extents) == 1:
            self.unit.uses_dynamic_shared = True
            self.write(node, f"({type_.leaves()[0]})windlass_dynamic_shared;", f"{pointer} =")
            texts = (f"(windlass_shared_bytes / {dtype.dtype.itemsize}LL)",)
        elif space == "shared":
            if size <= 0:
                raise self.mistyped(node, f"a shared array has to have elements; its shape is {tuple(extents)}")
            self.write(node, f"__shared__ {dtype.cpp} {name}[{size}];")
            self.write(node, f"&{name}[0];", f"{pointer} =")
        else:
            self.out.declarations.append(f"{dtype.cpp} {name}[{max(size, 1)}];")
            self.write(node, f"&{name}[0];", f"{pointer} =")
        return HeldValue(type_, (pointer, *texts))

    def _call_const_array_like(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return arguments[0]

    def _place_in(self, node: ast.Call, array: HeldValue, index: HeldValue) -> str:
        if not isinstance(array.type, KernelArray):
            raise self.mistyped(node, f"atomic operations work on elements of arrays, not on {array.type}")
        if not isinstance(array.array.dtype, KernelNumber):
            raise self.mistyped(node, "atomic operations work on numbers, not on records")
        parts = index.parts() if isinstance(index.type, Tuple) else [index]
        if len(parts) != array.array.ndim:
            raise self.mistyped(node, f"{len(parts)} indices for an array with {array.array.ndim} axes")
        return self.element(node, array, [(node, part) for part in parts])

    def _atomic(self, node: ast.Call, name: str, arguments: list[HeldValue]) -> HeldValue:
        counts = {"compare_and_swap": 3, "cas": 4}
        if len(arguments) != counts.get(name, 3):
            raise self.mistyped(node, f"atomic.{name} takes {counts.get(name, 3)} arguments, got {len(arguments)}")
        if name == "compare_and_swap":
            arguments = [arguments[0], constant_number(0, int64), *arguments[1:]]
        array, index, *values = arguments
        place = self._place_in(node, array, index)
        number = array.array.dtype
        assert isinstance(number, KernelNumber)
        if number.bits not in (32, 64) or number.kind == "c":
            raise self.mistyped(node, f"there are no atomic operations on {number}", "use 32 or 64 bits")
        if name in ("and_", "or_", "xor", "inc", "dec", "compare_and_swap", "cas") and not number.is_integer:
            raise self.mistyped(node, f"atomic.{name} takes integers, not {number}")
        texts = [convert_number(self.number_argument(node, value), number) for value in values]
        function = "atomicCAS" if name in ("compare_and_swap", "cas") else _ATOMICS[name]
        return self.compute(node, number, f"{function}(&{place}, {', '.join(texts)})")

    def _random(self, node: ast.Call, name: str, arguments: list[HeldValue]) -> HeldValue:
        states, index = arguments
        if not isinstance(states.type, KernelArray) or not isinstance(states.array.dtype, Record):
            raise self.mistyped(node, f"{name} takes an array of states", "make one with create_xoroshiro128p_states")
        self.unit.note_record(states.array.dtype)
        function, number = _RANDOM[name]
        return self.compute(node, number, f"{function}(&{self.element(node, states, [(node, index)])})")

    # -- warps --------------------------------------------------------------------------------------------------------

    def _shuffle(self, node: ast.Call, name: str, arguments: list[HeldValue]) -> HeldValue:
        mask, value, lane = arguments
        number = self.number_argument(node, value).number
        if number.kind not in "iuf" or number.bits < 32:
            wanted = int32
        else:
            wanted = number
        return self.compute(
            node,
            wanted,
            f"{name}({convert_number(mask, uint32)}, {convert_number(value, wanted)}, {convert_number(lane, int32)})",
        )

    def _call_shfl_sync(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self._shuffle(node, "__shfl_sync", arguments)

    def _call_shfl_up_sync(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self._shuffle(node, "__shfl_up_sync", arguments)

    def _call_shfl_down_sync(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self._shuffle(node, "__shfl_down_sync", arguments)

    def _call_shfl_xor_sync(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self._shuffle(node, "__shfl_xor_sync", arguments)

    def _vote(self, node: ast.Call, name: str, arguments: list[HeldValue], number: KernelNumber) -> HeldValue:
        mask, predicate = arguments
        text = f"{name}({convert_number(mask, uint32)}, {self.truth(node, predicate).text})"
        return self.compute(node, number, f"({text} != 0)" if number == boolean else f"(int){text}")

    def _call_all_sync(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self._vote(node, "__all_sync", arguments, boolean)

    def _call_any_sync(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self._vote(node, "__any_sync", arguments, boolean)

    def _call_eq_sync(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self._vote(node, "__uni_sync", arguments, boolean)

    def _call_ballot_sync(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self._vote(node, "__ballot_sync", arguments, int32)

    def _call_match_any_sync(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        mask, value = arguments
        text = f"(int)__match_any_sync({convert_number(mask, uint32)}, {self._word(node, value)})"
        return self.compute(node, int32, text)

    def _call_match_all_sync(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        mask, value = arguments
        are_equal = self.out.declare("int")
        text = f"(int)__match_all_sync({convert_number(mask, uint32)}, {self._word(node, value)}, &{are_equal})"
        found = self.compute(node, int32, text)
        return tuple_of([found, self.compute(node, boolean, f"({are_equal} != 0)")])

    def _word(self, node: ast.Call, value: HeldValue) -> str:
        number = self.number_argument(node, value).number
        return value.text if number.bits in (32, 64) and number.kind in "iuf" else convert_number(value, int32)

    def _call_activemask(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self.compute(node, int32, "(int)__activemask()")

    def _call_lanemask_lt(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        return self.compute(node, int32, "(int)__lanemask_lt()")

    # -- bits and numbers ---------------------------------------------------------------------------------------------

    def _bits(self, node: ast.Call, name: str, value: HeldValue) -> tuple[KernelNumber, str]:
        number = self.number_argument(node, value).number
        if not number.is_integral:
            raise self.mistyped(node, f"an integer is needed here, this is {number}")
        is_wide = number.bits == 64
        wanted = uint64 if is_wide else uint32
        narrow = (
            value if number.bits >= 32 else HeldValue(number, (f"(unsigned {number.cpp.split()[-1]}){value.text}",))
        )
        return number, f"{name}{'ll' if is_wide else ''}(({wanted.cpp}){narrow.text})"

    def _call_popc(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        number, text = self._bits(node, "__popc", arguments[0])
        return self.compute(node, number, f"({number.cpp}){text}", is_nonnegative=True, bits=7)

    def _call_clz(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        number, text = self._bits(node, "__clz", arguments[0])
        return self.compute(node, number, f"({number.cpp}){text}", is_nonnegative=True, bits=7)

    def _call_brev(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        number, text = self._bits(node, "__brev", arguments[0])
        wanted = uint64 if number.bits == 64 else uint32
        return self.compute(node, wanted, f"({wanted.cpp}){text}")

    def _call_ffs(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        _, text = self._bits(node, "__ffs", arguments[0])
        return self.compute(node, uint32, f"(unsigned int){text}", bits=7)

    def _call_selp(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        condition, first, second = arguments
        number = promotion.unify(self.number_argument(node, first).number, self.number_argument(node, second).number)
        text = (
            f"({self.truth(node, condition).text} ? {convert_number(first, number)} : {convert_number(second, number)})"
        )
        return self.compute(node, number, text)

    def _call_fma(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        numbers = [self.number_argument(node, value).number for value in arguments]
        return self.real_call(node, "fma", promotion.real_function(*numbers), arguments)

    def _call_cbrt(self, node: ast.Call, arguments: list[HeldValue]) -> HeldValue:
        number = self.number_argument(node, arguments[0]).number
        return self.real_call(node, "cbrt", promotion.real_function(number), arguments)

    def _library(self, node: ast.Call, name: str, arguments: list[HeldValue]) -> HeldValue:
        """A function of CUDA's device library: those whose names end with f take and give float32."""
        values = [self.number_argument(node, value) for value in arguments]
        if name in INTEGER_LIBRARY:
            function, taken, given = INTEGER_LIBRARY[name]
            texts = ", ".join(convert_number(value, taken) for value in values)
            return self.compute(node, given, f"({given.cpp}){function}({texts})")
        if "2" in name.removeprefix("fast_") and name.split("2", maxsplit=1)[0] in _CONVERTED:
            return self._library_conversion(node, name, values)
        function = f"__{name.removeprefix('fast_')}" if name.startswith("fast_") else name
        is_rounded = name.rpartition("_")[2] in ("rn", "rz", "ru", "rd")
        is_single = name.startswith(("f", "fsqrt", "frcp")) if is_rounded else name.endswith("f") and name != "erf"
        if is_rounded:
            function = f"__{name}"
        number = float32 if is_single else float64
        plain = name.removeprefix("fast_").removesuffix("f")
        if plain in ("sincos", "frexp", "modf", "remquo"):
            raise self.refuse(node, f"libdevice.{name}", "use the functions of math")
        if plain == "powi":
            function, plain = ("powif" if is_single else "powi"), "powi"
        texts = [convert_number(value, number) for value in values]
        if plain in ("ldexp", "powi", "scalbn"):
            texts[1] = convert_number(values[1], int32)
        if plain in ("jn", "yn"):
            texts[0] = convert_number(values[0], int32)
        if plain in ("isnan", "isinf", "isfinite") or name in ("isnand", "isinfd", "isfinited", "finitef"):
            test = "isfinite" if "finite" in name else "isnan" if "nan" in name else "isinf"
            return self.compute(node, int32, f"(int)({test}({texts[0]}) != 0)")
        return self.compute(node, number, f"{function}({', '.join(texts)})")

    def _library_conversion(self, node: ast.Call, name: str, values: list[HeldValue]) -> HeldValue:
        source, _, rest = name.partition("2")
        target = _CONVERTED.get(rest.split("_")[0])
        if target is None:
            raise self.refuse(node, f"libdevice.{name}")
        texts = ", ".join(convert_number(value, _CONVERTED[source]) for value in values)
        return self.compute(node, target, f"({target.cpp})__{name}({texts})")


_CONVERTED = {
    "int": int32,
    "uint": uint32,
    "ll": int64,
    "ull": uint64,
    "float": float32,
    "double": float64,
}
