"""`wl.checkpoint`: all states come back to the bit, and what is torn, full or strange is told."""

from __future__ import annotations

import errno
import os
import random
import shutil
import struct
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import LaunchError, WindlassWarning
from windlass.processes import parts, progress
from windlass.processes.leaves import take

EDGES = np.array([np.nan, -np.nan, np.inf, -0.0, 1e-310, 5e-324, struct.unpack("<d", b"\1\0\0\0\0\0\xf4\x7f")[0]])

STATES: dict[str, Any] = {
    "arrays": {
        "f64": EDGES,
        "c": EDGES[:6].view(complex),
        "big-endian": np.arange(3, dtype=">i4"),
        "empty": np.zeros((0, 4)),
    },
    "views": (np.arange(12.0).reshape(3, 4).T, np.arange(9)[::-2], np.asfortranarray(np.ones((2, 3)))),
    "narrow": [np.arange(4).astype(each) for each in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4)],
    "structs": np.array([(1, (2.0, [3, 4]))], [("a", "i4"), ("b", [("c", "f4"), ("d", "u1", (2,))])]),
    "text and times": (np.array(["ä", "bc"]), np.array([b"x"]), np.array(["2020-01-01"], "M8[s]"), np.bool_(True)),
    "scalars": (np.float32(1.1), np.int8(-3), np.complex64(1j), np.float64("nan")),
    "jax": {"f32": jnp.arange(6.0).reshape(2, 3), "bf16": jnp.ones(3, jnp.bfloat16), "0-d": jnp.int32(7)},
    "weak": (jnp.asarray(1.5), jnp.asarray(3), jax.jit(lambda x: x * jnp.ones(2))(2.0)),
    "keys": (jax.random.key(3), jax.random.split(jax.random.key(1, impl="rbg"), 3), jax.random.PRNGKey(5)),
    "numbers": (True, -(2**200), 0.1, -0.0, float("inf"), complex(-0.0, float("nan")), "a/ä\ud800", b"\0\xff", None),
    "nothing": (),
    "names": {"a/b": 1.0, "../x": np.ones(1), "@0": np.zeros(1), "": np.ones(2)},
}


def bits_of(leaf: Any) -> Any:
    """What two leaves have to have in common."""
    if isinstance(leaf, jax.Array):
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        data = jax.random.key_data(leaf) if is_key else leaf
        kept = (leaf.dtype, leaf.shape, data.weak_type, data.sharding, data.committed)
        return (*kept, np.asarray(data).tobytes())
    if isinstance(leaf, np.ndarray | np.generic):
        return type(leaf), leaf.dtype, leaf.shape, leaf.tobytes()
    if isinstance(leaf, float):
        return struct.pack("<d", leaf)
    if isinstance(leaf, complex):
        return struct.pack("<2d", leaf.real, leaf.imag)
    return type(leaf), leaf


def save(folder: Path, state: Any) -> None:
    saved = wl.checkpoint(folder)
    saved.save(state)
    saved.wait()


@pytest.mark.parametrize("name", STATES)
def test_a_state_comes_back_to_the_bit(tmp_path: Path, name: str) -> None:
    state = STATES[name]
    saved = wl.checkpoint(tmp_path)
    assert saved.restore(state) is state
    saved.save(state)
    saved.wait()
    restored = wl.checkpoint(tmp_path).restore(state)
    assert jax.tree.structure(restored) == jax.tree.structure(state)
    assert list(map(bits_of, jax.tree.leaves(restored))) == list(map(bits_of, jax.tree.leaves(state)))


