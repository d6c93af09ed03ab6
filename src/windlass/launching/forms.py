"""All forms that launches can take, and the choice among them: the first that has no reason against a launch.

A new form is a class, and a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from windlass.diagnostics import RaisingError
from windlass.launching.choosing import ChosenForm
from windlass.launching.driver_form import DriverForm
from windlass.launching.emulated_form import EmulatedForm
from windlass.launching.form import Form
from windlass.launching.native_at_first import NativeAtFirst
from windlass.launching.native_form import NativeForm
from windlass.launching.raised_form import RaisedForm
from windlass.launching.tiering import Order, policy

Made = TypeVar("Made")

FORMS: tuple[type[Form], ...] = (
    ChosenForm,
    RaisedForm,
    DriverForm,
    NativeForm,
    EmulatedForm,
)


def choose(make: Callable[[type[Form], RaisingError | None], Made]) -> Made:
    """What `make` gives for the first form that it raises no RaisingError for; it is told why those before did not do.

    Raises RaisingError where no form has the launch.
    """
    reason: RaisingError | None = None
    for form in _in_order(policy.at_hand):
        try:
            return make(form, reason)
        except RaisingError as error:
            reason = error
    assert reason is not None
    raise reason


def _in_order(order: Order) -> Sequence[type[Form]]:
    """The forms to be tried one after the other."""
    match order:
        case "cheapest":
            return FORMS
        case "raised":
            return [form for form in FORMS if form is not ChosenForm]
        case "native":
            return (NativeForm, *FORMS)
        case "native at first" | "native alone":
            return (NativeAtFirst, *FORMS)
