"""Textures and surfaces on NumPy arrays: what kernels with such parameters and references are given."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.ir.signature import DeviceVariable
from windlass.ir.textures import ADDRESS_MODES, TextureForm, TextureObject

Array: TypeAlias = NDArray[Any]
AddressMode: TypeAlias = Literal["wrap", "clamp", "mirror", "border"]
FilterMode: TypeAlias = Literal["point", "linear"]
ReadMode: TypeAlias = Literal["element", "normalized"]

_DTYPES = frozenset({"i1", "u1", "i2", "u2", "i4", "u4", "f2", "f4"})
_MOST_DIMENSIONS = 3
# What CUDA calls them: C++ spelling of a texture's type to NumPy's kind and size.
_CHANNEL_TYPES = {
    "char": "i1",
    "signed char": "i1",
    "unsigned char": "u1",
    "uchar": "u1",
    "short": "i2",
    "unsigned short": "u2",
    "ushort": "u2",
    "int": "i4",
    "unsigned int": "u4",
    "uint": "u4",
    "float": "f4",
}


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface: made by `windlass.cuda.surface`."""

    array: Array
    form: TextureForm

    def as_object(self) -> TextureObject:
        """The surface as launches take it."""
        return TextureObject(self.form, _flat(self.array, self.form))


@dataclass(frozen=True, eq=False)
class Texture:
    """A texture: made by `windlass.cuda.texture`."""

    array: Array
    form: TextureForm
    read_mode: ReadMode | None

    def as_object(self) -> TextureObject:
        """The texture as launches take it; it sees what the array holds at the launch."""
        return TextureObject(self.form, _flat(self.array, self.form))


def texture(
    array: Array,
    *,
    channels: int = 1,
    layered: bool = False,
    address_mode: AddressMode | Sequence[AddressMode] = "clamp",
    filter_mode: FilterMode = "point",
    normalized_coords: bool = False,
    read_mode: ReadMode | None = None,
    border: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
) -> Texture:
    """A texture over a NumPy array, for a kernel's `cudaTextureObject_t` parameter or a texture reference.

    The array's shape is (width,), (height, width) or (depth, height, width), C-contiguous; with `channels` 2 or 4 one
    more axis of that length comes last, and with `layered` the first axis counts layers. Its element type is an integer
    of 8, 16 or 32 bits, float16 or float32. `tex1Dfetch` and `tex1D` take arrays with one axis.

    `address_mode`, for all axes or for x, y and z, says what lies outside; "wrap" and "mirror" need
    `normalized_coords`, with which coordinates go from 0 to 1. `filter_mode` "linear" interpolates, in CUDA's own
    precision: weights are multiples of 1/256. `read_mode` "normalized" turns integers of 8 and 16 bits into floats from
    0 (or -1) to 1; a reference has its own. `border` is the value outside in mode "border".

    Raises LaunchError (WL0430) where the array or a mode is none of these.

    >>> import windlass as wl
    >>> module = wl.cuda.compile('''
    ... __global__ void halves(float *out, cudaTextureObject_t values) {
    ...     out[threadIdx.x] = tex1D<float>(values, threadIdx.x + 1.0f);
    ... }''')
    >>> out = np.zeros(3, np.float32)
    >>> values = wl.cuda.texture(np.array([1, 2, 4, 8], np.float32), filter_mode="linear")
    >>> module["halves"][1, 3](out, values)
    >>> out.tolist()
    [1.5, 3.0, 6.0]
    """
    _check_choice("filter_mode", filter_mode, ("point", "linear"))
    if read_mode is not None:
        _check_choice("read_mode", read_mode, ("element", "normalized"))
    extents, dtype = _extents(array, channels, layered)
    form = _form(
        extents,
        dtype,
        channels,
        address_modes=_numbers_of(address_mode),
        interpolates=filter_mode == "linear",
        normalizes_values=read_mode == "normalized",
        has_normalized_coordinates=bool(normalized_coords),
        border=_bits_of(border),
    )
    if read_mode is not None or filter_mode == "point":
        # A reference may yet say that integers are read as floats.
        check_floats(form)
    return Texture(array, form, read_mode)


