"""Inline assembly becomes device code, or stays to be explained."""

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import EmulationError, RaisingError
from windlass.frontends.cuda.ptx import UnknownPTX
from windlass.frontends.cuda.ptx_instructions import ptx_as_cuda

MIXED = """
__global__ void known(unsigned *x) {
    asm("popc.b32 %0, %1;" : "=r"(x[threadIdx.x]) : "r"(x[threadIdx.x]));
}
__global__ void unknown(unsigned *x) {
    asm volatile("vadd4.u32.u32.u32 %0, %1, %1, %1;" : "=r"(x[threadIdx.x]) : "r"(x[threadIdx.x]));
}
"""


def test_what_is_not_known_is_explained_and_the_rest_runs() -> None:
    module = wl.cuda.compile(MIXED)
    x = np.arange(32, dtype=np.uint32)
    module["known"][1, 32](x)
    np.testing.assert_array_equal(x, [number.bit_count() for number in range(32)])
    with pytest.raises(RaisingError) as caught:
        module["unknown"].lower(1, 32, x).text("tensor")
    assert caught.value.diagnostics[0].code == "WL0205"
    assert ":6:5" in str(caught.value)
    with pytest.raises(EmulationError) as emulated:
        wl.emulate(module["unknown"])[1, 32](x)
    assert emulated.value.diagnostics[0].code == "WL0611"


@pytest.mark.parametrize(
    "text",
    [
        "vadd4.u32 $0, $1, $1, $1;",
        "add.rz.f16 $0, $1, $1;",
        "add.u32 $0, $1;",
        "mov.u32 $0, elsewhere;",
        "mov.u32 $0, %pm0;",
        "ld.global.u32 $0, [table+4];",
        "cvt.rz.f32.s32 $0, $1;",
        "barrier.arrive 0, 32;",
        "wgmma.fence.sync.aligned;",
        "}",
    ],
)
def test_forms_that_are_not_known_are_refused(text: str) -> None:
    with pytest.raises(UnknownPTX):
        ptx_as_cuda(text, {"$0": "place_0", "$1": "place_1"})


def test_statements_keep_their_order_labels_and_predicates() -> None:
    text = "{ .reg .pred p; AGAIN: setp.lt.s32 p, $0, 4; @!p bra END; /* more */ add.s32 $0, $0, 1; bra AGAIN; END: }"
    assert ptx_as_cuda(text, {"$0": "place_0"}).split("\n") == [
        "{",
        "bool ptx_p = 0;",
        "ptx_label_AGAIN: ;",
        "{ bool holds = (as<int>(place_0) < as<int>((int)4)), opposite = !(as<int>(place_0) < as<int>((int)4)); "
        "(void)opposite; put(ptx_p, holds); }",
        "if (!ptx_p) { goto ptx_label_END; }",
        "put(place_0, add<int>(as<int>(place_0), as<int>((int)1)));",
        "goto ptx_label_AGAIN;",
        "ptx_label_END: ;",
        "}",
    ]
