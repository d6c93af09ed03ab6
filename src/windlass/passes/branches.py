"""Branches: chosen where the condition is known, merged where they do the same, selects where they are small."""

from __future__ import annotations

from collections.abc import Callable

from windlass.facts.numbering import Numbering
from windlass.facts.terms import sources
from windlass.ir import Block, Builder, Op, Region, Result, Value
from windlass.ir.core import Terminator
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Case,
    Compare,
    Constant,
    If,
    Map,
    Multiply,
    Negate,
    Not,
    Return,
    Select,
    make_region,
)
from windlass.ops.control import Branching
from windlass.ops.evaluation import is_pointwise
from windlass.ops.sampling import Draw
from windlass.passes.carries import run_once
from windlass.rewriting.driver import remove_dead_code
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite

__all__ = ["tensor"]

Results = tuple[Value, ...]

p = hole("p")


def choose(condition: Value, yes: Callable[[], Value | Results], no: Callable[[], Value | Results]) -> If:
    """An `if` whose branches are made by functions, for examples.

    >>> x = tensor("f32")
    >>> choose(tensor("i1", name="p"), lambda: x, lambda: Negate(x)).results[0].type
    tensor<f32>
    """
    return If(condition, make_region((), yes), make_region((), no))


def sample_choice(draw: Draw) -> If:
    """Branches that have much in common."""
    shape = draw.shape(0, 1, 1)
    x, y, p = tensor("f32", *shape, name="x"), tensor("f32", *shape, name="y"), tensor("i1", name="p")
    condition: Value = draw.choose((p, Constant.of(draw.boolean(), "i1"), Not(p), Not(p)))
    kinds = [draw.integer(0, 2) for _ in range(4)]

    def branch(side: int) -> Callable[[], Results]:
        def make() -> Results:
            shared = Multiply(x, y)
            own = Add(x, shared) if side or kinds[0] == 0 else Negate(shared)
            inner = Select(condition, x, own) if kinds[2] else own
            return (own, y if kinds[1] or side else x, inner, shared, own)

        return make

    op = choose(condition, branch(0), branch(1))
    if kinds[3]:
        for result in op.results[:2]:
            Negate(result)
    return op


def sample_case(draw: Draw) -> Case:
    """Up to three branches."""
    x = tensor("f32", 3)
    number: Value = draw.choose((tensor("i32", name="i"), Constant.of(draw.integer(-1, 3), "i32")))
    same = draw.boolean()
    makers = [lambda: Negate(x), lambda: Negate(x) if same else Add(x, x), lambda: Multiply(x, x)]
    return Case(number, tuple(make_region((), make) for make in makers[: draw.integer(1, 3)]))


def _sample_branches(draw: Draw) -> Branching:
    return sample_choice(draw) if draw.boolean() else sample_case(draw)


# -- known conditions -------------------------------------------------------------------------------------------------


@rewrite(any_op(If, pred=any_op(Constant, bind="known")), sample=sample_choice)
def if_of_known_condition(op: If, known: Constant) -> Results | None:
    """if(true, a, b) = a; if(false, a, b) = b

    >>> x = tensor("f32")
    >>> if_of_known_condition(choose(Constant.of(True), lambda: Negate(x), lambda: x))
    (Negate(x),)
    """
    return run_once((op.true_branch if known.number else op.false_branch).block, ())


@rewrite(any_op(Case), sample=sample_case)
def case_of_known_index(op: Case) -> Results | None:
    """case(2, a, b, c) = c; the last branch where the index is out of range, and where there is one branch only

    >>> x = tensor("f32")
    >>> branches = tuple(make_region((), each) for each in (lambda: x, lambda: Negate(x)))
    >>> case_of_known_index(Case(Constant.of(7, "i32"), branches))
    (Negate(x),)
    """
    count = len(op.branches)
    if isinstance(op.index, Constant):
        number = int(op.index.number)
        return run_once(op.branches[number if 0 <= number < count else -1].block, ())
    return run_once(op.branches[0].block, ()) if count == 1 else None


