# pyright: basic
# ruff: noqa: E501
"""What `compositions.py` writes functions with: expressions and statements with places for others.

A place is `$` and a letter. Expressions, one level less deep than what they stand in: `$I` integer, `$F` float, `$B` truth
value, `$M` mask, `$A` array; `$i`, `$f`, `$b`, `$m` the same without depth. Names: `$a` array, `$v` array with one axis,
`$w` list, `$d` dictionary, `$p` object, `$g` function. Words: `$k` a small number, `$c` a comparison, `$o` an operator,
`$t` a dtype, `$P` an index that is mostly inside, `$s` a slice.
"""

from __future__ import annotations

INTEGERS = (
    "($I + $I)", "($I - $I)", "($I * $k)", "($I % $k)", "($I // $k)", "-$I", "abs($I)", "max($I, $I)", "min($I, $I, 3)",
    "($I if $b else $I)", "len($a)", "$a.size", "int($b)", "($I & 3)", "($I ^ $I)", "($I | 1)", "($I << 1)", "($I >> 1)", "~$I",
    "int($f)", "np.int64($I)", "np.count_nonzero($m)", "$a.argmax()", "sum(1 for v in $v if v > $f)", "divmod($I, 3)[0]",
    "divmod($I, 3)[1]", "len($w)", "operator.add($I, $I)", "round($f)", "math.floor($f)", "($I ** 2 % 7)",
    "np.searchsorted(np.sort($v), $i)", "$a.ndim", "(($I + 1) if not $i else $I)", "($i or $I)", "($i and $I)", "$a.shape[0]",
    "int(np.sum($m))", "$w.count($i)", "pow($i, 2)", "$m.sum()", "sum(range($i))", "len(range($i))", "$a.argmin()", "math.gcd($i, 6)",
    "(lambda j: j + $i)($I)", "np.int32($k) + $i", "int(math.ceil($f))", "hash($i) % 5", "[1, 2, 3][$i % 3]", "(0, 5)[$b]", "{0: 1}.get($i, 2)",
)  # fmt: skip
NUMBERS = (
    "($F + $F)", "($F - $F)", "($F * 2)", "($F * 0.5)", "($F * -1)", "($F / 2)", "($F / 4.0)", "-$F", "abs($F)", "($F // 2)",
    "($F // 0.5)", "($F % 2)", "($F % 1.5)", "($F % -2)", "max($F, $F)", "min($F, $F)", "($F if $b else $F)", "$v[$P]", "$v[$P]",
    "$v[$P]", "$a.sum()", "$a.max()", "$a.min()", "$a.mean()", "np.sum($a)", "np.prod($a)", "sum($v)", "max($v)",
    "min($v, default=1.5)", "sum([v * 2 for v in $v if v > $f])", "sum((v for v in $v), $f)", "$a[$m].sum()", "float($F)",
    "round($F, 1)", "($F) ** 2", "divmod($F, 2)[0]", "divmod($F, 2)[1]", "$g($F)", "$p.speed", "$d['u']", "$d.get('w', $f)", "$w[0]",
    "$w[-1]", "$w[n]", "sum($w)", "functools.reduce(lambda p, q: p + q, $v, $f)", "math.sqrt(abs($F))",
    "next((v for v in $v if v > $f), $f)", "pairwise($a)", "(lambda v, by=$f: v + by)($F)", "np.float32($F)", "np.maximum($F, $F)",
    "np.where($b, $F, $f)", "sum(halves($F))", "$v[-1]", "$a.item(0)", "$a.item(-1)", "np.dot($v, $v)", "LIMIT * $F",
    "(q := $F) + q", "np.ptp($a)", "np.median($a)", "$a.flat[0]", "$a.flat[-1]", "$a.std()", "np.linalg.norm($a)", "$A.sum()",
    "$I * 1.0", "$I / 2", "np.float64($F) * $i", "$i", "complex($f, 1).real", "math.hypot($f, 1.0)", "abs($v[$P])", "$p($f)",
    "operator.itemgetter(1)(($f, $F))", "np.min($a, initial=$f)", "$a.max(initial=$f)", "np.add.reduce($v)", "$v @ $v", "$a.trace()",
    "sum(p * q for p, q in zip($v, $v))", "float($i)", "np.average($a)", "next(iter($v))", "(lambda: $f)()", "np.sum($a, where=$m)",
)  # fmt: skip
TRUTHS = (
    "not $B", "($B and $B)", "($B or $B)", "$f < $F < $f", "$f <= $F > $f", "$m.any()", "$m.all()", "$i in (0, 2)",
    "$i not in range(1, 3)", "any(v > $f for v in $v)", "all([v < $f for v in $v])", "np.array_equal($a, $a)", "$a is $a", "$f in $a",
    "$a.size > 3", "isinstance($f, float)", "isinstance($a, np.ndarray)", "bool($f)", "math.isnan($f)", "np.all($a >= $f)",
    "np.isclose($f, $f)", "'w' in $d", "not $w", "($i, $f) < ($i, $f)", "np.shares_memory($a, $a)", "$a.dtype.kind == 'f'",
    "hasattr($a, 'shape')", "$f is None", "$i == $i != $i", "np.any($a)", "$i", "$f", "not $i", "$B == $B", "$B ^ $B", "len($w) > $i", "$w == [$f]",
    "type($f) is float", "$v[$P] == $v[$P]", "isinstance($i, int)", "$a.any()", "callable($g)", "$a.ndim == 1 and $v[0] > $f",
)  # fmt: skip
TRUTHS_ALONE = ("$f $c $f", "$f $c $f", "$i $c $i", "$v[$P] $c $f", "$v[$P] $c $f")
MASKS = (
    "($M & $M)", "($M | $M)", "~$M", "($M ^ $M)", "np.isfinite($a)", "np.logical_not($a)", "np.zeros($a.shape, bool)",
    "np.isin($a, [1, 2])", "($a % 2 == 0)", "np.logical_or($m, $a)", "np.signbit($a)", "($A > $F)", "($A == $a)", "np.equal($a, $f)", "$a.astype(bool)",
    "np.isnan($a)", "($f < $a)", "np.array([v > $f for v in $v])", "($a >= $i)", "np.full($a.shape, $b)",
)  # fmt: skip
MASKS_ALONE = ("($a $c $f)", "($a $c $f)", "($a $c $a)")
ARRAYS = (
    "$A + $a", "$A + $A", "$A * $F", "($A - $a)", "($A + $i)", "$A / 2", "-$A", "$A // $k", "$A % 2", "$A % 1.5", "$A ** 2", "$a.copy()",
    "$a[::-1]", "$a.T", "($F - $A)", "($i * $A)", "$A + np.float32(0.5)", "np.uint8(3) + $A", "$A * True", "abs($A)",
    "np.maximum($A, $a)", "np.minimum($A, $F)", "np.where($M, $A, $a)", "np.where($m, $A, $F)", "($A if $B else $a)", "np.cumsum($A)",
    "np.sort($A)", "np.roll($A, $i)", "$a.clip(-1, 2)", "np.zeros_like($a)", "np.full_like($a, $k)", "np.ones($a.shape)",
    "($A).astype('$t')", "np.round($A, 1)", "($A).reshape(-1)", "np.ravel($A)", "np.concatenate(($a[:$k], $a[$k:]))", "np.stack([$a, $a])[-1]",
    "np.array([v * 2 for v in $v])", "np.array([$F, $f, 1.0])", "np.arange($i)", "np.arange(5)", "np.sqrt(np.abs($A))", "$a[$M]",
    "$a[[0, -1, 0]]", "$a[np.argsort($v)]", "$a[1:] - $a[:-1]", "np.add($A, $a)", "np.multiply($A, $F)",
    "np.subtract.outer($v, $v)", "np.floor($A)", "np.diff($a)", "np.unique($a)", "np.nonzero($m)[0]", "np.outer($v, $v)[0]", "$a @ $a",
    "np.repeat($a, 2)", "np.repeat($a, $i)", "np.tile($a, 2)", "np.flip($a)", "np.linspace(0, $F, 5)", "$a[$i:]", "$a[:$i]", "$a[::2]",
    "$a[..., None]", "$a[None]", "np.sum($a, axis=0)", "$a.max(axis=-1)", "np.asarray($a)", "np.array($a)", "np.array($a, dtype='$t')",
    "($M * $F)", "($m + $m)", "($a > $F).astype(int)", "np.sin($a)", "np.square($A)", "np.sign($a)",
    "np.select([$m, $m], [$a, $a], $k)", "np.einsum('i,i->i', $v, $v)", "touched($a.copy(), $k)", "touched($a)", "np.clip($A, None, $F)",
    "np.broadcast_to($F, $a.shape)", "$a.swapaxes(0, -1)", "np.pad($v, 1)[1:-1]", "np.interp($v, [0.0, 2.0], [1.0, 3.0])",
    "np.mod($A, 3)", "np.take($a, $i, mode='wrap')", "np.fmax($A, $a)", "np.power($A, 2)", "np.add.accumulate($v)", "$g($a)", "$p.place",
    "np.array($w)", "np.argwhere($m)", "np.fromiter((v for v in $v), float)", "np.array(list(reversed($v)))", "np.array(sorted($v))",
    "np.eye($k) * $F", "np.bitwise_and($a, $k)", "np.left_shift($a, 1)", "np.logical_and($a, $a) * 1", "np.divmod($a, 2)[0]", "$p.doubled",
    "$d['v']", "$a[np.array([0, 0])]", "np.zeros($k)", "np.zeros($i)", "np.expand_dims($a, 0)", "np.hstack(($a, $a))", "np.vstack(($v, $v))",
    "$a[$s]", "$a.cumsum()", "np.delete($v, $i)", "np.append($v, $F)", "np.where($m)[0]", "np.meshgrid($v, $v)[0]", "np.triu(np.outer($v, $v))",
    "np.searchsorted(np.sort($v), $v)", "np.bincount(np.arange(3))", "np.split($v, [$k])[0]", "np.moveaxis($a, 0, -1)", "$a[$m] * 2", "$a.real",
    "np.conj($a)", "np.invert($a)", "np.float16(2) * $a", "$a * 1j", "np.arange(5, dtype='int8') * $k", "np.int8(100) + $a", "$a - np.uint32(1)", "np.trunc($A)",
    "np.hypot($a, $F)", "np.cumprod($a)", "np.ones_like($a) * $F", "np.empty_like($a) * 0 + 1", "np.atleast_1d($a)", "np.squeeze($a)", "np.dot($a, $a)",
)  # fmt: skip
STATEMENTS = (
    "$a[$P] = $F", "$a[$P] = $F", "$a[$P] += $F", "$a[$P] *= 2", "$a $o= $F", "$a $o= $a", "$a $o= $A", "$a //= 2", "$a %= 3", "$a /= 2", "$a **= 2",
    "$a &= 3", "$a |= 1", "$a ^= 1", "$a <<= 1", "$a >>= 1", "$a[$s] = $F", "$a[$s] = $A", "$a[$s] $o= $F", "$a[$s] $o= $A", "$a[$s] = $a[$s]",
    "$a[$M] = $F", "$a[$M] $o= $F", "$a[$m] = $a[$m]", "$a[[0, -1]] = $F", "$a[[0, 0, 1]] += $F", "$a[[n, m]] $o= $F",
    "np.add($a, $F, out=$a)", "np.multiply($a, $a, out=$a, where=$m)", "np.maximum($a, $F, out=$a)", "np.subtract($a, $a, out=$a)",
    "np.add.at($a, [0, 0, 1], $F)", "np.subtract.at($a, 0, $F)", "np.maximum.at($a, [n, m], $F)", "np.cumsum($a, out=$a)",
    "np.copyto($a, $F, where=$m)", "np.copyto($a, $a)", "np.putmask($a, $m, $F)", "np.place($a, $m, [$F, 1])", "np.fill_diagonal($a, $F)",
    "np.put($a, [0, $i], $F)", "$a.sort()", "$a.fill($i)", "$a.fill($F)", "$a.put(0, 1)", "$a.partition(1)", "$a[0], $a[-1] = $a[-1], $a[0]",
    "$a, $a = $a, $a", "notes.append($F)", "notes.append($i)", "print($F)", "print($i, $b)", "print(f'{$f:.2f} of {$i}')", "assert $B, f'{$i} is wrong'",
    "touched($a, $k)", "$a.ravel()[0] = $F", "$a.T[0] = $F", "$a.flat[0] = $F", "$a.reshape(-1)[1:] += $k", "np.clip($a, -2, 3, out=$a)",
    "for u in $v: notes.append(u > 1)", "for u in $v: $a[0] += u", "notes.append(f'{$f:.1f}')", "notes.append(str($i))", "notes.append('%d' % $i)",
    "notes.append(repr($a.shape))", "notes.append('{}'.format($i))", "notes.clear()", "t += $F", "n += 1", "n, m = m, n", "flag = not flag", "m = $i % 4",
    "$w.append($F)", "$w[0] = $F", "$w.extend([$F, 1])", "$w += [$F]", "$w.pop()", "$w.insert(0, $F)", "$w.reverse()", "$w.sort()", "$w[-1] += 1",
    "del $w[0]", "$w[1:] = []", "$w = $w[::-1]", "$w = $w + [$F]", "$w.clear()", "$w = [u + 1 for u in $w]", "$w[0], $w[-1] = $w[-1], $w[0]",
    "$d['u'] = $F", "$d['u'] += 1", "$d['w'] = $A", "$d.update(u=$F)", "$d.pop('w', None)", "$d.setdefault('w', $F)", "del $d['u']", "$d |= {'z': n}",
    "$d['v'] *= 2", "for u in $d: notes.append(u)", "$d = {u: 1 for u in $d}", "$d['v'][0] = $F",
    "$p.place = $A", "$p.speed += $F", "$p = $p.moved($F)", "$p.place[0] = 1", "$p = dataclasses.replace($p, speed=$F)", "$p.place += 1",
    "$p.speed = $p.place.sum()", "$p.speed, $p.place = $f, $a", "$a[:], $a[:] = $a, $a", "(($a))[...] = $F", "$a[0]: float = $F", "_ = $F",
    "$a = $a[::-1]", "$a = $a + 1", "$a = $a.T", "$a = $a * $F", "$a = $a if $B else $a", "np.negative($a, out=$a)", "$a[$i % 2, ...] = $F", "$a[..., 0] = $F",
    "$a[$P] = $a[$P] + $a[$P]", "$a[$P], $a[$P] = $a[$P], $a[$P]", "$a[$P] -= $a[$P]", "$a[$a > $F] *= 2", "np.sqrt(np.abs($a), out=$a)",
)  # fmt: skip
NEW = {
    "array": ("$A",), "float": ("$F",), "int": ("$I",), "bool": ("$B",), "mask": ("$M",),
    "view": ("$a[1:]", "$a[:]", "$a[::-1]", "$a.T", "$a[::2]", "$a[n:]", "$a[0]", "$a[..., :2]", "$a.ravel()", "$a[:m]", "$a", "$a.view()", "$a.reshape(-1)", "np.asarray($a)",
             "$a[$s]"),
    "list": ("[$F, $f]", "[]", "[v + 1 for v in $v]", "[$f] * 2", "list($v)", "[v * $f for v in range(3)]", "[v * $f for v in range(n)]",
             "[v for v in $v if v > $f]", "$v.tolist()", "sorted([$f, $f])", "list(map(lambda v: v * 2, $v))", "[p * q for p, q in zip($v, $v)]",
             "[(k, v) for k, v in enumerate($v)]", "[[v, j] for v in $v for j in range(2) if v > j]", "list(range($i))", "[$a, $f]", "[$f if $b else $i, 2]",
             "[*$v, $f]", "sorted($v, key=lambda v: -v)", "list(filter(lambda v: v > $f, $v))", "[f'{v}' for v in range(2)]", "[[0] * 2 for _ in range(2)]"),
    "dict": ("{'u': $F, 'v': $a}", "dict(u=$f)", "{'u': $i, **{'w': 1}}", "{**dict(zip('uvw', $v)), 'u': 1.0}", "{'u': $f, 'v': $a.copy()}", "{k: v for k, v in zip('uv', ($f, $a))}"),
    "object": ("Point($A, $f)", "Point($a)", "Point($a, $f).moved($f)", "Point(place=$A)"),
}  # fmt: skip
"""What names are bound to, by what the name is then."""
FRESH = {
    "array": "a", "float": "s", "int": "k", "bool": "b", "mask": "u", "view": "v", "list": "w", "dict": "d", "object": "p",
}  # fmt: skip
LOOPS = (
    ("int", "range($I)"), ("int", "range(n)"), ("int", "range(m)"), ("int", "range($k)"), ("int", "range($i, $i, $k)"), ("int", "range($i, $i, -1)"),
    ("int", "range(len($v))"), ("float", "$v"), ("float", "$v"), ("float", "$v[::-1]"), ("float", "reversed($v)"), ("float", "sorted($v)"),
    ("float", "(v * 2 for v in $v if v > 0)"), ("float", "($f, $f)"), ("pair", "enumerate($v)"), ("pair", "enumerate($v, n)"),
    ("two", "zip($v, $v)"), ("float", "halves($f)"), ("array", "($a, $a)"), ("array", "np.stack([$a, $a])"), ("pair", "zip(range(m), $v)"),
    ("int", "range(m, -1, -1)"), ("two", "itertools.product((1, 2), (0.5, 1.5))"), ("float", "itertools.accumulate($v)"), ("float", "$w"),
    ("array", "$a"), ("pair", "enumerate($w)"), ("float", "[$f, $i]"), ("two", "$d.items()"), ("float", "np.unique($a)"), ("int", "np.nonzero($m)[0]"),
)  # fmt: skip
MATCHES = (
    ("$I", ("0", "1 | 2", "k0 if k0 > 2", "_")), ("(n, m)", ("(0, _)", "(p0, q0) if p0 > q0", "_")), ("$i", ("0", "1")),
    ("Point($a, $f)", ("Point(place=p0, speed=0.5)", "Point(speed=q0)", "_")), ("notes", ("[]", "[p0]", "[p0, *q0]")),
    ("{'u': n}", ("{'u': 0}", "{'u': p0}")), ("$f", ("1.5", "float()", "_")), ("$w", ("[]", "[p0, *_]", "_")),
)  # fmt: skip
CONTEXTS = (
    "np.errstate(all='ignore')",
    "noting(notes, $f)",
    "contextlib.suppress(IndexError)",
    "contextlib.nullcontext()",
)
FAULTS = (
    "$a[n + 3] = 1", "raise ValueError('u')", "if $b: raise KeyError('k')", "s = [1, 2][m]", "s = {'u': 1}['v']", "assert $b, 'a'", "s = $v[m + 3]",
    "s = 1 // n", "s = $a + np.ones(7)", "raise IndexError(n)", "np.reshape($a, (7, 7))", "s = int('u')", "None + 1",
)  # fmt: skip
CAUGHT = (
    "(ValueError, IndexError)",
    "IndexError",
    "Exception as error",
    "(KeyError, AssertionError)",
    "ValueError",
    "Exception",
    "ZeroDivisionError",
)
RESULTS = ("v + 1", "v * $F", "$F", "v if $b else $f", "v", "v.sum()", "(v := v + 1)")
NOT_PLAIN = (
    "notes", "print", "unique", "nonzero", "$a[$M]", "$a[$m]", "$a[$m].sum()", "argwhere", "where($m)[0]", "np.arange($i)", "np.zeros($i)",
    "repeat($a, $i)", "shares_memory", "global", "$w", "$d", "$p", "hash", "is $a", "assert", "delete", "place(", "isinstance", "type(", "in $a",
    "list(", "fromiter", "sorted(", "product", "$a, $a = $a, $a", "pairwise",
)  # fmt: skip
"""What is left out of half of the functions, most of which are one program then."""
SLICES = (
    "1:3",
    "...",
    ":2",
    "::2",
    "::-1",
    "n:",
    ":m",
    "1:",
    "n:n + 2",
    ":",
    "-2:",
    "n:m",
    "$i:",
    ":$i",
    "[0, 1]",
    "None",
    "0",
    "-1",
    "$i",
)
