"""One of the forms that a launch can take, as reports tell of it."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.reports.words import spell_seconds


@dataclass(frozen=True)
class Candidate:
    """A form by its name: the seconds that a launch takes in it by estimate, and those that it took where it was tried.

    `is_guessed` says that the estimate counts loops whose end depends on the data. Where the launch does not have this
    form, `refusal` says why, and there are no seconds.
    """

    form: str
    seconds: float | None = None
    measured: float | None = None
    is_guessed: bool = False
    refusal: str = ""

    @property
    def best_known(self) -> float:
        """The seconds that are to be compared; infinite for a form that the launch does not have."""
        known = self.seconds if self.measured is None else self.measured
        return float("inf") if known is None or self.refusal else known

    def __str__(self) -> str:
        if self.refusal:
            return f"{self.form}: not possible, {self.refusal}"
        told: list[str] = []
        if self.seconds is not None:
            rounds = ", its loops guessed" if self.is_guessed else ""
            told.append(f"about {spell_seconds(self.seconds)} by estimate{rounds}")
        if self.measured is not None:
            told.append(f"{spell_seconds(self.measured)} measured")
        return f"{self.form}: {'; '.join(told) or 'not estimated'}"
