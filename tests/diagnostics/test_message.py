from __future__ import annotations

from pathlib import Path

from windlass.diagnostics import CompilationError, Diagnostic, Position


def test_source_line_is_shown_with_the_span_marked(tmp_path: Path) -> None:
    source = tmp_path / "ocean.cu"
    source.write_text("int a;\n\tfloat depth = 3\n")
    shown = str(
        Diagnostic(
            "WL0101",
            "expected ';'",
            Position(str(source), 2, 8),
            length=5,
            notes=("a note",),
            help="add one",
        )
    )
    assert shown == (
        "error[WL0101]: expected ';'\n"
        f" --> {source}:2:8\n"
        "   |\n"
        " 2 |     float depth = 3\n"
        "   |           ^^^^^\n"
        "  note: a note\n"
        "  help: add one"
    )


def test_position_without_its_file_is_named_all_the_same() -> None:
    shown = str(Diagnostic("WL0101", "wrong", Position("gone.cu", 3, 1)))
    assert shown == "error[WL0101]: wrong\n --> gone.cu:3:1"


def test_text_of_a_source_that_is_no_file_is_shown() -> None:
    shown = str(Diagnostic("WL0101", "wrong", Position("<text>", 3, 2), source="x = y"))
    assert shown.splitlines()[-2:] == [" 3 | x = y", "   |  ^"]


def test_error_of_several_diagnostics_shows_each() -> None:
    error = CompilationError(Diagnostic("WL0101", "one"), Diagnostic("WL0102", "two"))
    assert str(error) == "error[WL0101]: one\n\nerror[WL0102]: two"