def surface(array: Array, *, channels: int = 1, layered: bool = False) -> Surface:
    """A surface over a NumPy array, for a `cudaSurfaceObject_t` parameter or a surface reference.

    The array is as for `texture`, and writeable: kernels write it in place. x counts bytes in a kernel's calls.

    Raises LaunchError (WL0430) where the array can be no surface.
    """
    extents, dtype = _extents(array, channels, layered)
    if not array.flags.writeable:
        raise _fault("the array of a surface is read-only", "pass array.copy()")
    return Surface(array, _form(extents, dtype, channels))


def check_floats(form: TextureForm) -> None:
    """Raise LaunchError for a filter or border that texels read as integers can't have."""
    gives_floats = form.dtype.kind == "f" or (form.normalizes_values and form.dtype.itemsize < 4)
    if gives_floats:
        return
    if form.interpolates:
        raise _fault(
            f"a linear filter needs texels that are read as floats, not {form.dtype.name}",
            'use float32, or read_mode="normalized" for integers of 8 and 16 bits',
        )
    if any(form.border):
        raise _fault("texels that are read as integers have a border of 0")


def _fault(headline: str, help_: str | None = None) -> LaunchError:
    return LaunchError(Diagnostic("WL0430", headline, help=help_))


def _numbers_of(address_mode: AddressMode | Sequence[AddressMode]) -> tuple[int, int, int]:
    """The address modes for x, y and z by their numbers."""
    modes = (address_mode,) * 3 if isinstance(address_mode, str) else tuple(address_mode)
    modes = (*modes, *("clamp",) * (3 - len(modes)))
    for mode in modes:
        _check_choice("address_mode", mode, ADDRESS_MODES)
    if len(modes) > _MOST_DIMENSIONS:
        raise _fault(f"address_mode has up to three modes, for x, y and z; got {len(modes)}")
    first, second, third = (ADDRESS_MODES.index(each) for each in modes)
    return first, second, third


def _bits_of(border: Sequence[float]) -> tuple[int, ...]:
    """Four floats, as far as they are given, by their bits."""
    colours = np.zeros(4, np.float32)
    given = np.asarray(border, np.float32).reshape(-1)
    if given.size > 4:
        raise _fault(f"border has up to four numbers, got {given.size}")
    colours[: given.size] = given
    return tuple(int(bits) for bits in colours.view(np.uint32))


def _check_choice(name: str, given: object, choices: Sequence[str]) -> None:
    if given not in choices:
        raise _fault(f"{name} is one of {', '.join(map(repr, choices))}; got {given!r}")


