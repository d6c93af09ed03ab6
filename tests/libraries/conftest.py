"""What tests of library routines share."""

from __future__ import annotations

import pytest

from tests.libraries.device import Device


@pytest.fixture
def device() -> Device:
    return Device()
