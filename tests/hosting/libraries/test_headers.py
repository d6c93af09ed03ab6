"""The libraries' headers and the register of routines agree: names, and what each parameter is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from windlass.frontends.cuda.clang import INCLUDE_FOLDER, UMBRELLA_HEADER, host_flags, run_clang
from windlass.hosting.libraries.routines import (
    LIBRARIES,
    Address,
    Factor,
    Option,
    Result,
    Routine,
    Stream,
    find_routine,
    routines,
)
from windlass.hosting.library_calls import library_functions

HEADERS = ("cublas_v2.h", "cublasLt.h", "cufftXt.h", "cusparse.h", "cusolverDn.h", "cusolverSp.h", "curand.h")


def declared(headers: tuple[str, ...], folder: Path) -> dict[str, str]:
    """The functions that headers declare, each with a line of LLVM IR that says its types."""
    include = "".join(f'#include "{each}"\n' for each in headers)
    source = folder / "all.cu"
    source.write_text(include)
    flags = [*host_flags(), "-include", UMBRELLA_HEADER]
    text = run_clang([*flags, "-E", "-P", str(source), "-o", "-"]).output
    names = set(re.findall(rf"\b((?:{'|'.join(LIBRARIES)})[A-Z]\w*)\s*\(", text))
    # An address is taken of each, so that it is declared in the code; of overloaded ones, of the form with one meaning.
    overloaded = {"cublasGemmEx", "cublasGemmBatchedEx", "cublasGemmStridedBatchedEx"}
    places = "".join(
        f'extern "C" void *use_{name}() {{ return (void *)&{name}{"_64" if name in overloaded else ""}; }}\n'
        for name in sorted(names)
    )
    source.write_text(include + places)
    outcome = run_clang([*flags, "-emit-llvm", str(source), "-o", "-"])
    assert outcome.status == 0, outcome.messages[:2000]
    return {
        match[1]: match[0] for match in re.finditer(r"^declare [^\n]*@(\w+)\([^\n]*$", outcome.output, re.MULTILINE)
    }


def kinds_of(line: str, name: str) -> str:
    """A character for each parameter, as the program passes it."""
    text = library_functions([line], lambda each: each == name)
    found = re.search(rf'@kinds\.{name} = private constant \[\d+ x i8\] c"(\w*)', text)
    assert found is not None, line
    return found[1]


def wanted_kinds(routine: Routine) -> str:
    """What the function's annotations expect: an address or number (p or i) where it may be either."""
    letters = {int: "*", Address: "p", Result: "p", Factor: "p", Stream: "p", float: "#"}
    return "".join(letters.get(each) or ("i" if issubclass(each, Option) else "*") for each in routine.words.values())


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return declared(HEADERS, tmp_path_factory.mktemp("headers"))


def test_each_declared_function_is_there_with_its_parameters(lines: dict[str, str]) -> None:
    own = {name: line for name, line in lines.items() if name.startswith(LIBRARIES)}
    assert len(own) > 1000
    for name, line in own.items():
        routine = find_routine(name)
        assert routine is not None, f"{name} is declared, and not there"
        found, wanted = kinds_of(line, name), wanted_kinds(routine)
        assert len(found) == len(wanted), f"{name}: {found} {list(routine.words)}"
        for place, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
            fits = (theirs == "*" and mine in "ip") or (theirs == "#" and mine in "fd") or mine == theirs
            assert fits, f"{name}: parameter {place} is {mine}, and taken for {theirs}"


def test_each_routine_is_declared(lines: dict[str, str]) -> None:
    known = {routine.name for routine in map(find_routine, lines) if routine is not None}
    missing = {name for name in routines() if not name.startswith("cublasLegacy")} - known
    assert missing == set()


def test_each_routine_of_the_older_interface_is_taken_as_it_is_declared(tmp_path: Path) -> None:
    lines = declared(("cublas.h",), tmp_path)
    older = {name: line for name, line in lines.items() if name.startswith("cublasLegacy")}
    assert len(older) > 80
    for name, line in older.items():
        routine = find_routine(name)
        assert routine is not None, f"{name} is declared, and not there"
        found = kinds_of(line, name)
        if routine.is_legacy:
            kept = [each for name, each in routine.words.items() if name != "handle" and each is not Result]
            doubled = sum(each is Factor for each in kept) if "dd" in found else 0
            assert len(found) in (len(kept), len(kept) + doubled), f"{name}: {found}"
        else:
            assert len(found) in (len(routine.words), len(routine.words) + 1), f"{name}: {found}"


def test_headers_say_what_they_are() -> None:
    for each in HEADERS:
        assert (INCLUDE_FOLDER / each).read_text().startswith("// ")