def _extents(array: object, channels: int, layered: bool) -> tuple[tuple[int, int, int], np.dtype[Any]]:
    """Width, height and depth (or layers)."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise _fault(f"a texture or surface lies on a NumPy array, got {type(array).__name__}")
    if f"{array.dtype.kind}{array.dtype.itemsize}" not in _DTYPES:
        wide = array.dtype.kind in "iuf" and array.dtype.itemsize == 8
        raise _fault(
            f"there are no textures of {array.dtype}: integers of 8, 16 or 32 bits, float16 and float32",
            "view it as int32 with channels=2, and put the halves together in the kernel" if wide else None,
        )
    if channels not in (1, 2, 4):
        raise _fault(f"a texel has 1, 2 or 4 channels, got {channels!r}")
    shape = tuple(array.shape)
    if channels > 1:
        if not shape or shape[-1] != channels:
            raise _fault(f"with {channels} channels the last axis has that length; the array's shape is {shape}")
        shape = shape[:-1]
    if not 1 <= len(shape) - layered <= _MOST_DIMENSIONS - layered or 0 in shape:
        what = "two or three axes, layers first" if layered else "one to three axes"
        raise _fault(f"the array has {what}, none of them empty; its shape is {array.shape}, with {channels} channels")
    if not array.flags.c_contiguous:
        raise _fault("the array is a view that is not contiguous", "pass array.copy()")
    width, depth = shape[-1], shape[0] if layered or len(shape) == _MOST_DIMENSIONS else 1
    height = shape[-2] if len(shape) - layered >= 2 else 1
    return (width, height, depth), array.dtype


def _form(extents: tuple[int, int, int], dtype: np.dtype[Any], channels: int, **settings: Any) -> TextureForm:
    width, height, depth = extents
    row = width * channels * dtype.itemsize
    return TextureForm(dtype, channels, width, height, depth, row, row * height, **settings)


def _flat(array: Array, form: TextureForm) -> Array:
    return array.view(np.ndarray).reshape(-1).view(form.dtype)


class TextureReferences(MutableMapping[str, "Texture | Surface"]):
    """The texture and surface references of a module by name: `module.textures["image"] = wl.cuda.texture(array)`.

    Setting binds a reference for the launches that follow, deleting unbinds it.
    """

    def __init__(self) -> None:
        self._declared: dict[str, DeviceVariable] = {}
        self._bound: dict[str, Texture | Surface] = {}

    def declare(self, variables: Sequence[DeviceVariable]) -> None:
        """Know the references among these variables."""
        for variable in variables:
            if variable.space in ("texture", "surface"):
                self._declared[variable.name] = variable

    def bound_object(self, mangled: str) -> TextureObject | None:
        """What the reference of that linker name is bound to."""
        name = next((name for name, each in self._declared.items() if each.mangled == mangled), None)
        found = None if name is None else self._bound.get(name)
        return None if found is None else found.as_object()

    @property
    def declared(self) -> tuple[str, ...]:
        """The names of all references, bound or not."""
        return tuple(self._declared)

    def _find(self, name: str) -> DeviceVariable:
        variable = self._declared.get(name)
        if variable is None:
            known = ", ".join(sorted(self._declared)) or "none"
            headline = f"there is no texture or surface reference called '{name}'"
            raise LaunchError(Diagnostic("WL0430", headline, notes=(f"declared: {known}",)))
        return variable

    def __getitem__(self, name: str) -> Texture | Surface:
        self._find(name)
        return self._bound[name]

    def __setitem__(self, name: str, value: Texture | Surface) -> None:
        variable = self._find(name)
        wanted = Texture if variable.space == "texture" else Surface
        if not isinstance(value, wanted):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LaunchError(
                Diagnostic(
                    "WL0430",
                    f"{variable.space} reference '{name}' is bound to a {variable.space}, got {type(value).__name__}",
                    variable.position,
                    help=f"write module.textures['{name}'] = wl.cuda.{variable.space}(array)",
                )
            )
        self._bound[name] = value if isinstance(value, Surface) else _as_declared(variable, value)

    def __delitem__(self, name: str) -> None:
        self._find(name)
        del self._bound[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._bound)

    def __len__(self) -> int:
        return len(self._bound)


def _as_declared(variable: DeviceVariable, given: Texture) -> Texture:
    """The texture as the reference reads it.

    Raises LaunchError where its texels are not those of the declaration.
    """
    match = re.fullmatch(r"texture<(.*), *(\d+), *(\d+)>", variable.type_name)
    form = given.form
    if match is None:
        return given
    read_mode: ReadMode = "normalized" if match[3] == "1" else "element"
    vector = re.fullmatch(r"(u?(?:char|short|int)|float)([124])", match[1])
    name, channels = (vector[1], int(vector[2])) if vector else (match[1], 1)
    dtype = _CHANNEL_TYPES.get(name)
    texels = f"{form.dtype.kind}{form.dtype.itemsize}"
    if dtype is not None and (channels != form.channels or (texels != dtype and (texels, dtype) != ("f2", "f4"))):
        raise LaunchError(
            Diagnostic(
                "WL0430",
                f"texture reference '{variable.name}' has texels of {match[1]}, "
                f"got {form.dtype.name} with {form.channels} channels",
                variable.position,
                help="convert the array with array.astype(...), or give it its channels: channels=4",
            )
        )
    if given.read_mode not in (None, read_mode):
        headline = f"texture reference '{variable.name}' is declared with read mode '{read_mode}'"
        raise LaunchError(Diagnostic("WL0430", headline, variable.position, help="leave read_mode out"))
    read = replace(form, normalizes_values=read_mode == "normalized")
    check_floats(read)
    return Texture(given.array, read, read_mode)
