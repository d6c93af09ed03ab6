"""Equalities of matrix products and convolutions: what greedy rewriting can't decide on.

Which side of them is better depends on what else is computed. All change the order in which floats are added, or leave
that to the library that multiplies. What `distributed_products` multiplies out may cancel: its terms are rounded apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from windlass.facts.ranges import is_finite
from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import Add, Concatenate, Constant, Convert, Convolution, DotGeneral, Pad
from windlass.ops.contraction import matmul
from windlass.ops.movement import slice_along
from windlass.ops.sampling import Draw
from windlass.rewriting.equalities import Known, Pairs, equality
from windlass.rules.convolutions import convolve
from windlass.rules.letters import Product, Term, is_plain, read
from windlass.rules.parts_of_convolutions import has_groups

MOST_JOINED = 16
"""Products of one operand that are joined."""
MOST_ALIKE = 4
"""Ops that give one value which are looked at."""


def _are_alike(op: DotGeneral, other: DotGeneral) -> bool:
    """Whether both multiply in the same precision, numbers of the type of their results."""
    kinds = [(each.precision_config, each.algorithm, each.dtype) for each in (op, other)]
    return is_plain(op) and is_plain(other) and kinds[0] == kinds[1]


# -- chains -----------------------------------------------------------------------------------------------------------


def _sample_chain(draw: Draw) -> tuple[Value, ...]:
    a, b, c, d = (draw.integer(1, 4) for _ in range(4))
    x, y, z = (tensor("f32", *shape, name=name) for shape, name in (((a, b), "x"), ((b, c), "y"), ((c, d), "z")))
    return (matmul(matmul(x, y), z),) if draw.boolean() else (matmul(x, matmul(y, z)),)


@equality(sample=_sample_chain, reassociates=True)
def associated_products(graph: Known) -> Pairs:
    """dot(dot(x, y), z) = dot(x, dot(y, z)), whatever axes are summed and batched"""
    for op in graph.ops_of(DotGeneral):
        product = read(op)
        for term, other in ((product.left, product.right), (product.right, product.left)):
            for inner in graph.ops_like(term.value, DotGeneral)[:MOST_ALIKE]:
                if _are_alike(op, inner) and graph.is_new("associated", op, term is product.left, inner):
                    for made in _turned_chains(product, term, other, inner):
                        yield op, made


def _turned_chains(product: Product, term: Term, other: Term, inner: DotGeneral) -> Iterator[Value]:
    """The product of three with the middle one first multiplied by the other."""
    inside = read(inner, max(product.sizes(), default=0) + 1)
    renamed = dict(zip(inside.result, term.letters, strict=True))
    first, second = (
        Term(each.value, tuple(renamed.get(letter, letter) for letter in each.letters))
        for each in (inside.left, inside.right)
    )
    for near, far in ((first, second), (second, first)):
        shared = [letter for letter in near.letters if letter in other.letters]
        if not any(letter in product.summed for letter in shared):
            continue
        # Summed now is what neither the far one nor the result has. Factors keep their order, so that equal ones meet.
        is_first = term is product.left
        pair, asked = (near, other) if is_first else (other, near), {*far.letters, *product.result}
        kept = tuple(dict.fromkeys(letter for each in pair for letter in each.letters if letter in asked))
        middle = product.rebuild(*pair, kept)
        if middle is None:
            continue
        made = product.rebuild(*((far, Term(middle, kept)) if is_first else (Term(middle, kept), far)))
        if made is not None:
            yield made


# -- sums -------------------------------------------------------------------------------------------------------------


def _sample_product_of_sum(draw: Draw) -> tuple[Value, ...]:
    a, b, c = (draw.integer(1, 4) for _ in range(3))
    total = Add(tensor("f32", a, b), tensor("f32", a, b, name="y"))
    return (matmul(total, tensor("f32", b, c, name="z")),)


@equality(sample=_sample_product_of_sum, reassociates=True)
def distributed_products(graph: Known) -> Pairs:
    """dot(x + y, z) = dot(x, z) + dot(y, z), and so for sums on the other side"""
    for op in graph.ops_of(DotGeneral):
        if not is_plain(op):
            continue
        for place, operand in enumerate(op.operands):
            for total in graph.ops_like(operand, Add)[:MOST_ALIKE]:
                if graph.is_new("distributed", op, place, total):
                    sides = [(each, op.rhs) if place == 0 else (op.lhs, each) for each in total.operands]
                    yield op, Add(*map(op.with_operands, sides))


def _sample_sum(draw: Draw) -> tuple[Value, ...]:
    dtype = draw.choose(("f32", "i32"))
    x, y, z = (tensor(dtype, 3, name=name) for name in "xyz")
    return (Add(Add(x, y), z),) if draw.boolean() else (Add(x, Add(y, z)),)


@equality(sample=_sample_sum, reassociates=True)
def regrouped_sums(graph: Known) -> Pairs:
    """(x + y) + z = x + (y + z) = y + (x + z)"""
    for op in graph.ops_of(Add):
        for place, operand in enumerate(op.operands):
            for inner in graph.ops_like(operand, Add)[:MOST_ALIKE]:
                (x, y), z = inner.operands, op.operands[1 - place]
                if graph.is_new("regrouped", op, place, inner):
                    yield op, Add(x, Add(y, z))
                    yield op, Add(y, Add(x, z))


# -- joints -----------------------------------------------------------------------------------------------------------


def _sample_products_of_one(draw: Draw) -> tuple[Value, ...]:
    a, b = draw.integer(1, 4), draw.integer(1, 4)
    x = tensor("f32", a, b)
    others = [tensor("f32", b, draw.integer(1, 3), name=name) for name in "yz"]
    if draw.boolean():
        return tuple(matmul(x, other) for other in others)
    return tuple(DotGeneral(other, x, (), (), (0,), (1,)) for other in others)


@equality(sample=_sample_products_of_one, reassociates=True)
def products_of_one_operand(graph: Known) -> Pairs:
    """dot(x, y), dot(x, z) = parts of dot(x, concatenate(y, z)), and so for products of the other operand"""
    for place in (0, 1):
        groups: dict[tuple[object, ...], dict[int, DotGeneral]] = defaultdict(dict)
        for op in graph.ops_of(DotGeneral):
            free = (op.rhs_free_dimensions, op.lhs_free_dimensions)[place]
            other = op.operands[1 - place]
            is_joint = any(graph.ops_like(each, Concatenate) for each in op.operands)
            if op.lhs_batching_dimensions or len(free) != 1 or is_joint:
                continue
            axes = op.lhs_contracting_dimensions, op.rhs_contracting_dimensions
            kind = op.precision_config, op.algorithm, op.dtype, other.dtype
            groups[graph.number(op.operands[place]), axes, kind, free[0]].setdefault(graph.number(other), op)
        for (*key, axis), group in groups.items():
            assert isinstance(axis, int)
            ops = list(group.values())
            # Once, of the products that there are: joints of all that becomes known would make all others slow.
            if 2 <= len(ops) <= MOST_JOINED and graph.is_new("joined", place, *key, axis):
                whole = Concatenate(tuple(op.operands[1 - place] for op in ops), axis)
                joint = ops[0].with_operands((ops[0].lhs, whole) if place == 0 else (whole, ops[0].rhs))
                at = joint.tensor.rank - 1 if place == 0 else 0
                yield from _parts(ops, joint, at)


def _parts(ops: Sequence[Op], joint: Value, axis: int) -> Pairs:
    start = 0
    for op in ops:
        size = op.shape[axis]
        yield op, slice_along(joint, axis, start, start + size)
        start += size


def _sample_convolutions(draw: Draw) -> tuple[Value, ...]:
    x = Convert(tensor("i8", 1, 2, 4, 5), "f32")
    return tuple(_convolution(x, draw.choose((1, 3)), draw.integer(1, 3), name) for name in "kl")


def _convolution(x: Value, size: int, features: int, name: str) -> Convolution:
    kernel = tensor(x.dtype, features, x.shape[1], size, size, name=name)
    return convolve(x, kernel, padding=((size // 2, size // 2),) * 2)


@equality(sample=_sample_convolutions, reassociates=True)
def convolutions_of_one_input(graph: Known) -> Pairs:
    """convolution(x, k), convolution(x, l) = parts of convolution(x, concatenate(k, l))

    Smaller kernels are padded with zeros, which an infinity in x must not meet.
    """
    groups: dict[tuple[object, ...], dict[int, Convolution]] = defaultdict(dict)
    for op in graph.ops_of(Convolution):
        if has_groups(op) or graph.ops_like(op.rhs, Concatenate):
            continue
        fields = [value for name, value in op.attributes.items() if name != "padding"]
        groups[graph.number(op.lhs), op.rhs.dtype, *fields].setdefault(graph.number(op.rhs), op)
    for key, group in groups.items():
        ops = list(group.values())
        if not 2 <= len(ops) <= MOST_JOINED or not graph.is_new("convolved", *key):
            continue
        largest = max(ops, key=lambda op: op.rhs.tensor.size / op.tensor.shape[op.output_feature_dimension])
        kernels = [kernel for op in ops if (kernel := _as_large(op, largest)) is not None]
        if len(kernels) == len(ops):
            whole = Concatenate(tuple(kernels), largest.kernel_output_feature_dimension)
            yield from _parts(ops, largest.with_operands((largest.lhs, whole)), largest.output_feature_dimension)


def _as_large(op: Convolution, largest: Convolution) -> Value | None:
    """The kernel with zeros around it, so that with the padding of the largest one it does what it did."""
    axes = op.kernel_spatial_dimensions
    more = [(one[0] - two[0], one[1] - two[1]) for one, two in zip(largest.padding, op.padding, strict=True)]
    sizes = [op.rhs.shape[axis] + low + high for axis, (low, high) in zip(axes, more, strict=True)]
    if any(min(each) < 0 for each in more) or sizes != [largest.rhs.shape[axis] for axis in axes]:
        return None
    if not any(map(any, more)):
        return op.rhs
    if any(op.window_reversal) or any(each != 1 for each in op.rhs_dilation) or not is_finite(op.lhs):
        return None
    low, high = [0] * op.rhs.tensor.rank, [0] * op.rhs.tensor.rank
    for axis, each in zip(axes, more, strict=True):
        low[axis], high[axis] = each
    return Pad(op.rhs, Constant.of(0, op.rhs.dtype), tuple(low), tuple(high), (0,) * len(low))