@pytest.mark.parametrize("name", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_generators_of_random_numbers_go_on_where_they_were(tmp_path: Path, name: str) -> None:
    def make() -> tuple[np.random.Generator, np.random.RandomState, random.Random]:
        source = getattr(np.random, name)
        return np.random.Generator(source(7)), np.random.RandomState(source(8)), random.Random(9)

    def draw(state: Any) -> list[Any]:
        numpy, legacy, python = state
        spawned = [] if name == "MT19937" else [each.random() for each in numpy.spawn(2)]
        return [numpy.random(), numpy.integers(9, dtype=np.uint32), *spawned, legacy.randn(), python.gauss(0, 1)]

    state = make()
    for _ in range(3):
        draw(state)
    save(tmp_path, state)
    restored = wl.checkpoint(tmp_path).restore(make())
    assert [draw(restored) for _ in range(5)] == [draw(state) for _ in range(5)]


def run(folder: Path, steps: int, last: int | None = None) -> tuple[int, Any]:
    """Where a program began, and its state at the end; it breaks after the step `last`."""
    saved = wl.checkpoint(folder, every=3, keep=2)
    u, rng = saved.restore((jnp.zeros(3), np.random.default_rng(2)))
    begin = saved.step
    for step in saved.steps(steps):
        u = u + rng.random(3).astype(np.float32) * step
        saved.save((u, rng))
        if step == last:
            break
    return begin, (np.asarray(u).tobytes(), rng.random())


def test_a_program_goes_on_after_the_last_checkpoint_and_keeps_the_last_ones(tmp_path: Path) -> None:
    undisturbed = run(tmp_path / "a", 11)
    run(tmp_path / "b", 11, last=7)
    assert [each.step for each in parts.list_whole(tmp_path / "b")] == [3, 6]
    assert run(tmp_path / "b", 11) == (6, undisturbed[1])
    assert [each.step for each in parts.list_whole(tmp_path / "b")] == [9, 11]
    assert sorted(each.name for each in (tmp_path / "b").iterdir()) == ["step-00000009", "step-00000011"]


def test_loops_of_ones_own_say_the_step_or_have_it_counted(tmp_path: Path) -> None:
    saved = wl.checkpoint(tmp_path, every=2)
    for _ in range(5):
        saved.save(1.0)
    saved.save(2.0, step=80)
    saved.save(3.0, step=81)
    saved.wait()
    assert [each.step for each in parts.list_whole(tmp_path)] == [2, 4, 80]
    again = wl.checkpoint(tmp_path)
    assert (again.restore(0.0), again.step) == (2.0, 80)


def test_steps_of_loops_of_ones_own_are_noted_for_who_watches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_own", [])
    progress.SharedProgress.make(tmp_path / "progress")
    noted = progress.share(tmp_path / "progress")
    saved = wl.checkpoint(tmp_path / "run", every=5)
    saved.save(1.0, step=7)
    saved.save(1.0)
    assert noted.read().steps == 8


def test_what_is_changed_after_save_is_not_what_is_saved(tmp_path: Path) -> None:
    u, v = np.zeros(1000), jnp.zeros(1000)
    saved = wl.checkpoint(tmp_path)
    saved.save((u, v))
    u += 1
    jax.jit(lambda v: v + 1, donate_argnums=0)(v).block_until_ready()
    saved.wait()
    assert not any(np.asarray(each).any() for each in wl.checkpoint(tmp_path).restore((u, jnp.ones(1000))))


@pytest.fixture(name="folder")
def make_folder(tmp_path: Path) -> Iterator[Path]:
    run(tmp_path / "run", 9)
    yield tmp_path / "run"


def last_part(folder: Path) -> Path:
    return next((folder / "step-00000009").iterdir())


def test_no_changed_byte_goes_unnoticed(folder: Path, tmp_path: Path) -> None:
    part = last_part(folder)
    right = part.read_bytes()
    state = (jnp.ones(3), np.random.default_rng(5))
    expected = bits_of(wl.checkpoint(folder).restore(state)[0])
    noticed = 0
    for place in range(0, len(right), 13):
        changed = bytearray(right)
        changed[place] ^= 1 << place % 8
        part.write_bytes(changed)
        saved = wl.checkpoint(folder)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            restored = bits_of(saved.restore(state)[0])
        if told:
            assert saved.step == 6 and "WL0953" in str(told[0].message)
            noticed += 1
        else:  # zip archives have times and other things that nobody reads
            assert restored == expected
    assert noticed > len(right) / 39


@pytest.mark.parametrize("left", [0, 1, 100, -1])
def test_a_cut_checkpoint_is_passed_over(folder: Path, left: int) -> None:
    part = last_part(folder)
    part.write_bytes(part.read_bytes()[:left])
    with pytest.warns(WindlassWarning, match="the checkpoint of step 9 can't be read, the one before it is taken"):
        begin, result = run(folder, 9)
    assert begin == 6 and result == run(folder.with_name("undisturbed"), 9)[1]
    # What was cut was written anew.
    assert run(folder, 9)[0] == 9


def test_where_all_are_damaged_the_program_begins_anew(folder: Path) -> None:
    for part in folder.glob("*/*.npz"):
        part.write_bytes(b"")
    with pytest.warns(WindlassWarning) as told:
        assert run(folder, 9)[0] == 0
    assert [str(each.message).splitlines()[0] for each in told] == [
        f"warning[WL0953]: the checkpoint of step {step} can't be read, the one before it is taken" for step in (9, 6)
    ]


def test_a_checkpoint_of_which_a_part_is_missing_is_none(folder: Path) -> None:
    part = last_part(folder)
    part.rename(part.with_name(part.name.replace("0-of-1", "0-of-2")))
    assert run(folder, 9)[0] == 6


def write_for_two(folder: Path, values: list[Any]) -> None:
    """What two processes write that have these values each for itself."""
    for number, value in enumerate(values):
        leaf = take("", value)
        members = {str(place): array for place, (_, array) in enumerate(leaf.shards)}
        shards = [{"member": str(place), "index": index} for place, (index, _) in enumerate(leaf.shards)]
        parts.write_part(folder, 5, "0123abcd", number, 2, [leaf.said | {"shards": shards}], members)


@pytest.mark.parametrize("value", [np.arange(3.0), 7, np.float32(2), jnp.arange(3)])
def test_what_each_process_had_for_itself_another_number_of_them_takes_if_it_was_the_same(
    tmp_path: Path, value: Any
) -> None:
    write_for_two(tmp_path / "same", [value, value])
    assert bits_of(wl.checkpoint(tmp_path / "same").restore(value)) == bits_of(value)
    write_for_two(tmp_path / "other", [value, value + 1])
    with refuse("WL0952", "state was another in each of 2 processes, and now there are 1"):
        wl.checkpoint(tmp_path / "other").restore(value)


def test_parts_that_others_have_not_written_theirs_of_are_removed_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = wl.checkpoint(tmp_path, keep=2)
    saved.save(1.0)
    saved.wait()
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    for value in (2.0, 3.0, 4.0):
        saved.save(value)
    with pytest.warns(WindlassWarning, match="step 2 can't be written: another process has not written its part"):
        saved.wait()
    assert [each.step for each in parts.list_whole(tmp_path)] == [1]
    assert sorted(each.name[-1] for each in tmp_path.iterdir()) == ["1", "3", "4"]


def test_parts_of_two_runs_make_no_checkpoint(folder: Path) -> None:
    part = last_part(folder)
    other = "0" * 8
    shutil.copy(part, part.with_name(part.name.replace("0-of-1", "1-of-2")))
    part.rename(part.with_name(f"part-0-of-2-{other}.npz"))
    assert run(folder, 9)[0] == 6


def test_a_full_disk_costs_checkpoints_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undisturbed = run(tmp_path / "a", 9)[1]
    settle, calls = os.fsync, iter(range(100))

    def full(handle: int) -> None:
        if next(calls) > 2:  # the second checkpoint and those after it
            raise OSError(errno.ENOSPC, "No space left on device")
        settle(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(WindlassWarning, match="the checkpoint of step [69] can't be written: No space left on device"):
        assert run(tmp_path / "b", 9) == (0, undisturbed)
    monkeypatch.undo()
    assert not list(tmp_path.rglob("*.unfinished"))
    assert run(tmp_path / "b", 9) == (3, undisturbed)


FILLING = """
import sys, numpy as np, windlass as wl
saved = wl.checkpoint(sys.argv[1], keep=2)
u = saved.restore(np.zeros(100_000))
for step in saved.steps(5):
    u = u + step
    saved.save(u)
print(u.sum())
"""


@pytest.mark.slow
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    mount = f"mount -t tmpfs -o size=2m tmpfs {tmp_path} && "
    inside = ["unshare", "-rm", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*inside, mount + "true"], check=False).returncode:
        pytest.skip("no disk of one's own can be had here")
    done = subprocess.run(
        [*inside, mount + f'{sys.executable} -c "$0" {tmp_path}/run && ls {tmp_path}/run', FILLING],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ, PYTHONPATH=str(Path(wl.__file__).parents[1])),
    )
    assert done.stdout.split() == ["1000000.0", "step-00000001", "step-00000002"], done.stderr
    assert "the checkpoint of step 5 can't be written: No space left on device" in done.stderr


