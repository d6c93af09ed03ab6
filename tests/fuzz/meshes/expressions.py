"""What a line may say: an expression, the names in it, and whether it rounds."""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.fuzz.meshes.author import Author, Kind, Made

MAKERS: list[Callable[[Author], Made]] = []


def maker(weight: int = 1) -> Callable[[Callable[[Author], Made]], Callable[[Author], Made]]:
    """Enter a way to write an expression, so often."""

    def enter(function: Callable[[Author], Made]) -> Callable[[Author], Made]:
        MAKERS.extend([function] * weight)
        return function

    return enter


NAMES = ("constant", "edge", "wrap", "reflect", "symmetric", "minimum", "maximum", "empty")


def is_number(kind: Kind) -> bool:
    return kind.dtype != "bool"


def is_ordered(kind: Kind) -> bool:
    """Whether elements can be compared, and have no rounding."""
    return not kind.rounds and not kind.dtype.startswith("complex")


def is_float(kind: Kind) -> bool:
    return kind.dtype.startswith("float") or kind.dtype == "bfloat16"


@maker(5)
def add(a: Author) -> Made:
    x = a.pick(is_number)
    y = None if x is None else a.like(x)
    if x is None or y is None:
        return None
    op = a.draw.choice(("+", "-", "+", "-", "*"))
    return (f"q({x} {op} {y})" if op == "*" else f"{x} {op} {y}"), list(dict.fromkeys((x, y)))


@maker(2)
def choose(a: Author) -> Made:
    x = a.pick(is_ordered)
    y = None if x is None else a.like(x)
    if x is None or y is None or not is_ordered(a.known[y]):
        return None
    form = a.draw.choice(
        (
            "jnp.maximum({x}, {y})",
            "jnp.minimum({x}, {y})",
            "{x} < {y}",
            "jnp.where({x} > {y}, {x}, {y})",
            "{x} == {y}",
            "jnp.where({x} >= 1, {y}, 0)",
        )
    )
    return form.format(x=x, y=y), list(dict.fromkeys((x, y)))


@maker(3)
def unary(a: Author) -> Made:
    x = a.pick(is_number)
    if x is None:
        return None
    form = a.draw.choice(
        (
            "-{x}",
            "abs({x})",
            "q({x} * {x})",
            "q({x} + 1)",
            "q({x} * 2 - 3)",
            "{x}.astype(jnp.float32)",
            "{x}.T",
            "{x} != 0",
        )
    )
    if form == "abs({x})" and a.known[x].dtype.startswith("complex"):
        return f"abs({x})", [x], True
    if "!=" in form and a.known[x].rounds:
        return None
    if "astype" in form and a.known[x].dtype.startswith("complex"):
        return f"{x}.real", [x]
    return form.format(x=x), [x]


@maker(1)
def rounding(a: Author) -> Made:
    x = a.pick(lambda kind: is_float(kind) or kind.dtype.startswith("complex"))
    if x is None:
        return None
    forms = ["{x} / 3", "jnp.tanh({x})", "jnp.mean({x}, {axis}, keepdims=True)", "jnp.exp(-abs({x}))"]
    if not a.known[x].shape:
        return None
    if not a.known[x].dtype.startswith("complex"):
        forms += ["jnp.var({x}, {axis})", "jax.nn.softmax({x}, {axis})"]
    return a.draw.choice(forms).format(x=x, axis=a.axis(x)), [x], True


@maker(1)
def integers(a: Author) -> Made:
    x = a.pick(lambda kind: kind.dtype in ("int32", "int8", "uint8"))
    if x is None:
        return None
    return a.draw.choice(
        ("{x} // 3", "{x} % 5", "{x} & 7", "{x} ^ 3", "{x} << 1", "{x} >> 1", "{x}.astype(jnp.int8)")
    ).format(x=x), [x]