@rewrite(any_op(Case), sample=sample_case)
def case_of_two_branches(op: Case) -> Results | None:
    """case(i, a, b) = if(i = 0, a, b)

    >>> x = tensor("f32")
    >>> branches = tuple(make_region((), each) for each in (lambda: x, lambda: Negate(x)))
    >>> case_of_two_branches(Case(tensor("i32", name="i"), branches))[0].owner.pred
    Compare(i, Constant(0), direction='EQ')
    """
    if len(op.branches) != 2 or isinstance(op.index, Constant):
        return None
    first, second = (branch.clone({}) for branch in op.branches)
    return If(Compare(op.index, Constant.of(0, "i32"), "EQ"), first, second).results


@rewrite(any_op(If, pred=Not(p)), sample=sample_choice)
def if_of_not(op: If, p: Value) -> Results | None:
    """if(not p, a, b) = if(p, b, a)

    >>> x, p = tensor("f32"), tensor("i1", name="p")
    >>> if_of_not(choose(Not(p), lambda: x, lambda: Negate(x)))[0].owner.pred
    p
    """
    inside = {value for region in op.regions for each in region.block for value in sources(each)}
    if op.pred in inside:
        return None
    return If(p, op.false_branch.clone({}), op.true_branch.clone({})).results


@rewrite(any_op(If), sample=sample_choice)
def condition_within_its_branch(op: If) -> Results | None:
    """if(p, f(p), g(p)) = if(p, f(true), g(false))

    >>> x, p = tensor("f32"), tensor("i1", name="p")
    >>> loop = condition_within_its_branch(choose(p, lambda: Select(p, x, Negate(x)), lambda: x))[0].owner
    >>> [repr(each) for each in loop.true_branch.block][-1]
    'Return((Select(Constant(True), x, Negate(x)),))'
    """
    if isinstance(op.pred, Constant):
        return None
    sides = (op.true_branch, op.false_branch)
    if not any(op.pred in sources(inner) for side in sides for inner in side.block):
        return None
    made: list[Region] = []
    for side, known in zip(sides, (True, False), strict=True):
        new = Block()
        with Builder(new):
            Return(_run_with(side.block, {op.pred: Constant.of(known)}))
        made.append(Region(new))
    return If(op.pred, *made).results


def _run_with(block: Block, mapping: dict[Value, Value]) -> Results:
    for op in block:
        if op is not block.last and op.results[0] not in mapping:
            op.clone(mapping)
    return tuple(mapping.get(value, value) for value in block.terminator.operands)


# -- results ----------------------------------------------------------------------------------------------------------


@rewrite(any_op(Branching), sample=_sample_branches)
def branches_that_agree(op: Branching) -> Results | None:
    """if(p, (f(x), a), (f(x), b)) = (f(x), if(p, a, b)): what all branches give the same is made once, before

    >>> x, p = tensor("f32"), tensor("i1", name="p")
    >>> branches_that_agree(choose(p, lambda: Negate(x), lambda: Negate(x)))
    (Negate(x),)
    """
    if len(op.regions) < 2 or not op.is_pure:
        return None
    given = [region.block.terminator.operands for region in op.regions]
    columns = _numbered_results(op)
    agreed = [place for place, column in enumerate(columns) if len(set(column)) == 1]
    if not agreed:
        return None
    mapping: dict[Value, Value] = {}
    results: dict[int, Value] = {}
    for place in agreed:
        results[place] = _copy_out(given[0][place], op.regions[0].block, mapping)
    kept = [place for place in range(len(columns)) if place not in agreed]
    if kept:
        known = [{row[place]: results[place] for place in agreed} for row in given]
        made = _with_results(op, kept, known)
        results.update(zip(kept, made.results, strict=True))
    return tuple(results[place] for place in range(len(columns)))


