"""Programs on many devices: what is divided among them, and what they tell each other.

Takes a tensor program whose arguments have shardings, and gives one in which ops that read their neighbours' elements
(slices, updates of the interior, pads, rolls, periodic ghost cells) run as local code, in `sdy.manual_computation`
regions that exchange halos: boundary faces and nothing else. What has no such form is left as it was, for XLA to
divide. The program computes the same on any sharding. `counting` tells what a compiled program communicates.

Start reading at `exchanging.py`; `places.py` has the idea.
"""

from windlass.communication.exchanging import (
    Exchanged,
    count_folds_without_nan,
    exchange_and_estimate,
    exchange_halos_in,
    holds_constraints,
    tell_what_divides,
)

__all__ = [
    "Exchanged",
    "count_folds_without_nan",
    "exchange_and_estimate",
    "exchange_halos_in",
    "holds_constraints",
    "tell_what_divides",
]
