"""Which form a launch takes that has several: the one that costs least, by estimate or as it was measured.

Estimates come from what the tensor program and the loops have to do (candidates.py, `windlass.native.work`). A launch
whose calls take long is tried in the other form, too (trials.py), unless the estimates are far apart, and what was
found is remembered (measurements.py). Where the forms give other bits, the estimate decides, so that results do not
depend on what else the machine does; but not where the user asked for the fastest form (tuning.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from windlass.diagnostics import RaisingError, WindlassError
from windlass.launching.array_binding import bind_arrays
from windlass.launching.candidates import (
    NATIVE,
    RAISED,
    emulated_candidate,
    native_candidate,
    raised_candidate,
    with_measured,
)
from windlass.launching.form import Form, PreparedFunction, PreparedLaunch, Request
from windlass.launching.measurements import Measurement, digest_of, recall, remember
from windlass.launching.native_form import NativeForm, prepare, raised_instead
from windlass.launching.native_launch import facts_of, specialized
from windlass.launching.native_within import refusal_by_itself
from windlass.launching.raised_form import RaisedForm
from windlass.launching.trials import TriedLaunch, refusal_of_trial, time_forms
from windlass.native.plan import WIDEST
from windlass.native.pool import thread_count
from windlass.native.refusal import NotNative
from windlass.native.work import Work, work_of_launch
from windlass.reports.candidate import Candidate
from windlass.runtime.settings import trials_are_allowed
from windlass.stablehlo.optimizing import Choices

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.launching.traced_launch import TracedLaunch
    from windlass.pipeline import RaisedLaunch
    from windlass.reports.report import Report
    from windlass.runtime.launch_shape import LaunchShape

SECONDS_BEFORE_TRIAL = 0.25
"""A launch is tried in its other form once its calls have taken so long in all: about what the trial itself takes."""
FAR_APART = 20.0
"""Forms of which one takes so many times longer by estimate are not tried."""


@dataclass
class Choice:
    """The forms of a launch that can be raised, and which of them is best."""

    launch: Request
    compiled: RaisedLaunch

    @cached_property
    def digest(self) -> str:
        return digest_of(self.launch.kernel, self.compiled.binding)

    @cached_property
    def measurement(self) -> Measurement | None:
        """What was measured of the launch and counts."""
        found = recall(self.digest)
        return found if found is not None and (found.is_wanted or trials_are_allowed()) else None

    @cached_property
    def work(self) -> Work | None:
        """What the loops have to do; None where there are none."""
        try:
            return work_of_launch(specialized(self.launch), facts_of(self.launch), Choices().device_on().cache)
        except (NotNative, RaisingError):
            return None
        except Exception:  # a defect of ours, which must not take the user's result away
            return None

    @cached_property
    def raised(self) -> Candidate:
        return raised_candidate(self.compiled, Choices().device_on())

    @cached_property
    def native(self) -> Candidate:
        """As native code; its machine code is made only where that might be faster."""
        if self.work is None:
            return Candidate(NATIVE, refusal="it has no loops that native code could be made of")
        if (reason := refusal_by_itself(self.compiled, self.launch.shape)) is not None:
            return Candidate(NATIVE, refusal=reason)
        device, threads = Choices().device_on(), thread_count()
        best = native_candidate(self.work, device, WIDEST, threads)
        if best.best_known > FAR_APART * self.raised.best_known:
            return best
        try:
            code = self.prepared_native.code
        except NotNative as reason:
            return Candidate(NATIVE, refusal=reason.reason)
        return native_candidate(self.work, device, code.width, 1 if code.is_ordered else threads)

    @cached_property
    def prepared_native(self) -> NativeForm:
        """Raises NotNative where there is none."""
        return prepare(self.launch)

    def candidates(self) -> tuple[Candidate, ...]:
        """All forms, the best first."""
        measured = {} if self.measurement is None else self.measurement.seconds
        emulated = emulated_candidate(self.launch.shape, self.work)
        found = with_measured((self.raised, self.native, emulated), measured)
        return tuple(sorted(found, key=lambda each: (each.form != self.best, each.best_known)))

    @cached_property
    def best(self) -> str:
        """The name of the form to be used."""
        return self.decision[0]

    @cached_property
    def decision(self) -> tuple[str, str]:
        """The name of the form to be used, and why it is that."""
        known = self.measurement
        if known is not None and known.fastest() in (RAISED, NATIVE):
            if known.is_wanted:
                return known.fastest(), "it was the fastest when it was tuned"
            if known.are_same:
                return known.fastest(), "it was the fastest when both were tried"
        if self.native.refusal:
            return RAISED, self.native.refusal
        is_less = self.native.best_known < self.raised.best_known
        return NATIVE if is_less else RAISED, "it takes less by estimate"

    def prepare(self) -> PreparedLaunch:
        """The launch in the best form. Where a trial may find the other one to be better, that is tried when calls have
        taken long."""
        launch = self.launch
        kernel, shape = launch.kernel, launch.shape
        if self.best == NATIVE:
            kernel.note_raised(shape, self.compiled)
            prepared: PreparedLaunch = self.prepared_native
        else:
            prepared = RaisedForm.on_arrays(launch, None)
        report = kernel.last_report
        assert report is not None
        self.tell(report)
        refusal = refusal_by_itself(self.compiled, launch.shape)
        is_settled = self.measurement is not None or not trials_are_allowed() or refusal is not None
        if is_settled or prepared.name not in (RAISED, NATIVE):
            return prepared
        settle = partial(try_both, kernel, shape, launch.traced, prepared, report)
        return TriedLaunch(prepared, settle, SECONDS_BEFORE_TRIAL)

    def tell(self, report: Report) -> None:
        """Enter into a report which form is taken, and what is known of the others."""
        report.is_native = self.best == NATIVE
        report.choice_reason = self.decision[1]
        report.candidates = self.candidates()


def try_both(
    kernel: LoadedKernel,
    shape: LaunchShape,
    traced: frozenset[int],
    prepared: PreparedLaunch,
    report: Report | None,
    arguments: Sequence[Any],
) -> PreparedLaunch:
    """The form of a launch that is the best once both have been timed on copies of these arguments.

    That is told in the report, where there is one.
    """
    if refusal_of_trial(kernel, arguments) is not None:
        return prepared
    try:
        choice = choose(Request.of(kernel, shape, arguments, traced))
    except WindlassError:
        return prepared
    if prepared.name == RAISED and choice.native.best_known > FAR_APART * choice.raised.best_known:
        return prepared
    try:
        other = choice.prepared_native if prepared.name == RAISED else RaisedForm.on_arrays(choice.launch, None)
    except (NotNative, WindlassError):
        return prepared
    forms = {each.name: each for each in (prepared, other)}
    found = time_forms(kernel, arguments, forms)
    remember(choice.digest, found)
    if not found.are_same:
        return prepared
    settled = Choice(choice.launch, choice.compiled)
    if report is not None:
        settled.tell(report)
    return forms[settled.best]


class ChosenForm(Form):
    """Launches that can be raised, in the best of their forms."""

    __slots__ = ()

    @classmethod
    def on_arrays(cls, launch: Request, reason: RaisingError | None) -> PreparedLaunch:
        return choose(launch).prepare()

    @classmethod
    def on_values(cls, launch: Request, reason: RaisingError | None) -> PreparedFunction:
        raise raised_instead()

    @classmethod
    def on_traced(cls, launch: TracedLaunch, reason: RaisingError | None) -> None:
        raise raised_instead()


def choose(launch: Request) -> Choice:
    """The forms of a launch on NumPy arrays.

    Raises RaisingError for one that can't be raised.
    """
    kernel = launch.kernel
    return Choice(launch, kernel.compile(bind_arrays(kernel, launch.shape, launch.arguments, launch.traced)[1]))
