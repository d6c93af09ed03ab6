"""The leaves of a state as they are in a checkpoint: copies in the host's memory, and what has to be said of them.

Arrays are kept as the parts that this process has. Numbers, text and NumPy's and Python's generators of random numbers
are written as JSON. Which class a restored leaf is of, follows from a fixed list of kinds, not from the file.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.processes.parts import Array, Index
from windlass.stablehlo.private_jax import is_tracer, weakly_typed

Said: TypeAlias = dict[str, Any]
"""What a checkpoint says of one leaf, as JSON: where it is in the state, its kind, shape and dtype, or its value."""

ARRAYS, GENERATORS = ("jax", "array"), ("Generator", "RandomState", "Random")
BIT_GENERATORS: dict[str, Callable[..., np.random.BitGenerator]] = {
    each.__name__: each
    for each in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}


@dataclass(frozen=True)
class Leaf:
    """A leaf on its way to the disk: what is said of it, and those parts of its array that this process has."""

    said: Said
    shards: Sequence[tuple[Index, Array]] = ()


def difference(given: Said, saved: Said) -> str | None:
    """Why a leaf that was saved can't take the given one's place; None where it can.

    Arrays have to be of one shape, and of one dtype if they are of one kind. Numbers may have become arrays and other
    numbers since the program began.
    """
    shapes = [tuple(said.get("shape", ())) for said in (given, saved)]
    kinds = [said["kind"] for said in (given, saved)]
    if kinds[0] == kinds[1] in ARRAYS and given["dtype"] != saved["dtype"]:
        return f"{given['dtype']} is given, {saved['dtype']} was saved"
    if shapes[0] != shapes[1]:
        return f"shape {shapes[0]} is given, {shapes[1]} was saved"
    if given.get("key") != saved.get("key"):
        return f"keys of {given.get('key', 'no generator')} are given, of {saved.get('key', 'no generator')} were saved"
    are_generators = [kind in GENERATORS for kind in kinds]
    if are_generators[0] != are_generators[1]:
        return f"{kinds[0]} is given, {kinds[1]} was saved"
    return None


def name_of(dtype: np.dtype[Any]) -> Any:
    """A dtype as JSON: its name; of structs their fields, of text and times NumPy's short form.

    >>> name_of(np.dtype("f4")), name_of(np.dtype("U3")), name_of(np.dtype([("x", "f4")]))
    ('float32', '<U3', [['x', '<f4']])
    """
    if dtype.fields:
        return json.loads(json.dumps(dtype.descr))
    is_plain = hasattr(ml_dtypes, dtype.name) or (dtype.kind in "biufc" and dtype.isnative)
    return dtype.name if is_plain else dtype.str


def dtype_of(name: Any) -> np.dtype[Any]:
    """The dtype of that name.

    Raises TypeError or ValueError where there is none.
    """
    if isinstance(name, str):
        return np.dtype(getattr(ml_dtypes, name, name))
    return np.dtype([_field(field) for field in name])


def _field(field: Sequence[Any]) -> tuple[Any, ...]:
    name, kind, *shape = field
    inner = kind if isinstance(kind, str) else [_field(each) for each in kind]
    return (name, inner, *(tuple(each) for each in shape))


def stored_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What an array is written as: structs, and numbers that NumPy's files don't know, as their bits.

    >>> stored_dtype(np.dtype("f4")), stored_dtype(np.dtype(ml_dtypes.bfloat16))
    (dtype('float32'), dtype('uint16'))
    """
    if dtype.fields:
        return np.dtype(f"V{dtype.itemsize}")
    return np.dtype(f"u{dtype.itemsize}") if hasattr(ml_dtypes, dtype.name) else dtype


