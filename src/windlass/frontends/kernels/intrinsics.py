"""What kernels may name that Python has not: threads' indices, barriers, atomics. The translator knows them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windlass.diagnostics import CompilationError, Diagnostic
from windlass.frontends.kernels.types import int32, int64, uint32, uint64


class Intrinsic:
    """A function or a value that only means something inside of a kernel."""

    def __init__(self, name: str, **members: Any) -> None:
        self.name = name
        self.__dict__.update(members)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        raise CompilationError(
            Diagnostic(
                "WL0112",
                f"'{self.name}' means something inside of a kernel only",
                help="call it in a function that cuda.jit compiles",
            )
        )

    def __repr__(self) -> str:
        return f"<{self.name}>"

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Members are given when it is made."""


def dimensions(name: str) -> Intrinsic:
    """One of threadIdx, blockIdx, blockDim and gridDim.

    >>> dimensions("threadIdx").x
    <threadIdx.x>
    """
    return Intrinsic(name, **{axis: Intrinsic(f"{name}.{axis}") for axis in "xyz"})


_MODES = ("rn", "rz", "ru", "rd")
_REAL = """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc erfcinv erfcx erfinv exp
    exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod hypot ilogb j0 j1 jn ldexp lgamma llrint llround log log10 log1p
    log2 logb nearbyint nextafter normcdf normcdfinv pow powi rcbrt remainder rint round rsqrt scalbn sin sinh sinpi
    sqrt tan tanh tgamma trunc y0 y1 yn""".split()  # noqa: SIM905
_FAST = ("cosf", "exp10f", "expf", "fdividef", "log10f", "log2f", "logf", "powf", "sinf", "tanf")
INTEGER_LIBRARY = {
    "abs": ("abs", int32, int32),
    "llabs": ("llabs", int64, int64),
    "max": ("max", int32, int32),
    "min": ("min", int32, int32),
    "llmax": ("max", int64, int64),
    "llmin": ("min", int64, int64),
    "umax": ("max", uint32, uint32),
    "umin": ("min", uint32, uint32),
    "ullmax": ("max", uint64, uint64),
    "ullmin": ("min", uint64, uint64),
    "clz": ("__clz", int32, int32),
    "clzll": ("__clzll", int64, int32),
    "popc": ("__popc", int32, int32),
    "popcll": ("__popcll", int64, int32),
    "ffs": ("__ffs", int32, int32),
    "ffsll": ("__ffsll", int64, int32),
    "brev": ("__brev", int32, int32),
    "brevll": ("__brevll", int64, int64),
    "mulhi": ("__mulhi", int32, int32),
    "umulhi": ("__umulhi", int32, int32),
    "mul24": ("__mul24", int32, int32),
    "mul64hi": ("__mul64hi", int64, int64),
    "sad": ("__sad", int32, int32),
    "byte_perm": ("__byte_perm", int32, int32),
    "hadd": ("__hadd", int32, int32),
    "rhadd": ("__rhadd", int32, int32),
}
"""By its name there: the function of CUDA C++, the type of its arguments, the type of its result."""
_TESTS = ("finitef", "isnand", "isnanf", "isinfd", "isinff", "isfinited")
_ROUNDED = [f"{kind}{name}_{mode}" for kind in "fd" for name in ("add", "mul", "div", "rcp", "sqrt") for mode in _MODES]
_CONVERTED = [
    f"{source}2{target}_{mode}"
    for source, target in (
        *(("float", target) for target in ("int", "uint", "ll", "ull")),
        *(("double", target) for target in ("int", "uint", "ll", "ull", "float")),
        *((source, target) for source in ("int", "uint", "ll", "ull") for target in ("float", "double")),
    )
    for mode in _MODES
]
LIBRARY_NAMES = frozenset(
    [
        *_REAL,
        *(f"{name}f" for name in _REAL),
        *(f"fast_{name}" for name in _FAST),
        *INTEGER_LIBRARY,
        *_TESTS,
        *_ROUNDED,
        *_CONVERTED,
        *("int2double", "uint2double", "float2double"),
    ]
)
"""The functions of CUDA's device library that kernels may call."""


class LibraryFunctions:
    """Functions of CUDA's device library, by their names."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._known: dict[str, Intrinsic] = {}

    def __getattr__(self, name: str) -> Intrinsic:
        if name not in LIBRARY_NAMES:
            raise AttributeError(f"windlass.numba.cuda.libdevice has no '{name}'")
        return self._known.setdefault(name, Intrinsic(f"{self._prefix}.{name}"))


threadIdx, blockIdx = dimensions("threadIdx"), dimensions("blockIdx")  # noqa: N816
blockDim, gridDim = dimensions("blockDim"), dimensions("gridDim")  # noqa: N816
laneid = Intrinsic("laneid")
warpsize = Intrinsic("warpsize")
grid, gridsize = Intrinsic("grid"), Intrinsic("gridsize")
syncthreads = Intrinsic("syncthreads")
syncthreads_count, syncthreads_and, syncthreads_or = map(
    Intrinsic, ("syncthreads_count", "syncthreads_and", "syncthreads_or")
)
syncwarp = Intrinsic("syncwarp")
threadfence, threadfence_block, threadfence_system = map(
    Intrinsic, ("threadfence", "threadfence_block", "threadfence_system")
)
nanosleep = Intrinsic("nanosleep")
shared = Intrinsic("shared", array=Intrinsic("shared.array"))
local = Intrinsic("local", array=Intrinsic("local.array"))
const = Intrinsic("const", array_like=Intrinsic("const.array_like"))
_ATOMICS = "add sub and_ or_ xor inc dec exch max min nanmax nanmin compare_and_swap cas"
atomic = Intrinsic("atomic", **{name: Intrinsic(f"atomic.{name}") for name in _ATOMICS.split()})
shfl_sync, shfl_up_sync, shfl_down_sync, shfl_xor_sync = map(
    Intrinsic, ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync")
)
all_sync, any_sync, eq_sync, ballot_sync = map(Intrinsic, ("all_sync", "any_sync", "eq_sync", "ballot_sync"))
match_any_sync, match_all_sync = Intrinsic("match_any_sync"), Intrinsic("match_all_sync")
activemask, lanemask_lt = Intrinsic("activemask"), Intrinsic("lanemask_lt")
popc, brev, clz, ffs = Intrinsic("popc"), Intrinsic("brev"), Intrinsic("clz"), Intrinsic("ffs")
selp, fma, cbrt = Intrinsic("selp"), Intrinsic("fma"), Intrinsic("cbrt")
libdevice = LibraryFunctions("libdevice")
grid_group = Intrinsic("this_grid()", sync=Intrinsic("this_grid().sync"))
this_grid = Intrinsic("cg.this_grid")
xoroshiro128p_next = Intrinsic("xoroshiro128p_next")
xoroshiro128p_uniform_float32 = Intrinsic("xoroshiro128p_uniform_float32")
xoroshiro128p_uniform_float64 = Intrinsic("xoroshiro128p_uniform_float64")
xoroshiro128p_normal_float32 = Intrinsic("xoroshiro128p_normal_float32")
xoroshiro128p_normal_float64 = Intrinsic("xoroshiro128p_normal_float64")