def refuse(code: str, said: str) -> Any:
    return pytest.raises(LaunchError, match=rf"{code}\]: .*{said}")


def test_what_no_checkpoint_keeps_is_refused_where_it_is(tmp_path: Path) -> None:
    saved = wl.checkpoint(tmp_path)
    with refuse("WL0951", r"state\['f'\] is of type builtins.builtin_function_or_method"):
        saved.save({"f": print})
    with refuse("WL0951", r"state\[1\] is an array of object"):
        saved.save([1, np.array([None])])
    with refuse("WL0951", "state is a value that is traced"):
        jax.jit(saved.save)(jnp.ones(2))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"u": np.zeros(4), "n": 1}, r"state\['u'\] is not as it was saved: shape \(4,\) is given, \(3,\) was saved"),
        ({"u": np.zeros(3, np.float32), "n": 1}, "float32 is given, float64 was saved"),
        ({"u": np.zeros(3)}, r"state\['n'\] is only in the saved one"),
        ({"u": np.zeros(3), "n": 1, "x": 2}, r"state\['x'\] is only in the given one"),
        ({"u": np.zeros(3), "n": random.Random()}, "Random is given, int was saved"),
        ({"u": np.zeros(3), "n": jax.random.key(0)}, "is given"),
    ],
)
def test_another_state_than_the_saved_one_is_refused(tmp_path: Path, given: Any, said: str) -> None:
    save(tmp_path, {"u": np.ones(3), "n": 1})
    with refuse("WL0952", said):
        wl.checkpoint(tmp_path).restore(given)


