"""What a term costs on a device: bytes moved, operations done, kernels launched, with fusion taken into account.

XLA computes neighbouring ops in one loop (a kernel) where it can. So ops are gathered into kernels first: from each
value that has to be written out, upwards through all ops that fuse. A kernel reads what it has from outside once,
writes its result once, and takes the longer of the time for its bytes and the time for its operations (the roofline
model: Williams, Waterman, Patterson, 2009).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from windlass.facts.terms import op_of
from windlass.ir import Argument, Block, Op, Region, TensorType, Value
from windlass.ir.captures import captures
from windlass.ops import (
    Concatenate,
    Constant,
    Convolution,
    DotGeneral,
    DynamicSlice,
    DynamicUpdateSlice,
    Pad,
    Reduce,
    ReduceWindow,
    Sort,
)
from windlass.ops.base import TensorOp
from windlass.ops.control import Branching, While


@dataclass(frozen=True)
class Convolving:
    """What convolutions take beyond the bytes and operations of a matrix product, in seconds."""

    window: float = 0.0
    """For each window, of each group of features..."""
    gathering: float = 0.0
    """... and for each element that is gathered into one."""
    irregular: float = 0.0
    """For each product (a multiplication and an addition) where windows aren't gathered: see `is_regular`."""
    product: float = 0.0
    """For each product where they are: what it takes longer than in a product of matrices that are ready."""


@dataclass(frozen=True)
class Device:
    """What a kind of device can do. Rates are per second, times in seconds; `contraction` is for matrix products and
    convolutions."""

    name: str
    arithmetic: float
    """Elementwise operations."""
    contraction: dict[str, float] = field(default_factory=dict[str, float], hash=False)
    """By element type; `other` for those that aren't named."""
    bandwidth: float = 1e10
    """Bytes between memory and processor."""
    launch: float = 1e-6
    """What a kernel takes beyond its work."""
    launch_in_loop: float = 1e-6
    """The same where a loop of the program calls it."""
    launch_in_short_round: float = 1e-6
    """The same in a loop of which each round moves no more than SHORT_ROUND bytes."""
    cache: int = 0
    """What a kernel moves in all is in the cache if it is no more than so many bytes..."""
    cache_bandwidth: float = 1e10
    """... and this is how many bytes it then moves."""
    matrix_unit: int = 1
    """The side of the square of numbers that is multiplied by at once; smaller matrices leave it idle. (On CPUs, what
    the inner loop of a matrix product keeps in registers: a product with 3 × 3 numbers takes as long as with 8 × 8.)"""
    one_by_one: float = 1.0
    """The share of the rate of arithmetic that kernels reach which have no vector code: those that fold what they
    compute, or compute what they pick and join of several arrays."""
    longest_row: float = float("inf")
    """Bytes: rows of floats that are longer are added up (or folded otherwise) one element at a time..."""
    slow_fold: float = 0.0
    """... which takes this long (in seconds) for each, as do reductions of several inputs at once."""
    branch: float = 0.0
    """Operations that it is worth to choose, for an element, whether it lies in the next part of a concatenation."""
    folding: float = 0.0
    """Seconds that folding windows takes for each of their elements beyond the operation."""
    convolving: Convolving = field(default_factory=Convolving, hash=False)
    """What convolutions take beyond their products."""
    comparing: float = 0.0
    """What it takes beyond the work to compare two elements in a sort of anything but one array of integers."""
    slow_window: float = 0.0
    """What each element of a window takes beyond the operation, in wide windows and those along several axes."""

    call: float = 0.0
    """What a call takes that is not inlined, with the loop that it ends."""

    def contraction_rate(self, dtype: str) -> float:
        """Operations per second of a matrix product."""
        return self.contraction.get(dtype, self.contraction.get("other", self.arithmetic))

    def inside_loop(self) -> Device:
        """The device as a program's loop finds it."""
        return replace(self, launch=self.launch_in_loop)

    def at(self, block: Block) -> Device:
        """The device as the ops of a block find it."""
        home: Block | None = block
        while home is not None and home.parent is not None and home.parent.parent is not None:
            if isinstance(home.parent.parent, While):
                return self.inside_loop()
            home = home.parent.parent.block
        return self