@maker(2)
def cast(a: Author) -> Made:
    x = a.pick(is_ordered)
    if x is None or (is_float(a.known[x]) and a.known[x].dtype != "float32"):
        return None
    dtype = a.draw.choice(("float32", "int32", "bfloat16", "complex64", "bool_"))
    if dtype == "int32":
        return f"jnp.nan_to_num(jnp.clip({x}, -99, 99), nan=7).astype(jnp.int32)", [x]
    return f"{x}.astype(jnp.{dtype})", [x]


# -- along axes ---------------------------------------------------------------------------------------------------


def cut_of(a: Author, size: int) -> str:
    """A slice of an axis."""
    draw = a.draw
    first = draw.choice((0, 0, 1, 1, 2, size // 2))
    limit = size - draw.choice((0, 0, 1, 1, 2))
    form = draw.random()
    if form < 0.1:
        return f"{first}::2"
    if form < 0.16:
        return "::-1"
    if form < 0.22:
        return f":{max(1, size // 2)}"
    return f"{first or ''}:{limit if limit != size else ''}"


@maker(6)
def slice_(a: Author) -> Made:
    x = a.array()
    if x is None:
        return None
    shape = a.known[x].shape
    cuts = [cut_of(a, size) if a.draw.random() < 0.6 else ":" for size in shape]
    if a.draw.random() < 0.12:
        axis = a.axis(x)
        cuts[axis] = str(a.draw.choice((0, -1, shape[axis] // 2)))
    return f"{x}[{', '.join(cuts)}]", [x]


@maker(6)
def difference(a: Author) -> Made:
    x = a.array(is_number)
    if x is None:
        return None
    shape = a.known[x].shape
    axis = a.axis(x)
    before, after = ([":"] * len(shape) for _ in range(2))
    k = a.draw.choice((1, 1, 2, 3))
    before[axis], after[axis] = f":-{k}", f"{k}:"
    return f"{x}[{', '.join(after)}] - {x}[{', '.join(before)}]", [x]


@maker(6)
def update(a: Author) -> Made:
    x = a.array()
    if x is None:
        return None
    shape = a.known[x].shape
    cuts = [cut_of(a, size) if a.draw.random() < 0.8 else ":" for size in shape]
    if a.draw.random() < 0.25:
        axis = a.axis(x)
        cuts[axis] = str(a.draw.choice((0, -1, 1, shape[axis] // 2)))
    index = ", ".join(cuts)
    others = [cut_of(a, size) if a.draw.random() < 0.8 else ":" for size in shape]
    ways = ["set", "set", "set", "add", "mul", "min", "max"]
    if a.known[x].dtype == "bool" or not is_ordered(a.known[x]):
        ways = ["set"]
    way = a.draw.choice(ways)
    y = a.draw.choice((x, a.like(x) or x))
    form = a.draw.random()
    value = f"{y}[{index}]" if form < 0.35 else f"{y}[{', '.join(others)}]" if form < 0.7 else "3"
    found = f"{x}.at[{index}].{way}({value})"
    return (f"q({found})" if way == "mul" else found), list(dict.fromkeys((x, y)))


@maker(1)
def dynamic(a: Author) -> Made:
    x = a.array()
    if x is None:
        return None
    axis = a.axis(x)
    shape = a.known[x].shape
    i = next((name for name in reversed(a.known) if a.known[name] == Kind((), "int32")), None) or "1"
    names = [x] if i in (x, "1") else [x, i]
    size = max(1, shape[axis] - a.draw.choice((1, 2, shape[axis] // 2)))
    form = a.draw.choice(
        (
            f"lax.dynamic_slice_in_dim({x}, {i}, {size}, {axis})",
            f"lax.dynamic_update_slice_in_dim({x}, lax.slice_in_dim({x}, 0, {size}, axis={axis}), {i}, {axis})",
            f"lax.dynamic_index_in_dim({x}, {i}, {axis})",
            f"{x}.at[{i}].set(3)",
            f"jnp.roll({x}, {i}, {axis})",
        )
    )
    return form, names


@maker(4)
def roll(a: Author) -> Made:
    x = a.array()
    if x is None:
        return None
    if a.draw.random() < 0.15:
        return f"jnp.roll({x}, {a.draw.choice((1, -2))})", [x]
    return f"jnp.roll({x}, {a.draw.choice((1, -1, 2, -3, 5))}, {a.axis(x)})", [x]


@maker(5)
def pad(a: Author) -> Made:
    x = a.array()
    if x is None:
        return None
    mode = a.draw.choice(NAMES[:7])
    if mode in ("minimum", "maximum") and not is_ordered(a.known[x]):
        return None
    widths = [a.draw.choice(((0, 0), (1, 1), (1, 0), (0, 2), (2, 1))) for _ in a.known[x].shape]
    if mode == "constant":
        mode = a.draw.choice(("constant', constant_values='9", "constant"))
        if "values" in mode:
            return f"jnp.pad({x}, {tuple(widths)}, constant_values=1)", [x]
    return f"jnp.pad({x}, {tuple(widths)}, mode='{mode}')", [x]


@maker(3)
def stencil_of_padded(a: Author) -> Made:
    x = a.array(is_number)
    if x is None:
        return None
    axis = a.axis(x)
    shape = a.known[x].shape
    mode = a.draw.choice(("wrap", "edge", "reflect", "symmetric", "constant"))
    w = a.draw.choice((1, 1, 2))
    widths = tuple((w, w) if each == axis else (0, 0) for each in range(len(shape)))
    p = f"jnp.pad({x}, {widths}, mode='{mode}')"
    before = f"lax.slice_in_dim({p}, 0, {shape[axis]}, axis={axis})"
    return f"{before} + lax.slice_in_dim({p}, {2 * w}, None, axis={axis}) - {x}", [x]


@maker(4)
def join(a: Author) -> Made:
    x = a.array()
    y = None if x is None else a.array(lambda kind: len(kind.shape) == len(a.known[x].shape))
    if x is None or y is None:
        return None
    axis = a.axis(x)
    shape = a.known[x].shape
    front = [":"] * len(shape)
    front[axis] = a.draw.choice((":1", "-1:", ":2", "1:", "::-1", "-2:"))
    end = [":"] * len(shape)
    end[axis] = a.draw.choice((":1", "-1:", ":", "1:-1", ":-1"))
    form = a.draw.choice(
        (
            f"{x}[{', '.join(front)}], {y}",
            f"{x}, {y}[{', '.join(end)}]",
            f"{x}[{', '.join(front)}], {y}, {x}[{', '.join(end)}]",
            f"{x}, {y}",
        )
    )
    way = a.draw.choice(("concatenate", "concatenate", "concatenate", "stack"))
    return f"jnp.{way}([{form}], {axis})", list(dict.fromkeys((x, y)))


@maker(2)
def turn(a: Author) -> Made:
    x = a.array()
    if x is None:
        return None
    rank = len(a.known[x].shape)
    forms = [
        f"jnp.flip({x}, {a.axis(x)})",
        f"{x}[::-1]",
        f"{x}.T",
        f"jnp.moveaxis({x}, 0, -1)",
        f"jnp.expand_dims({x}, {a.axis(x)})",
        f"jnp.repeat({x}, 2, {a.axis(x)})",
        f"jnp.tile({x}, 2)",
    ]
    if rank > 1:
        forms += [f"jnp.swapaxes({x}, 0, 1)", f"jnp.rot90({x})", f"jnp.diagonal({x})"]
    if 1 in a.known[x].shape:
        forms += [f"jnp.squeeze({x})"] * 3
    return a.draw.choice(forms), [x]


@maker(3)
def reshape(a: Author) -> Made:
    x = a.array()
    if x is None:
        return None
    shape = a.known[x].shape
    axis = a.axis(x)
    forms = [f"{x}.reshape(-1)", f"{x}.reshape({(*shape[:axis], 1, *shape[axis:])})"]
    for factor in (2, 4, 8):
        if shape[axis] % factor == 0:
            forms.append(f"{x}.reshape({(*shape[:axis], factor, shape[axis] // factor, *shape[axis + 1 :])})")
            forms.append(f"{x}.reshape({(*shape[:axis], shape[axis] // factor, factor, *shape[axis + 1 :])})")
    if axis + 1 < len(shape):
        forms.append(f"{x}.reshape({(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])})")
        forms.append(f"{x}.reshape({(*shape[:axis], shape[axis + 1], shape[axis], *shape[axis + 2 :])})")
    same = [kind.shape for kind in a.known.values() if kind.shape and kind.shape != shape]
    forms += [f"{x}.reshape({each})" for each in same[-2:]]
    return a.draw.choice(forms), [x]


# -- folds ----------------------------------------------------------------------------------------------------------


@maker(4)
def fold(a: Author) -> Made:
    x = a.array(is_ordered)
    if x is None:
        return None
    rank = len(a.known[x].shape)
    axis = a.draw.choice((str(a.axis(x)), str(a.axis(x)), "None", "(0, 1)" if rank > 1 else "0"))
    keep = a.draw.choice(("", ", keepdims=True"))
    way = a.draw.choice(("sum", "sum", "max", "min", "any", "all", "count_nonzero"))
    if way in ("sum", "max", "min") and a.draw.random() < 0.3:
        m = a.pick(lambda kind: kind.shape == a.known[x].shape and kind.dtype == "bool")
        first = "" if way == "sum" else ", initial=-40" if way == "max" else ", initial=40"
        if a.known[x].dtype in ("uint8", "bool"):
            first = first and ", initial=0"
        where = m or f"{x} > 0"
        return f"q(jnp.{way}({x}, {axis}{keep}{first}, where={where}))", list(dict.fromkeys((x, *([m] if m else []))))
    if way in ("sum",):
        return f"q(jnp.sum({x}, {axis}{keep}))", [x]
    return f"jnp.{way}({x}, {axis}{keep})", [x]


@maker(1)
def fold_that_rounds(a: Author) -> Made:
    x = a.array(is_number)
    if x is None:
        return None
    way = a.draw.choice(("sum", "prod")) if is_float(a.known[x]) else "sum"
    x_ = f"q({x})" if way == "sum" else f"(1 + jnp.clip({x}, -1, 1) / 64)"
    return f"jnp.{way}({x_}, {a.axis(x)})", [x], way == "prod"


@maker(2)
def running(a: Author) -> Made:
    x = a.array(is_ordered)
    if x is None:
        return None
    axis = a.axis(x)
    form = a.draw.choice(
        (
            "q(jnp.cumsum({x}, {axis}))",
            "q(jnp.cumsum({x}, {axis}))",
            "lax.cummax({x}, {axis})",
            "lax.cummin({x}, {axis}, reverse=True)",
            "q(lax.cumsum({x}, {axis}, reverse=True))",
            "jnp.cumsum({x})[-1:]",
            "jnp.diff({x}, axis={axis})",
        )
    )
    return form.format(x=x, axis=axis), [x]


@maker(2)
def order(a: Author) -> Made:
    x = a.array(is_ordered)
    if x is None:
        return None
    axis = a.axis(x)
    form = a.draw.choice(
        (
            "jnp.sort({x}, {axis})",
            "jnp.argsort({x}, {axis})",
            "jnp.argmax({x}, {axis})",
            "jnp.argmin({x}, {axis})",
            "jnp.argmax({x})",
            "lax.top_k({x}, 1)[1]",
            "jnp.searchsorted(jnp.arange(-5, 5), {x})",
            "jnp.median({x}, {axis})",
            "jnp.argmax({x}, {axis}, keepdims=True)",
        )
    )
    return form.format(x=x, axis=axis), [x], "median" in form


# -- positions ------------------------------------------------------------------------------------------------------


@maker(4)
def mask(a: Author) -> Made:
    x = a.array()
    if x is None:
        return None
    kind = a.known[x]
    axis = a.axis(x)
    size = kind.shape[axis]
    ones = tuple(-1 if each == axis else 1 for each in range(len(kind.shape)))
    i = f"jnp.arange({size}).reshape({ones})"
    test = a.draw.choice(
        (
            f"{i} > 0",
            f"({i} > 0) & ({i} < {size - 1})",
            f"{i} % 2 == 0",
            f"{i} == {size // 2}",
            f"{i} >= {max(1, size - 2)}",
        )
    )
    other = a.draw.choice(("0", "2", f"jnp.flip({x}, {axis})", f"jnp.roll({x}, 1, {axis})"))
    return f"jnp.where({test}, {x}, {other}).astype({x}.dtype)", [x]


@maker(1)
def place(a: Author) -> Made:
    x = a.array(is_number)
    if x is None:
        return None
    shape = a.known[x].shape
    axis = a.axis(x)
    ones = tuple(-1 if each == axis else 1 for each in range(len(shape)))
    form = a.draw.choice(
        (
            f"{x} + jnp.arange({shape[axis]}, dtype=jnp.int8).reshape({ones})",
            f"{x} + (lax.iota(jnp.int32, {shape[axis]}) % 3).reshape({ones})",
            f"{x} - jnp.linspace(0, {shape[axis] - 1}, {shape[axis]}).round().reshape({ones})",
        )
    )
    return form, [x]


@maker(3)
def gather(a: Author) -> Made:
    x = a.array()
    if x is None:
        return None
    shape = a.known[x].shape
    axis = a.axis(x)
    size = shape[axis]
    known = a.draw.choice(
        (
            f"np.maximum(np.arange({size}) - 1, 0)",
            f"np.arange({size - 1}, -1, -1)",
            f"(np.arange({size}) + 1) % {size}",
            f"np.array([0, {size - 1}, {size // 2}])",
            f"np.minimum(np.arange({size}) + 2, {size - 1})",
            f"np.arange({size}) * 3 % {size}",
            f"np.repeat(np.arange({size}), 2)",
            f"jnp.clip(jnp.arange({size}) + 1, 0, {size - 1})",
            f"(jnp.arange({size}) - 2) % {size}",
        )
    )
    if a.draw.random() < 0.3:
        i = a.pick(lambda kind: kind.dtype == "int32" and len(kind.shape) == 1)
        if i is not None:
            return f"jnp.take({x}, {i}, axis={axis}, mode='{a.draw.choice(('clip', 'wrap'))}')", list(
                dict.fromkeys((x, i))
            )
    index = ", ".join([":"] * axis + [known])
    form = a.draw.choice(
        (
            f"{x}[{index}]",
            f"jnp.take({x}, {known}, axis={axis})",
            f"jnp.take_along_axis({x}, jnp.argsort({x}, {axis}), {axis})",
        )
    )
    if "argsort" in form and not is_ordered(a.known[x]):
        return None
    return form, [x]


@maker(1)
def scatter(a: Author) -> Made:
    x = a.array(lambda kind: kind.dtype != "bool" and is_ordered(kind))
    if x is None:
        return None
    size = a.known[x].shape[0]
    where = a.draw.choice(
        (
            f"np.array([0, {size - 1}])",
            f"np.arange({size // 2})",
            f"np.arange(0, {size}, 2)",
            f"jnp.arange({size}) // 2",
        )
    )
    way = a.draw.choice(("set", "add", "max"))
    if "//" in where and way == "set":
        way = "add"
    return f"q({x}.at[{where}].{way}({a.draw.choice(('1', f'{x}[{where}]'))}))", [x]


# -- products -------------------------------------------------------------------------------------------------------


@maker(2)
def product(a: Author) -> Made:
    x = a.array(lambda kind: is_number(kind) and len(kind.shape) >= 1)
    if x is None:
        return None
    shape = a.known[x].shape
    y = a.array(lambda kind: is_number(kind) and len(kind.shape) >= 1 and kind.dtype == a.known[x].dtype) or x
    forms = [
        f"jnp.dot({x}, {y})",
        f"jnp.tensordot({x}, {y}, (0, 0))",
        f"jnp.tensordot({x}, {y}, (-1, -1))",
        f"jnp.outer({x}[..., 0].ravel(), {y}[0].ravel())",
    ]
    if len(shape) == 2:
        forms += [
            f"{x} @ {x}.T",
            f"jnp.einsum('ij,kj->ik', {x}, {y})",
            f"jnp.einsum('ij,ij->j', {x}, {y})",
            f"jnp.einsum('ij->j', {x})",
            f"{x} @ jnp.ones({shape[::-1]}, {x}.dtype)",
        ]
    if len(shape) == 3:
        forms += [
            f"jnp.einsum('bij,bkj->bik', {x}, {x})",
            f"jnp.einsum('bij->ij', {x})",
            f"jnp.einsum('bij,bij->b', {x}, {x})",
        ]
    is_rounding = a.known[x].dtype.startswith("complex") or a.known[x].dtype in ("float16", "bfloat16")
    return (
        f"q({a.draw.choice(forms)})" if not is_rounding else a.draw.choice(forms),
        list(dict.fromkeys((x, y))),
        is_rounding,
    )


@maker(3)
def window(a: Author) -> Made:
    x = a.array(lambda kind: is_ordered(kind) and kind.dtype not in ("bool", "int8", "uint8"))
    if x is None:
        return None
    kind = a.known[x]
    rank = len(kind.shape)
    axis = a.axis(x)
    draw = a.draw
    width = draw.choice((2, 3))
    sizes = tuple(width if each == axis or draw.random() < 0.3 else 1 for each in range(rank))
    strides = tuple(draw.choice((1, 1, 1, 2)) for _ in range(rank))
    padding = draw.choice(
        ("'SAME'", "'VALID'", repr(tuple((1, 1) if each == axis else (0, 0) for each in range(rank))))
    )
    if kind.dtype in ("float32", "float64", "complex64") and rank == 2 and draw.random() < 0.5:
        kernel = f"jnp.arange(1, {math.prod(sizes) + 1}, dtype={x}.dtype).reshape((1, 1, *{sizes}))"
        dilation = draw.choice(("", ", rhs_dilation=(2, 1)", ", lhs_dilation=(1, 2)"))
        return f"q(lax.conv_general_dilated({x}[None, None], {kernel}, {strides}, {padding}{dilation})[0, 0])", [x]
    if rank == 1 and draw.random() < 0.5:
        return (
            f"q(jnp.convolve({x}, jnp.array([1, 2, 3], {x}.dtype), mode='{draw.choice(('same', 'full', 'valid'))}'))",
            [x],
        )
    low = "-jnp.inf" if is_float(kind) else "-128"
    first, op = draw.choice((("0", "lax.add"), (low, "lax.max")))
    return f"q(lax.reduce_window({x}, jnp.array({first}, {x}.dtype), {op}, {sizes}, {strides}, {padding}))", [x]


@maker(1)
def transform(a: Author) -> Made:
    x = a.array(lambda kind: kind.dtype in ("float32", "complex64"))
    if x is None:
        return None
    axis = a.axis(x)
    is_complex = a.known[x].dtype == "complex64"
    forms = [f"jnp.fft.ifft(jnp.fft.fft({x}, axis={axis}) * 2, axis={axis})", f"jnp.fft.fft({x}, axis={axis})"]
    if not is_complex:
        forms += [
            f"jnp.fft.rfft({x}, axis={axis})",
            f"jnp.fft.irfft(jnp.fft.rfft({x}, axis={axis}), {a.known[x].shape[axis]}, axis={axis})",
        ]
    if len(a.known[x].shape) > 1:
        forms.append(f"jnp.fft.ifft2(jnp.fft.fft2({x})).real")
    return a.draw.choice(forms), [x], True


@maker(1)
def many(a: Author) -> Made:
    x = a.array(is_number)
    if x is None or len(a.known[x].shape) < 2:
        return None
    return a.draw.choice(
        (
            "jax.vmap(lambda r: r - jnp.roll(r, 1, 0))({x})",
            "lax.map(lambda r: r[::-1] + r, {x})",
            "jax.vmap(lambda r: jnp.pad(r[1:], (0, 1)), 1, 1)({x})",
        )
    ).format(x=x), [x]
