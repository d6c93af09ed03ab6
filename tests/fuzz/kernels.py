"""A whole random kernel: its text, its arguments, its launch."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tests.fuzz.arrays import Argument, Scalar
from tests.fuzz.trees import Block, Statement, render

Extents = tuple[int, int, int]


@dataclass(frozen=True)
class Kernel:
    """One kernel, launched `launches` times on the same arrays.

    `form` is how: "launch" on NumPy arrays, "jit" inside one compiled function, "traced" the same with numbers that are
    not known when it is compiled.
    """

    seed: int
    preamble: tuple[Statement, ...]
    body: Block
    arguments: tuple[Argument, ...]
    scalars: tuple[Scalar, ...]
    grid: Extents
    block: Extents
    launches: int
    is_soft: bool
    form: str = "launch"
    before: Kernel | None = None
    """A kernel that is launched on the same arrays before each launch of this one."""

    @property
    def sequence(self) -> tuple[Kernel, ...]:
        """The kernels that are launched, in order."""
        return (*self.before.sequence, self) if self.before else (self,)

    @property
    def all_arguments(self) -> tuple[Argument, ...]:
        """The arrays of all kernels of the sequence."""
        return tuple({each.name: each for kernel in self.sequence for each in kernel.arguments}.values())

    def names(self, name: str) -> tuple[str, ...]:
        """What the kernels of the sequence are called where the last one has that name."""
        return tuple(name + "_before" * k for k in reversed(range(len(self.sequence))))

    def whole_text(self, name: str = "kernel") -> str:
        """The sequence as CUDA C++."""
        return "\n".join(kernel.text(each) for kernel, each in zip(self.sequence, self.names(name), strict=True))

    def text(self, name: str = "kernel") -> str:
        """CUDA C++; helpers' names are made the kernel's own, so that many kernels can share a module."""
        parameters = ", ".join(each.declaration() for each in (*self.arguments, *self.scalars))
        text = render((*self.preamble, Statement((f"__global__ void {name}({parameters})", self.body))))
        return re.sub(r"\b((helper|table)\d+)\b", rf"{name}_\1", text)

    @property
    def declares_all(self) -> bool:
        """Whether each name that the author has numbered is declared somewhere."""
        if self.before and not self.before.declares_all:
            return False
        text = self.text()
        declared = set(re.findall(r"[a-z0-9_] \*?\b(?:kernel_)?([a-z]+\d+)(?= = |;|\[|,|\)|\()", text))
        used = set(re.findall(r"(?<![.\w])(?:kernel_)?([a-z]+\d+)\b", text))
        return all(name in declared for name in used if not name.startswith(("float", "int", "make")))

    def trimmed(self) -> Kernel:
        """Without parameters and helpers that nothing uses."""
        preamble = self.preamble
        while True:
            text = render((*preamble, Statement(("", self.body))))
            kept = tuple(each for each in preamble if _uses(text, _helper_name(each)) > 1)
            if len(kept) == len(preamble):
                break
            preamble = kept
        arguments = tuple(each for each in self.arguments if _uses(text, each.name))
        scalars = tuple(each for each in self.scalars if _uses(text, each.name))
        before = self.before.trimmed() if self.before else None
        return replace(self, before=before, preamble=preamble, arguments=arguments, scalars=scalars)

    def describe(self) -> str:
        """The kernel as a person wants to read it: text, launch, arguments."""
        lines = [self.before.describe(), "... and after it"] if self.before else []
        lines += [self.text(), f"grid {self.grid}, block {self.block}, {self.launches} x {self.form}, seed {self.seed}"]
        for each in self.arguments:
            at = f" at offset {each.offset}" if each.offset else ""
            at += f", {each.shares} from {each.start} on" if each.shares else ""
            span = f"{each.low}..{each.high} by {each.grain}"
            lines.append(f"{each.name}: {each.size} x {each.element}{at}, {each.contents} {span}")
        lines += [f"{each.name} = {each.value}" for each in self.scalars]
        return "\n".join(lines)


def _uses(text: str, name: str) -> int:
    return len(re.findall(rf"\b{name}\b", text))


def _helper_name(each: Statement) -> str:
    found = re.search(r"\b((helper|table)\d+)\b", str(each.pieces[0]))
    return found[1] if found else "nothing"