def _numbered_results(op: Branching) -> list[tuple[int, ...]]:
    """For each result the numbers of what the branches give for it."""
    numbering = Numbering()
    rows: list[list[int]] = []
    for region in op.regions:
        numbering.enter(region.block)
        rows.append([numbering.number(value) for value in region.block.terminator.operands])
    return list(zip(*rows, strict=True))


def _copy_out(value: Value, block: Block, mapping: dict[Value, Value]) -> Value:
    """The value of the block, what it is made of copied to where the active builder is."""
    wanted: set[Op] = set()
    pending = [value]
    while pending:
        owner = pending.pop()
        owner = getattr(owner, "owner", owner)
        if isinstance(owner, Op) and owner.block is block and owner not in wanted:
            wanted.add(owner)
            pending += sources(owner)
    for op in block:
        if op in wanted and op.results[0] not in mapping:
            op.clone(mapping)
    return mapping.get(value, value)


def _with_results(op: Branching, kept: list[int], known: list[dict[Value, Value]] | None = None) -> Branching:
    """The op giving only these results; `known` are, for each branch, values that are had from outside."""
    regions: list[Region] = []
    for region, outside in zip(op.regions, known or [{} for _ in op.regions], strict=True):
        new = Block()
        with Builder(new):
            given = _run_with(region.block, dict(outside))
            Return(tuple(given[place] for place in kept))
        remove_dead_code(new)
        regions.append(Region(new))
    if isinstance(op, If):
        return If(op.pred, *regions)
    assert isinstance(op, Case)
    return Case(op.index, tuple(regions))


@rewrite(any_op(Branching), sample=_sample_branches)
def branch_results_that_are_equal(op: Branching) -> Results | None:
    """if(p, (a, a), (b, b)) = (r, r) with r = if(p, a, b)

    >>> x, p = tensor("f32"), tensor("i1", name="p")
    >>> results = branch_results_that_are_equal(choose(p, lambda: (x, x), lambda: (Negate(x), Negate(x))))
    >>> results[0] is results[1]
    True
    """
    if not op.is_pure:
        return None
    columns = _numbered_results(op)
    first: dict[tuple[int, ...], int] = {}
    for place, column in enumerate(columns):
        first.setdefault(column, place)
    if len(first) == len(columns):
        return None
    made = dict(zip(first, _with_results(op, list(first.values())).results, strict=True))
    return tuple(made[column] for column in columns)


@rewrite(any_op(Branching), sample=_sample_branches)
def branch_results_without_use(op: Branching) -> Results | None:
    """if(p, (a, b), (c, d)) = (if(p, a, c), _), if nothing uses the second result

    >>> x, p = tensor("f32"), tensor("i1", name="p")
    >>> op = choose(p, lambda: (x, Negate(x)), lambda: (Negate(x), x))
    >>> user = Negate(op.results[0])
    >>> len(branch_results_without_use(op)[0].owner.results)
    1
    """
    kept = [place for place, result in enumerate(op.results) if result.uses]
    if not kept or len(kept) == len(op.results):
        return None
    made = _with_results(op, kept)
    found = dict(zip(kept, made.results, strict=True))
    # Nobody looks at the others: any value of the type will do.
    return tuple(
        found[place] if place in found else Constant.of(0, result.dtype, result.shape)
        for place, result in enumerate(op.results)
    )


