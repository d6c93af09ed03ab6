"""What tests of library routines share."""

from __future__ import annotations

import pytest

from tests.hosting.libraries.device import Device


@pytest.fixture
def device() -> Device:
    return Device()
