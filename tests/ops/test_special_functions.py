"""Functions whose meaning NumPy and SciPy do not give as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special  # pyright: ignore[reportMissingTypeStubs]

from windlass.ops.special_functions import hurwitz_zeta


def test_zeta_takes_no_longer_for_numbers_far_below_zero() -> None:
    found = hurwitz_zeta(np.array([2.0, 3.0, 4.0, 2.0]), np.array([-1e15 - 0.5, -1e17, -7.1, -100.75]))
    expected: list[Any] = [np.pi**2, np.inf, scipy.special.zeta(4.0, -7.1), scipy.special.zeta(2.0, -100.75)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
