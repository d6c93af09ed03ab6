"""How much rounding may move what a program gives: the program with its own results moved by a few last places.

Differences of a result that is left over when large numbers cancel show that rounding and nothing else. What a step
must be larger than is found by asking the program itself: each result on the way that is rounded is multiplied by a
number near 1, which is an argument of the whole.
"""

from __future__ import annotations

from windlass.autodiff.activity import is_differentiable
from windlass.ir import Block, Builder, Function, Op, Value, tensor_type
from windlass.ops import BroadcastInDim, Case, Convert, If, Multiply, Reshape, Slice, While

NOISE = 2.0**-51
"""Two units in the last place of double precision: by how much the numbers near 1 differ from it."""


def noisy_function(function: Function) -> tuple[Function, int]:
    """The function with one more argument, and its size: f64 numbers, one for each rounded result to be multiplied by.

    Loops multiply by the same number in each round.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Return, Sine
    >>> block = Block([tensor("f64", 3).type])
    >>> with Builder(block):
    ...     _ = Return((Sine(block.arguments[0]),))
    >>> noisy, count = noisy_function(Function("wave", block))
    >>> count, [argument.type for argument in noisy.arguments]
    (1, [tensor<3xf64>, tensor<1xf64>])
    """
    made = function.clone()
    rounded = [op for op in _ops_of(made.body) if _is_rounded(op)]
    factors = made.body.add_argument(tensor_type((len(rounded),), "f64"))
    made.argument_attributes.append({})
    for place, op in enumerate(rounded):
        assert op.block is not None
        with Builder(op.block, before=op.next, source=op.source):
            factor = Reshape(Slice(factors, (place,), (place + 1,), (1,)), ())
            for result in op.results:
                if is_differentiable(result.type) and result.uses:
                    _multiply(result, factor)
    return made, len(rounded)


def _ops_of(block: Block) -> list[Op]:
    """The ops of a block and of its loops and branches, not of the functions that fold."""
    found: list[Op] = []
    for op in block:
        found.append(op)
        if isinstance(op, While | If | Case):
            found += [inner for region in op.regions for inner in _ops_of(region.block)]
    return found


def _is_rounded(op: Op) -> bool:
    if isinstance(op, While | If | Case) or not any(is_differentiable(result.type) for result in op.results):
        return False
    return op.is_elementwise or op.flops() > 0


def _multiply(result: Value, factor: Value) -> None:
    """Have those who use a result use its product with the factor."""
    users = list(result.uses)
    one = factor if result.tensor.dtype == "f64" else Convert(factor, result.tensor.dtype)
    product = Multiply(result, BroadcastInDim(one, result.shape, ()))
    for user in users:
        user.replace_operand(result, product)
