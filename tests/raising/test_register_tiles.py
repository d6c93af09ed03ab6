"""What kernels become whose threads keep parts of the result in registers: contractions, or at least something right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windlass as wl
from tests.programs.register_tiles import squares_of_4  # noqa: F401  (registers the programs)
from windlass.frontends.cuda import compile_device_code
from windlass.raising.register_tiles import find_register_tiles
