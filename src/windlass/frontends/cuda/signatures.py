"""Kernel signatures and device variables, read from a module's LLVM IR and its debug metadata."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from windlass.diagnostics import Position
from windlass.frontends.cuda.limits import check_parameters, check_shared
from windlass.frontends.cuda.source import Source, position_of
from windlass.frontends.cuda.types import MOST_POINTERS, TypeReader
from windlass.ir.signature import DeviceVariable, KernelSignature, Parameter, PointerMember
from windlass.llvm.metadata import Metadata, MetadataNode
from windlass.llvm.reach import bodies_of, names_reached_from

TEXTURE_TYPES = frozenset({"cudaTextureObject_t", "CUtexObject"})
SURFACE_TYPES = frozenset({"cudaSurfaceObject_t", "CUsurfObject"})
_KERNEL = re.compile(
    r'^define (?=[^@\n]*\bptx_kernel\b)[^@\n]*@(?:"([^"]*)"|([-\w$.]+))\((.*)\)([^)\n]*?)!dbg !(\d+) \{$',
    re.MULTILINE,
)
_VARIABLE = re.compile(
    r'^@(?:"([^"]*)"|([-\w$.]+)) = (?!external)[^\n]*\baddrspace\((1|4)\)[^\n]*'
    r"\b(?:global|constant)\b[^\n]*!dbg !(\d+)$",
    re.MULTILINE,
)
_SHARED = re.compile(
    r'^@(?:"([^"]*)"|([-\w$.]+)) = (?!external)[^\n]*\baddrspace\((3)\) global [^\n]*!dbg !(\d+)$', re.MULTILINE
)
_ATTRIBUTES = re.compile(r"^attributes #(\d+) = \{([^\n]*)\}$", re.MULTILINE)


_SPACES: dict[str, Literal["global", "shared", "constant"]] = {"1": "global", "3": "shared", "4": "constant"}


@dataclass(frozen=True)
class SignatureReader:
    """Reads what a module holds; `source` gives columns for positions in the user's own file."""

    llvm_ir: str
    source: Source

    def read(self) -> tuple[tuple[KernelSignature, ...], tuple[DeviceVariable, ...]]:
        """All kernels and device variables, in the order of the source text.

        Raises CompilationError (WL0210, WL0212) where they take more of a memory than a device has.
        """
        types = TypeReader(Metadata(self.llvm_ir))
        attributes = {match[1]: match[2] for match in _ATTRIBUTES.finditer(self.llvm_ir)}
        kernels: list[KernelSignature] = []
        for match in _KERNEL.finditer(self.llvm_ir):
            program = types.metadata.node(int(match[5]))
            if program is not None:
                tail = " ".join(attributes.get(number, "") for number in re.findall(r"#(\d+)", match[4]))
                kernels.append(self._kernel(types, program, match[1] or match[2], match[3], tail))
        variables: list[DeviceVariable] = []
        for match in _VARIABLE.finditer(self.llvm_ir):
            found = self._variable(types, match[1] or match[2], match[3], int(match[4]))
            if found is not None:
                variables.append(found)
        kernels = self._check_limits(types, kernels, variables)
        return tuple(sorted(kernels, key=_source_order)), tuple(sorted(variables, key=_source_order))

    def _check_limits(
        self, types: TypeReader, kernels: list[KernelSignature], variables: list[DeviceVariable]
    ) -> list[KernelSignature]:
        """The kernels with what their shared variables take.

        Raises CompilationError where more is declared than a device has.
        """
        for kernel in kernels:
            check_parameters(kernel)
        shared: dict[str, DeviceVariable] = {}
        for match in _SHARED.finditer(self.llvm_ir):
            found = self._variable(types, match[1] or match[2], match[3], int(match[4]))
            if found is not None and found.size:
                shared[found.mangled] = found
        if not shared:
            return kernels
        bodies = bodies_of(self.llvm_ir)
        sized: list[KernelSignature] = []
        for kernel in kernels:
            reached = names_reached_from(bodies, kernel.mangled)
            own = [variable for name, variable in shared.items() if name in reached]
            check_shared(kernel, own)
            sized.append(replace(kernel, shared_bytes=sum(variable.size for variable in own)))
        return sized

    def _kernel(
        self, types: TypeReader, program: MetadataNode, mangled: str, ir_parameters: str, attributes: str
    ) -> KernelSignature:
        metadata = types.metadata
        names: dict[int, str] = {}
        for local in metadata.members(metadata.follow(program, "retainedNodes")):
            if local is not None and local.integer("arg"):
                names[local.integer("arg")] = local.text("name")
        subroutine = metadata.follow(program, "type")
        declared = metadata.members(metadata.follow(subroutine, "types"))[1:] if subroutine is not None else []
        alignments = _record_alignments(ir_parameters)
        parameters: list[Parameter] = []
        for index, node in enumerate(declared, 1):
            name = names.get(index) or f"argument{index}"
            parameters.append(_parameter(types, node, name, alignments.get(name)))
        bounds = re.search(r'"nvvm\.maxntid"="([\d,]+)"', attributes)
        max_threads = None
        if bounds is not None:
            max_threads = 1
            for extent in bounds[1].split(","):
                max_threads *= int(extent)
        return KernelSignature(
            name=types.qualified_name(program),
            mangled=mangled,
            parameters=tuple(parameters),
            position=self._position(types, program),
            max_threads=max_threads,
        )

    def _variable(self, types: TypeReader, mangled: str, address_space: str, number: int) -> DeviceVariable | None:
        metadata = types.metadata
        expression = metadata.node(number)
        variable = metadata.follow(expression, "var") if expression is not None else None
        if variable is None or not variable.text("name"):
            return None
        declared = metadata.follow(variable, "type")
        element, shape = types.array(declared)
        type_name = types.name(element)
        if element is not None and type_name.startswith(("texture<", "surface<")):
            # The device has 64 bits in its place: the object that it is bound to.
            return DeviceVariable(
                name=types.qualified_name(variable),
                mangled=mangled,
                dtype=np.dtype(np.uint64),
                shape=(),
                size=8,
                space="texture" if type_name.startswith("texture<") else "surface",
                position=self._position(types, variable),
                type_name=type_name,
            )
        size = types.size(element)
        for extent in shape:
            size *= extent
        return DeviceVariable(
            name=types.qualified_name(variable),
            mangled=mangled,
            dtype=types.dtype(element),
            shape=shape,
            size=size,
            space=_SPACES[address_space],
            position=self._position(types, variable),
        )

    def _position(self, types: TypeReader, node: MetadataNode) -> Position | None:
        file = types.metadata.follow(node, "file")
        line = node.integer("line")
        if file is None or not line:
            return None
        if file.text("filename") == self.source.name:
            return position_of(self.source, line, node.text("name").partition("<")[0])
        return Position(file.text("filename"), line)