@rewrite(any_op(If), sample=sample_choice)
def branch_results_from_outside(op: If) -> Results | None:
    """if(p, (x, a), (y, b)) = (select(p, x, y), if(p, a, b)), if x and y are small and made before

    XLA copies what branches give, where it fuses selects.

    >>> x, y, p = tensor("f32"), tensor("f32", name="y"), tensor("i1", name="p")
    >>> branch_results_from_outside(choose(p, lambda: (x, Negate(x)), lambda: (y, Negate(y))))[0]
    Select(p, x, y)
    """
    if isinstance(op.pred, Constant) or not op.is_pure:
        return None
    yes, no = (region.block for region in op.regions)
    selected: dict[int, tuple[Value, Value]] = {}
    for place, (x, y) in enumerate(zip(yes.terminator.operands, no.terminator.operands, strict=True)):
        if x.tensor.size <= LARGEST_SELECTED and _is_from_outside(x, yes) and _is_from_outside(y, no):
            selected[place] = x, y
    kept = [place for place in range(len(op.results)) if place not in selected]
    if not selected or not kept:
        return None
    with_constants: dict[Value, Value] = {}
    made = dict(zip(kept, _with_results(op, kept).results, strict=True))
    for place, (x, y) in selected.items():
        made[place] = Select(op.pred, _copy_out(x, yes, with_constants), _copy_out(y, no, with_constants))
    return tuple(made[place] for place in range(len(op.results)))


def _is_from_outside(value: Value, block: Block) -> bool:
    op = value.owner if isinstance(value, Result) else value
    return isinstance(op, Constant) or not isinstance(op, Op) or op.block is not block


LARGEST_SELECTED = 4096
"""Elements of what a select gives in place of branches."""
MOST_SELECTED = 12
"""Ops of both branches that are done for a select."""


@rewrite(any_op(If), sample=sample_choice, by_cost=True)
def small_branches(op: If) -> Results | None:
    """if(p, a, b) = select(p, a, b), if both are small and have no effect

    >>> x, p = tensor("f32"), tensor("i1", name="p")
    >>> small_branches(choose(p, lambda: x, lambda: Negate(x)))
    (Select(p, x, Negate(x)),)
    """
    inner = [each for region in op.regions for each in region.block if not isinstance(each, Terminator)]
    if not op.is_pure or isinstance(op.pred, Constant) or sum(not each.is_free for each in inner) > MOST_SELECTED:
        return None
    if any(each.regions or not (each.is_elementwise or each.is_free or each.picks_elements) for each in inner):
        return None
    left, right = run_once(op.true_branch.block, ()), run_once(op.false_branch.block, ())
    return tuple(Select(op.pred, a, b) for a, b in zip(left, right, strict=True))


# -- maps -------------------------------------------------------------------------------------------------------------


def sample_map(draw: Draw) -> Map:
    """A map with a constant and a value from outside in it."""
    x, y, c = tensor("f32", 3, name="x"), tensor("f32", 3, name="y"), tensor("f32", name="c")
    kind = draw.integer(0, 2)

    def body(left: Value, right: Value) -> Value:
        return (left, c, Multiply(Add(left, Constant.of(2, "f32")), Multiply(right, c)))[kind]

    scalar = tensor("f32").type
    return Map((x, y), (0,), make_region([scalar, scalar], body))


@rewrite(any_op(Map), sample=sample_map)
def map_of_elementwise_ops(op: Map) -> Value | None:
    """map(f, x, y) = f(x, y), if f is made of ops that work on each element by itself

    >>> region = make_region([tensor("f32").type], lambda x: Add(x, x))
    >>> map_of_elementwise_ops(Map((tensor("f32", 3),), (0,), region))
    Add(x, x)
    """
    block, shape = op.computation.block, op.shape
    if not is_pointwise(op.computation):
        return None
    lifted: dict[Value, Value] = dict(zip(block.arguments, op.inputs, strict=True))

    def lift(value: Value) -> Value:
        if value not in lifted:
            lifted[value] = BroadcastInDim(value, shape, ())
        return lifted[value]

    for each in block:
        if isinstance(each, Terminator):
            break
        if isinstance(each, Constant):
            lifted[each] = Constant.of(each.value.array, each.dtype, shape)
        elif each.is_elementwise:
            lifted[each] = each.with_operands(tuple(lift(operand) for operand in each.operands))
        else:
            return None
    return lift(block.terminator.operands[0])