def describe(path: str, leaf: Any) -> Said:
    """What is said of the leaf at this path of a state. Arrays are not read.

    Raises LaunchError (WL0951) for leaves that no checkpoint keeps.
    """
    if is_tracer(leaf):
        raise _refused(path, "a value that is traced", "save the state outside of compiled functions")
    if isinstance(leaf, jax.Array):
        return _describe_array(path, leaf)
    if isinstance(leaf, np.ndarray | np.generic):
        if leaf.dtype.hasobject or dtype_of(name_of(leaf.dtype)) != leaf.dtype:
            raise _refused(path, f"an array of {leaf.dtype}", "keep numbers in arrays, and structs without gaps")
        kind = "array" if isinstance(leaf, np.ndarray) else "scalar"
        return {"path": path, "kind": kind, "dtype": name_of(leaf.dtype), "shape": list(leaf.shape)}
    if isinstance(leaf, np.random.Generator):
        return {"path": path, "kind": "Generator", "value": _describe_source(path, leaf.bit_generator)}
    if isinstance(leaf, np.random.RandomState):
        state = leaf.get_state(legacy=False)
        return {
            "path": path,
            "kind": "RandomState",
            "value": {"source": state["bit_generator"], "state": _as_json(state)},
        }
    if type(leaf) is random.Random:
        return {"path": path, "kind": "Random", "value": _as_json(leaf.getstate())}
    for kind, known in VALUES.items():
        if type(leaf) is known.type:
            return {"path": path, "kind": kind, "value": known.write(leaf)}
    raise _refused(
        path,
        f"of type {type(leaf).__module__}.{type(leaf).__qualname__}",
        "a state is a pytree of arrays, numbers, text and generators of random numbers; register classes of yours "
        "with jax.tree_util.register_dataclass, or keep them out of the state",
    )


def take(path: str, leaf: Any) -> Leaf:
    """A copy of the leaf in the host's memory, which nothing that happens to the leaf afterwards changes.

    Raises LaunchError (WL0951) for leaves that no checkpoint keeps.
    """
    said = describe(path, leaf)
    if said["kind"] == "jax":
        return Leaf(said, _copy_shards(jax.random.key_data(leaf) if "key" in said else leaf))
    if said["kind"] in ("array", "scalar"):
        return Leaf(said, [(whole(said["shape"]), np.array(leaf, order="C"))])
    return Leaf(said)


def whole(shape: Sequence[int]) -> Index:
    """All of an array of this shape."""
    return tuple((0, size) for size in shape)


def _refused(path: str, what: str, advice: str) -> LaunchError:
    return LaunchError(Diagnostic("WL0951", f"state{path} is {what}, which no checkpoint keeps", help=advice))


def _describe_array(path: str, leaf: jax.Array) -> Said:
    said: Said = {"path": path, "kind": "jax", "is_shared": not leaf.is_fully_addressable}
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        said["key"] = str(jax.random.key_impl(leaf))
        leaf = jax.random.key_data(leaf)
    return said | {"dtype": name_of(np.dtype(leaf.dtype)), "shape": list(leaf.shape), "is_weak": bool(leaf.weak_type)}


def _copy_shards(leaf: jax.Array) -> list[tuple[Index, Array]]:
    """Those parts of an array that this process is to keep: of copies on several devices one."""
    shards: dict[Index, Array] = {}
    for shard in leaf.addressable_shards:
        index = index_of(shard.index or (), leaf.shape)
        if (shard.replica_id == 0 or leaf.is_fully_addressable) and index not in shards:
            shards[index] = np.array(shard.data, order="C")
    return list(shards.items())


def index_of(slices: Sequence[slice], shape: Sequence[int]) -> Index:
    """Where slices begin and end in an array of this shape.

    >>> index_of((slice(None), slice(2, 4)), (3, 8))
    ((0, 3), (2, 4))
    """
    return tuple(each.indices(size)[:2] for each, size in zip(slices, shape, strict=True))


