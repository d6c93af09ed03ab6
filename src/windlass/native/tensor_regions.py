"""Loops over whole arrays as native code: one call, in the place of a loop of XLA's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from windlass.ir import Builder, TensorType, Value
from windlass.native.region_code import bytes_of, compile_region
from windlass.native.region_steps import Steps, steps_of
from windlass.native.tensor_elements import stored_dtype
from windlass.native.xla_call import Slot, XlaCall, enter
from windlass.native.xla_rows import Kind
from windlass.ops.control import While
from windlass.ops.conversion import byte_width
from windlass.ops.creation import Constant


def take_region(loop: While, name: str, *, is_exact: bool) -> None:
    """Replace a loop over arrays by a call of native code, in place.

    Raises NotNative, before anything is changed.
    """
    flops = loop.flops()
    steps = steps_of(loop)
    code = compile_region(steps, re.sub(r"\W+", "_", name), is_exact=is_exact)
    _replace(loop, steps, enter(name, code, slots_of(steps), flops))


def slots_of(steps: Steps) -> list[Slot]:
    """Those of given memories first, with rooms behind them."""
    slots: list[Slot] = []
    results = 0
    for place, type_ in enumerate(steps.types):
        given = steps.given[place] if place < len(steps.given) else None
        kind = Kind.ROOM if given is None else Kind.READ if given.result is None else Kind.WRITTEN
        width = byte_width(stored_dtype(type_.dtype))
        slots.append(Slot(kind, place if given else 0, results, type_.size, bytes_of(type_), width))
        results += kind is not Kind.READ
    return slots


def call_with(steps: Steps, call: XlaCall, inputs: Sequence[Value]) -> dict[int, Value]:
    """Call the code where the active builder is; gives what the memories that it writes hold then."""
    written = [slot for slot, each in enumerate(steps.given) if each.result is not None]
    changing = [*written, *range(len(steps.given), len(steps.types))]
    types: tuple[TensorType, ...] = (
        *(steps.given[slot].value.tensor for slot in written),
        *steps.types[len(steps.given) :],
    )
    done = call.on(tuple(inputs), types, {slot: number for number, slot in enumerate(written)})
    return dict(zip(changing, done.results, strict=True))


def _replace(loop: While, steps: Steps, call: XlaCall) -> None:
    assert loop.block is not None
    with Builder(loop.block, before=loop, source=loop.source):
        done = call_with(steps, call, [_outside(each.value, loop) for each in steps.given])
    for slot, each in enumerate(steps.given):
        if each.result is not None:
            loop.results[each.result].replace_all_uses_with(done[slot])
    for place, result in enumerate(loop.results):
        if result.uses:
            result.replace_all_uses_with(loop.operands[place])
    loop.erase()


def _outside(value: Value, loop: While) -> Value:
    """What the call is given: constants from within the loop are made anew."""
    around = value.parent_op if isinstance(value, Constant) else None
    while around is not None and around is not loop:
        around = around.parent_op
    return value if around is None or not isinstance(value, Constant) else Constant(value.value)
