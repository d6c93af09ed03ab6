"""Positions from debug metadata: of whole texts, of what is inlined, and of texts that go in circles."""

from __future__ import annotations

import pytest

from windlass.diagnostics import Position
from windlass.llvm.positions import DebugPositions

HEADER = "/x/windlass/frontends/cuda/include/math.h"

TEXT = f"""
!1 = !DIFile(filename: "wave.cu", directory: "/home")
!2 = !DIFile(filename: "{HEADER}", directory: "/home")
!3 = distinct !DISubprogram(name: "kernel", scope: !1, file: !1, line: 3, unit: !9)
!4 = distinct !DISubprogram(name: "sqrt", scope: !2, file: !2, line: 70, unit: !9)
!5 = distinct !DILexicalBlock(scope: !3, file: !1, line: 4, column: 3)
!6 = !DILocation(line: 5, column: 9, scope: !5)
!7 = !DILocation(line: 71, column: 2, scope: !4, inlinedAt: !6)
!8 = !DILocation(line: 0, scope: !5)
!9 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1)
!10 = !DILocation(line: 72, column: 2, scope: !4)
!11 = !DILocation(line: 0, scope: !12)
!12 = distinct !DILexicalBlock(scope: !12, line: 4, column: 3)
!13 = !DILocation(line: 5, column: 1, scope: !5, inlinedAt: !14)
!14 = !DILocation(line: 6, column: 1, scope: !5, inlinedAt: !13)
!15 = !{{!1}}
"""


@pytest.fixture
def positions() -> DebugPositions:
    return DebugPositions(TEXT)


def test_a_relative_name_is_found_in_its_directory_unless_it_is_of_a_text_that_was_given(
    positions: DebugPositions,
) -> None:
    assert positions.position(6) == Position("/home/wave.cu", 5, 9)
    assert DebugPositions(TEXT, {"wave.cu": "..."}).position(6) == Position("wave.cu", 5, 9)


def test_the_position_of_a_header_is_where_it_is_called(positions: DebugPositions) -> None:
    assert positions.position(7) == Position("/home/wave.cu", 5, 9)
    assert positions.chain(7) == (Position(HEADER, 71, 2), Position("/home/wave.cu", 5, 9))
    assert positions.find(10) == (Position(HEADER, 72, 2), ())


def test_what_was_merged_from_several_lines_is_at_its_function(positions: DebugPositions) -> None:
    assert positions.position(8) == positions.position(3) == Position("/home/wave.cu", 3)


@pytest.mark.parametrize("number", [None, -1, 15, 99])
def test_what_has_no_location_has_no_position(positions: DebugPositions, number: int | None) -> None:
    assert positions.find(number) == (None, ())


def test_circles_come_to_an_end(positions: DebugPositions) -> None:
    assert positions.position(11) is None
    assert positions.chain(13) == (Position("/home/wave.cu", 5, 1), Position("/home/wave.cu", 6, 1))