def give(
    said: dict[str, Any], read: Callable[[Index], Array], given: Any, elsewhere: jax.sharding.Sharding | None
) -> Any:
    """The leaf anew: of the kind that was saved, with the given leaf's sharding.

    `read` gives a part of the array. `elsewhere` is where arrays go that were no arrays in the given state.
    """
    kind = said["kind"]
    if kind == "jax":
        return _give_array(said, read, given, elsewhere)
    if kind in ("array", "scalar"):
        array = read(whole(said["shape"]))
        return array if kind == "array" else array[()]
    if kind in ("Generator", "RandomState"):
        return _give_generator(kind, said["value"])
    if kind == "Random":
        made = random.Random()
        version, words, gauss = said["value"]
        made.setstate((version, tuple(words), gauss))
        return made
    return VALUES[kind].read(said["value"])


def _give_array(
    said: dict[str, Any], read: Callable[[Index], Array], given: Any, elsewhere: jax.sharding.Sharding | None
) -> jax.Array:
    shape, dtype = tuple(said["shape"]), dtype_of(said["dtype"])
    like = given if isinstance(given, jax.Array) else None
    if like is not None and jnp.issubdtype(like.dtype, jax.dtypes.prng_key):
        like = jax.random.key_data(like)
    sharding = elsewhere if like is None else like.sharding if like.committed or not like.is_fully_addressable else None
    if sharding is None:
        made = jnp.asarray(read(whole(shape)))
    else:
        made = jax.make_array_from_callback(
            shape, sharding, lambda slices: read(index_of(slices or (), shape)), dtype=dtype
        )
    if made.dtype != dtype:
        raise ValueError(f"JAX has no {dtype.name} here: jax_enable_x64 was otherwise when it was saved")
    if said["is_weak"]:
        made = weakly_typed(made, dtype)
    return jax.random.wrap_key_data(made, impl=said["key"]) if "key" in said else made


def _describe_source(path: str, source: Any) -> Said:
    """The state of a source of random bits, and the seeds of those that it may spawn."""
    name = type(source).__name__
    if BIT_GENERATORS.get(name) is not type(source):
        raise _refused(path, f"a generator of random numbers by {name}", f"known are {', '.join(BIT_GENERATORS)}")
    said: Said = {"source": name, "state": _as_json(source.state)}
    seeds = source.seed_seq
    if type(seeds) is np.random.SeedSequence:
        names = ("entropy", "spawn_key", "pool_size", "n_children_spawned")
        said["seeds"] = _as_json({name: getattr(seeds, name) for name in names})
    return said


def _give_generator(kind: str, value: dict[str, Any]) -> Any:
    seeds = value.get("seeds")
    source = BIT_GENERATORS[value["source"]](np.random.SeedSequence(**_from_json(seeds)) if seeds else 0)
    if kind == "RandomState":
        made = np.random.RandomState(source)
        made.set_state(_from_json(value["state"]))
        return made
    source.state = _from_json(value["state"])
    return np.random.Generator(source)


def _as_json(value: Any) -> Any:
    """A generator's state as JSON: dictionaries, lists, numbers, text; arrays with their dtype."""
    if isinstance(value, dict):
        return {name: _as_json(each) for name, each in value.items()}
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.name, "elements": value.tolist()}
    if isinstance(value, tuple | list):
        return [_as_json(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"dtype", "elements"}:
            return np.array(value["elements"], value["dtype"])
        return {name: _from_json(each) for name, each in value.items()}
    return [_from_json(each) for each in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class _Value:
    """How values of one of Python's types are written as JSON, to the bit, and read."""

    type: type
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


VALUES = {
    "bool": _Value(bool, lambda value: value, bool),
    "int": _Value(int, hex, lambda text: int(text, 16)),
    "float": _Value(float, lambda value: struct.pack("<d", value).hex(), lambda text: _floats(text)[0]),
    "complex": _Value(
        complex, lambda value: struct.pack("<2d", value.real, value.imag).hex(), lambda text: complex(*_floats(text))
    ),
    "str": _Value(
        str,
        lambda value: value.encode("utf-8", "surrogatepass").hex(),
        lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
    ),
    "bytes": _Value(bytes, bytes.hex, bytes.fromhex),
}


def _floats(text: str) -> tuple[float, ...]:
    packed = bytes.fromhex(text)
    return struct.unpack(f"<{len(packed) // 8}d", packed)