def test_what_could_not_be_restored_is_not_saved(tmp_path: Path) -> None:
    saved = wl.checkpoint(tmp_path)
    saved.restore((np.zeros(3), 0))
    saved.save((jnp.zeros(3), jnp.int32(0)))  # numbers and NumPy's arrays may become JAX's
    with refuse("WL0952", r"state\[0\] .*shape \(3,\) is given, \(4,\) is saved"):
        saved.save((np.zeros(4), 0))


def test_a_folder_with_checkpoints_is_not_written_over_unread(folder: Path) -> None:
    saved = wl.checkpoint(folder)
    with refuse("WL0955", "holds checkpoints up to step 9, and nothing was restored"):
        saved.save((jnp.zeros(3), np.random.default_rng(2)))
    with refuse("WL0955", "nothing was restored"):
        next(saved.steps(3))


@pytest.mark.parametrize("wrong", [{"every": 0}, {"keep": 0}, {"every": 2.5}, {"keep": True}])
def test_numbers_below_one_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with refuse("WL0955", "a whole number of at least 1 is needed"):
        wl.checkpoint(tmp_path, **wrong)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with refuse("WL0955", "no checkpoints can be kept in"):
        wl.checkpoint(tmp_path / "file")
    with refuse("WL0955", "no checkpoints can be kept in"):
        wl.checkpoint(tmp_path / "file" / "run")