CPU = Device(
    "cpu",
    arithmetic=2e10,
    contraction={"f32": 1e11, "f64": 5e10, "other": 1e10},
    bandwidth=1.5e10,
    launch=5e-7,
    launch_in_loop=2e-8,
    launch_in_short_round=7e-10,
    cache=1 << 20,
    cache_bandwidth=5e10,
    matrix_unit=8,
    longest_row=1 << 16,
    slow_fold=3e-9,
    slow_window=3e-10,
    comparing=8e-9,
    call=4e-6,
    branch=4.0,
    folding=1e-10,
    convolving=Convolving(window=3e-8, gathering=2e-10, irregular=8e-10, product=1.2e-11),
)
"""Two cores of a common x86 server. Windows: 3×3 over 1024² floats takes 15 to 50 ns each; 3 → 16 channels 23 to 40."""

GPU = Device(
    "gpu",
    3e13,
    {"f64": 6e13, "f32": 6e13, "bf16": 8e14, "f16": 8e14, "other": 3e13},
    3.3e12,
    4e-6,
    4e-6,
    4e-6,
    matrix_unit=16,
)
"""NVIDIA's data sheet of the H100 SXM: 67 TFLOP/s of f32, of which a plain operation without multiply-add uses half;
989 TFLOP/s of bf16 and 67 of f64 in matrix units, 3.35 TB/s. A launch takes some microseconds."""

TPU = Device("tpu", 4e12, {"f32": 3e13, "bf16": 2e14, "other": 4e12}, 8e11, 2e-6, 2e-6, 2e-6, matrix_unit=128)
"""Google's data sheet of the TPU v5e: 197 TFLOP/s of bf16, 819 GB/s, matrix units of 128 × 128; f32 takes six passes of
bf16. The rate of plain operations is that of 4 vector units of 8 × 128 lanes at 1 to 1.5 GHz ("How to Scale Your
Model", chapter on TPUs). Nothing here has been measured on one."""

DEVICES = {device.name: device for device in (CPU, GPU, TPU)}


@dataclass(frozen=True)
class Cost:
    """Totals over kernels."""

    seconds: float = 0.0
    bytes: int = 0
    operations: int = 0
    kernels: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.seconds + other.seconds,
            self.bytes + other.bytes,
            self.operations + other.operations,
            self.kernels + other.kernels,
        )


def estimate_cost(values: Iterable[Value], given: Collection[Value], device: Device = CPU) -> Cost:
    """The cost of computing the values from those that are given. Every other value that they need is computed too.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Add, Multiply
    >>> x, y = tensor("f32", 1000, name="x"), tensor("f32", 1000, name="y")
    >>> cost = estimate_cost([Multiply(Add(x, y), y)], [x, y])
    >>> cost.kernels, cost.bytes, cost.operations
    (1, 12000, 2000)
    """
    return _Estimate(given, device).total(values)


DEEPEST = 256
"""How many ops that a rewrite leaves without users are counted in its favour."""


def estimate_saving(
    op: Op, replacement: Value | tuple[Value, ...], placed: Collection[Op], device: Device = CPU
) -> float:
    """The seconds that are saved if the replacement, made of the placed ops, takes the op's place.

    What only the op uses is saved with it.
    """
    news = replacement if isinstance(replacement, tuple) else (replacement,)
    dying = find_dying(op, news, placed)
    before_given = {operand for each in dying for operand in each.operands if op_of(operand) not in dying}
    after_given = {operand for each in placed for operand in each.operands if op_of(operand) not in placed}
    before = estimate_cost(op.results, before_given | {result for each in placed for result in each.results}, device)
    # A result that nothing takes is never computed.
    wanted = [new for old, new in zip(op.results, news, strict=True) if old.uses or op.is_unused]
    after = estimate_cost([new for new in wanted if op_of(new) in placed], after_given, device)
    return before.seconds - after.seconds


def find_dying(op: Op, news: Collection[Value], placed: Collection[Op]) -> set[Op]:
    """The op, and those that nothing else needs once the new values have taken its place.

    Not those that are the same in each round of the loop that the op is in: they are done once, before it.
    """
    dying = {op}
    rounds = _Rounds(op)
    frontier = [op]
    while frontier and len(dying) < DEEPEST:
        for operand in frontier.pop(0).operands:
            inner = op_of(operand)
            if inner is None or inner in dying or inner in placed or any(new in inner.results for new in news):
                continue
            is_alone = inner.is_pure and all(user in dying for result in inner.results for user in result.uses)
            if is_alone and not rounds.have_in_common(inner):
                dying.add(inner)
                frontier.append(inner)
    return dying