def _source_order(entry: KernelSignature | DeviceVariable) -> tuple[str, int, int, str]:
    position = entry.position or Position("")
    return position.file, position.line, position.column, entry.mangled


def _record_alignments(ir_parameters: str) -> dict[str, int]:
    """The alignment of each parameter that is passed as a struct, by name."""
    pattern = r'byval\((?:[^()"]|"[^"]*")*\)(?: align (\d+))?[^,%]*%(?:"([^"]*)"|([-\w$.]+))'
    return {match[2] or match[3]: int(match[1] or 1) for match in re.finditer(pattern, ir_parameters)}


def _parameter(types: TypeReader, node: MetadataNode | None, name: str, record_alignment: int | None) -> Parameter:
    if types.is_pointer(node):
        return _pointer(types, node, name)
    type_name = types.name(node)
    size = types.size(node)
    is_record = types.is_record(node)
    # Textures are known by the name of their type, which may have others.
    objects = [alias for alias in types.aliases(node) if alias in TEXTURE_TYPES or alias in SURFACE_TYPES]
    type_name = objects[0] if objects else type_name
    return Parameter(
        name=name,
        type_name=type_name.removeprefix("const "),
        kind="record" if is_record else "scalar",
        dtype=types.dtype(node),
        size=size,
        alignment=record_alignment or max(1, size),
        is_const=types.is_const(node),
        pointers=_pointers(types, node, name) if is_record else (),
    )


def _pointer(types: TypeReader, node: MetadataNode | None, name: str) -> Parameter:
    element, shape = types.array(types.pointee(node))
    return Parameter(
        name=name,
        type_name=types.name(node),
        kind="pointer",
        dtype=None if types.is_pointer(element) else types.dtype(element),
        size=8,
        alignment=8,
        is_const=types.is_const(element),
        shape=shape,
    )


def _pointers(types: TypeReader, node: MetadataNode | None, name: str) -> tuple[PointerMember, ...]:
    found: list[PointerMember] = []
    for path, offset, pointer in types.pointers(node)[:MOST_POINTERS]:
        way = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
        found.append(PointerMember(path, offset, _pointer(types, pointer, name + way)))
    return tuple(found)
