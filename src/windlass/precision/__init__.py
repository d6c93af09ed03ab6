"""Wide floats as several narrow ones: f64 arithmetic on devices that have f32 only, or more digits than f64.

Takes functions of the tensor level, after they were optimized and differentiated, and gives functions that compute the
same with numbers of several limbs (`limbs.Number`). What an op is on limbs its class says by name (`TensorOp.limbs`),
and what that name means stands in `forms`. What has no form is refused at its line (WL0962).

The programs hold only as long as each float operation rounds as it is written: lower them as exact programs
(`lowering.exact_arithmetic.keep_float_results`).

Start reading at `programs.spread_function`, then `spreading`, `arithmetic` and `transforms`.
"""

from windlass.precision.limbs import Limbs
from windlass.precision.programs import spread_function, spread_module

__all__ = ["Limbs", "spread_function", "spread_module"]