class _Rounds:
    """Tells what all rounds of the innermost loop around an op have in common; nothing where there is none."""

    def __init__(self, op: Op) -> None:
        block = op.block
        self.blocks: set[Block | None] = {block}
        while block is not None and block.parent is not None and not isinstance(block.parent.parent, While | None):
            block = block.parent.parent.block
            self.blocks.add(block)
        self.is_loop = block is not None and block.parent is not None and block.parent.parent is not None
        self.known: dict[Value, bool] = {}

    def have_in_common(self, value: Value, depth: int = 32) -> bool:
        """Whether the value is made of nothing that rounds make or carry, by no more than so many ops in a row."""
        if not self.is_loop or not depth:
            return False
        op = op_of(value)
        if op is None or op.block not in self.blocks:
            return not isinstance(value, Argument) or value.block not in self.blocks
        if op not in self.known:
            used = (*op.operands, *(each for region in op.regions for each in captures(region)))
            self.known[op] = op.is_pure and all(self.have_in_common(each, depth - 1) for each in used)
        return self.known[op]


class _Estimate:
    def __init__(self, given: Collection[Value], device: Device) -> None:
        self.given = set(given)
        self.device = device
        self.wanted: list[Op] = []
        self.written: set[Op] = set()
        self.known: dict[Op, bool] = {}

    def total(self, values: Iterable[Value]) -> Cost:
        for value in values:
            self.want(self.skip_free(value))
        total = Cost()
        while self.wanted:
            total += self.kernel(self.wanted.pop())
        return total

    def want(self, value: Value) -> None:
        """See to it that a value is written out by a kernel of its own."""
        op = op_of(value)
        if op is None or value in self.given or op.is_free or op in self.written:
            return
        if not self.is_known(op):
            self.written.add(op)
            self.wanted.append(op)

    def is_known(self, op: Op, depth: int = 64) -> bool:
        """Whether the op gives a number that is known beforehand: scalar arithmetic on constants."""
        if isinstance(op, Constant):
            return True
        if op not in self.known:
            is_scalar = isinstance(op.type, TensorType) and not op.type.shape
            inner = [op_of(operand) for operand in op.operands] if is_scalar and depth else []
            self.known[op] = (
                (op.is_elementwise or op.is_free)
                and bool(inner)
                and all(each is not None and self.is_known(each, depth - 1) for each in inner)
            )
        return self.known[op]

    def kernel(self, root: Op) -> Cost:
        """The cost of the kernel that writes the results of `root`."""
        moved = sum(result.type.bytes for result in root.results if isinstance(result.type, TensorType))
        operations = root.flops()
        read: dict[Value, int] = {}
        in_place: Value | None = None
        if isinstance(root, DynamicUpdateSlice) and isinstance(root.operand, Argument):
            # What is carried is updated where it is.
            moved = root.update.tensor.bytes
            in_place = root.operand
        inside: set[Op] = {root}
        # A product reads its operands from memory; all else is computed as it is needed.
        pending = [] if root.is_contraction else [root]
        copying = Cost()
        if root.is_contraction:
            for place, operand in enumerate(root.operands):
                source = self.skip_free(operand)
                self.read(source, root, read)
                copying += self.copied(root, place, source)
        while pending:
            op = pending.pop()
            for operand in op.operands:
                inner = op_of(operand)
                if op is root and operand is in_place:
                    continue
                if operand in self.given or inner is None or not fuses(inner):
                    self.read(operand, op, read)
                elif inner not in inside:
                    inside.add(inner)
                    operations += inner.flops()
                    if isinstance(inner, Concatenate):
                        operations += round(self.device.branch * (len(inner.inputs) - 1) * inner.tensor.size)
                    pending.append(inner)
        moved += sum(read.values())
        if root.repetitions():
            return self.repeated(root)
        rate, working = self.device.arithmetic, operations
        if root.is_contraction and isinstance(root, TensorOp):
            rate, working = (
                self.device.contraction_rate(_dtype(root)),
                root.operations_in_units(self.device.matrix_unit),
            )
        elif self.device.one_by_one < 1 and goes_one_by_one(root, inside):
            rate *= self.device.one_by_one
        moving = moved / (self.device.cache_bandwidth if moved <= self.device.cache else self.device.bandwidth)
        seconds = self.device.launch + max(moving, working / rate) + self.slowness(root)
        return Cost(seconds, moved, operations, 1) + copying

    def copied(self, root: Op, place: int, source: Value) -> Cost:
        """What it costs to write an operand out for a product: one that repeats, or whose axes are in a bad order."""
        operand = root.operands[place]
        repeats = source.tensor.size < operand.tensor.size and not isinstance(operand, Constant)
        if not repeats and not (isinstance(root, DotGeneral) and has_mixed_axes(root, place)):
            return Cost()
        return self.copy(operand)

    def copy(self, value: Value) -> Cost:
        """What it costs to write a value elsewhere."""
        moved = 2 * value.type.bytes if isinstance(value.type, TensorType) else 0
        rate = self.device.cache_bandwidth if moved <= self.device.cache else self.device.bandwidth
        return Cost(self.device.launch + moved / rate, moved, 0, 1)

    def slowness(self, root: Op) -> float:
        """What a reduction or a convolution takes beyond its work where the device does badly.

        Measured with jaxlib 0.10.2 on x86: sum of 16 rows of 16,384 floats 45 µs, of 16,400 floats 383 µs; the largest
        of 200,000 floats 41 µs, its place 938 µs; the largest in each window of 5 of 20,000 floats 17 µs, of 16 188 µs;
        a sort of 4,001 floats 470 µs, of 4,001 integers 72 µs.
        """
        if isinstance(root, Convolution):
            return seconds_of_windows(root, self.device.convolving)
        if isinstance(root, ReduceWindow):
            if root.is_running:
                return 0.0
            wide = [size for size in root.window_dimensions if size > 1]
            is_slow = len(wide) > 1 or max(wide, default=1) >= WIDE_WINDOW
            taps = root.results[0].tensor.size * math.prod(wide)
            return root.flops() * self.device.folding + (self.device.slow_window * taps if is_slow else 0.0)
        if isinstance(root, Sort):
            first = root.inputs[0].tensor
            is_fast = len(root.inputs) == 1 and first.is_integer
            comparisons = first.size * math.log2(max(first.shape[root.dimension], 1))
            return comparisons * self.device.comparing * (0.15 if is_fast else 1.0)
        if not isinstance(root, Reduce) or not self.device.slow_fold:
            return 0.0
        first = root.inputs[0].tensor
        is_slow = has_long_rows(root, self.device.longest_row)
        if len(root.inputs) > 1 and not folds_apart(root):
            is_slow = is_slow or math.prod(first.shape[axis] for axis in root.dimensions) >= LONG_FOLD
        return self.device.slow_fold * first.size if is_slow else 0.0

    def repeated(self, root: Op) -> Cost:
        """The cost of an op that runs its regions as programs of their own.

        What is carried from round to round stays where it is.
        """
        # Constants are copied before they are carried, and to begin a loop takes longer than a kernel. Each result of
        # branches is written by itself, where selects would fuse (XLA:CPU, in a loop: 4 of 16 floats take 0.12 µs
        # longer, 8 of them 0.27).
        begins = (LOOP_START if isinstance(root, While) else 1 + len(root.results)) * self.device.launch
        copied = sum(value.tensor.bytes for value in root.operands if isinstance(value, Constant) and value.shape)
        moving = copied / (self.device.cache_bandwidth if copied <= self.device.cache else self.device.bandwidth)
        total = Cost(begins + moving, copied, 0, 1)
        times = root.repetitions()
        device = self.device if isinstance(root, Branching) else self.device.inside_loop()
        if sum(value.type.bytes for value in held_in_rounds(root) if isinstance(value.type, TensorType)) > device.cache:
            # Rounds go through what the cache doesn't hold.
            device = replace(device, cache=0)
        for region in root.regions:
            for block in region.blocks:
                given = {*block.arguments, *captures(region)}
                inner = estimate_cost(block.terminator.operands, given, device)
                if isinstance(root, Branching):
                    # What a branch gives as it found it is copied.
                    for value in block.terminator.operands:
                        inner += self.copy(value) if value in given else Cost()
                if inner.bytes <= SHORT_ROUND and not isinstance(root, Branching):
                    less = inner.kernels * (device.launch - device.launch_in_short_round)
                    inner = replace(inner, seconds=inner.seconds - less)
                total += Cost(
                    times * inner.seconds,
                    round(times * inner.bytes),
                    round(times * inner.operations),
                    round(times * inner.kernels),
                )
        return total

    def skip_free(self, value: Value) -> Value:
        """What a value is a reshape or a broadcast of."""
        op = op_of(value)
        while op is not None and op.is_free and op.operands and value not in self.given:
            value = op.operands[0]
            op = op_of(value)
        return value

    def read(self, value: Value, reader: Value, read: dict[Value, int]) -> None:
        """Note that a kernel reads a value: no more of it than the reader has results, if that only picks elements."""
        self.want(value)
        inner = op_of(value)
        if not isinstance(value.type, TensorType) or (inner is not None and inner.is_free and value not in self.given):
            return
        size = value.type.bytes
        if isinstance(reader, Op) and reader.picks_elements and isinstance(reader.type, TensorType):
            size = min(size, reader.type.bytes)
        read[value] = max(read.get(value, 0), size)


