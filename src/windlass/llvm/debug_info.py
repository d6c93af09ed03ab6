"""What debug information says of files: their names, and which are nobody's but ours or the compiler's."""

from __future__ import annotations

import re

HEADER_FOLDERS = ("/windlass/frontends/cuda/include/", "/windlass/frontends/kernels/include/", "/ziglang/lib/")
"""Headers that come with Windlass or with clang: nobody's mistake, so what is wrong is where they are called."""


def is_in_header(file: str) -> bool:
    """Whether a file is a header that comes with Windlass or with clang.

    >>> is_in_header("/lib/windlass/frontends/cuda/include/cuda_runtime.h"), is_in_header("wave.cuh")
    (True, False)
    """
    return any(folder in file for folder in HEADER_FOLDERS)


_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2})")


def decode_string(written: str) -> str:
    r"""What stands between the quotes of a string in LLVM IR, which writes bytes beyond ASCII as `\XX`.

    >>> decode_string(r"ren\C3\A9/wave.cu"), decode_string(r"a\22b")
    ('rené/wave.cu', 'a"b')
    """
    return _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), written.encode()).decode("utf-8", "replace")