def held_in_rounds(op: Op) -> set[Value]:
    """What the op's regions go through in each round as a whole: not what they read and update in parts."""
    held = {value for region in op.regions for value in captures(region) if not is_used_in_parts(value, region)}
    if not isinstance(op, While):
        return held.union(op.operands)
    arguments = zip(op.operands, op.body.block.arguments, strict=True)
    return held.union(operand for operand, argument in arguments if not is_used_in_parts(argument, op.body))


def is_used_in_parts(value: Value, region: Region) -> bool:
    """Whether ops directly within the region read slices of the value or update it, and none takes more of it."""
    inside = [user for user in value.uses if user.block is not None and user.block.parent is region]
    return bool(inside) and all(
        isinstance(user, DynamicSlice | DynamicUpdateSlice) and user.operands[0] is value for user in inside
    )


LOOP_START = 1.5
"""Launches that a loop takes before its first round (XLA:CPU: 2.7 µs for five rounds of an addition in all, 2.3 written
out)."""
SHORT_ROUND = 512
"""Bytes: loops whose rounds move no more become one kernel as a whole."""
WIDE_WINDOW = 12
"""Elements of windows along one axis that are wide."""
LONG_FOLD = 100
"""Elements: reductions of several inputs along fewer are fast."""


def has_mixed_axes(op: DotGeneral, place: int) -> bool:
    """Whether an operand has to be transposed first: its batching axes don't lead, or the others are interleaved.

    >>> from windlass.ir.values import tensor
    >>> queries, keys = tensor("f32", 2, 5, 3, 4), tensor("f32", 2, 3, 5, 4)
    >>> product = DotGeneral(queries, keys, (0, 2), (0, 1), (3,), (3,))
    >>> has_mixed_axes(product, 0), has_mixed_axes(product, 1)
    (True, False)
    """
    batch = (op.lhs_batching_dimensions, op.rhs_batching_dimensions)[place]
    summed = (op.lhs_contracting_dimensions, op.rhs_contracting_dimensions)[place]
    shape = op.operands[place].shape
    long = [axis for axis, size in enumerate(shape) if size != 1]
    kinds = [0 if axis in batch else 1 if axis in summed else 2 for axis in long]
    runs = [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind]
    return len(runs) != len(set(runs)) or 0 in runs[1:]


def has_long_rows(op: Reduce, longest: float) -> bool:
    """Whether the op folds rows of floats with each other that have more than so many bytes."""
    operand = op.inputs[0].tensor
    if not operand.is_float or not op.dimensions:
        return False
    after = operand.shape[max(op.dimensions) + 1 :]
    return operand.size > 0 and math.prod(after) * operand.bytes // operand.size > longest


def folds_apart(op: Reduce) -> bool:
    """Whether inputs of different types are folded, each by one op: XLA:CPU makes one vectorized loop of that."""
    block, count = op.body.block, len(op.inputs)
    pairs = list(zip(block.arguments[:count], block.arguments[count:], strict=True))
    made = block.terminator.operands
    return len({value.dtype for value in op.inputs}) == count and all(
        isinstance(value, Op) and value.operands == pair for value, pair in zip(made, pairs, strict=True)
    )


def goes_one_by_one(root: Op, inside: Collection[Op]) -> bool:
    """Whether a kernel of these ops computes one element after another.

    XLA:CPU adds floats in order, and asks of each element of what is padded or joined where it comes from.
    """
    is_fold = isinstance(root, Reduce) and root.inputs[0].tensor.is_float
    return len(inside) > 1 and (is_fold or any(isinstance(op, Concatenate | Pad) for op in inside))


def fuses(op: Op) -> bool:
    """Whether XLA computes the op inside the loop of what takes its result."""
    if op.is_contraction or op.regions or not op.is_pure or len(op.results) != 1:
        return False
    return op.is_elementwise or op.is_free or not op.flops()


def seconds_of_windows(op: Convolution, convolving: Convolving) -> float:
    """What a convolution takes beyond its products."""
    if not convolving.window:
        return 0.0
    if not is_regular(op):
        return op.flops() / 2 * convolving.irregular
    if op.lhs.dtype == "f64":
        return 0.0
    outputs = max(op.rhs.shape[op.kernel_output_feature_dimension], 1)
    windows = op.tensor.size // outputs * op.feature_group_count
    gathered = windows * (convolving.window + op.rhs.tensor.size // outputs * convolving.gathering)
    return gathered + op.flops() / 2 * convolving.product


def is_regular(op: Convolution) -> bool:
    """Whether XLA:CPU gathers windows and multiplies matrices; else it computes each element by itself, far slower.

    It does the former in the layout NHWC, into which it brings convolutions that are not within a loop or a branch.
    Source: `PotentiallyImplementedAsEigenConvolution` and `ConvCanonicalization` in xla/service/cpu.
    """
    in_entry = op.block is None or op.block.parent is None
    return (
        op.batch_group_count == 1
        and not any(op.window_reversal)
        and op.lhs.dtype in ("f64", "f32", "f16", "bf16")
        and (in_entry or has_features_last(op))
    )


def has_features_last(op: Convolution) -> bool:
    """Whether the layouts are those that XLA:CPU convolves in: NHWC of lhs and result, HWIO of the kernel."""
    rank = op.tensor.rank
    places = tuple(range(1, rank - 1))
    return (
        (op.input_batch_dimension, *op.input_spatial_dimensions) == (0, *places)
        and (op.output_batch_dimension, *op.output_spatial_dimensions) == (0, *places)
        and op.kernel_spatial_dimensions == tuple(range(rank - 2))
        and op.kernel_input_feature_dimension == rank - 2
    )


def _dtype(op: Op) -> str:
    operand = op.operands[0] if op.operands else op
    return operand.type.dtype if isinstance(operand.type, TensorType) else "other"


class Price(NamedTuple):
    """What an op adds to the time of a program, in seconds, of which so much is known without what is around it."""

    inside: float
    """Within a kernel that takes its result, or as a kernel of its own where no kernel can take it up."""
    written: float
    """More than that if the result is written out."""
    needs_written: bool
    """Whether its operands have to be written out: it reads them from memory."""


def price_of(op: Op, device: Device = CPU) -> Price:
    """The price of an op that stands anywhere: what `estimate_cost` says, but added up op by op.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Add
    >>> x = tensor("f32", 1000)
    >>> price = price_of(Add(x, x))
    >>> price.inside < price.written, price.needs_written
    (True, False)
    """
    if op.is_free or not op.operands:
        return Price(0.0, 0.0, False)
    if fuses(op):
        size = 2 * sum(result.type.bytes for result in op.results if isinstance(result.type, TensorType))
        rate = device.cache_bandwidth if size <= device.cache else device.bandwidth
        operations = op.flops()
        if isinstance(op, Concatenate):
            operations += round(device.branch * (len(op.inputs) - 1) * op.tensor.size)
        return Price(operations / device.arithmetic + SMALLEST_PRICE, device.launch + size / rate, False)
    return Price(estimate_cost(op.results, set(op.operands), device).seconds, 0.0, True)


SMALLEST_PRICE = 1e-9
"""Seconds: of programs that cost the same, that of fewer ops is the better one."""
