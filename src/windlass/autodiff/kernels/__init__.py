"""Derivatives of kernels on the loop level: what is not raised has them too.

Takes a function of the loop level whose numbers are known (`windlass.parallel.specialization`) and which of its
arguments vary; gives functions of the loop level that take shadows beside memory. `tangent_kernel` (forward.py) places
tangents beside values, and writes them to shadows as values are written to memory. `pullback_kernel` (reverse.py) runs
each thread forwards and then backwards: cotangents of what memory holds are in its shadow, a load adds to it, a store
takes from it. What the way back asks of the values on the way there is computed again or kept on a tape (keeping.py,
recording.py). The derivative of an operation stands in its class, as for tensors.

Blocks whose threads meet are run by one thread first (blocks.py).

The method is Enzyme's: Moses and Churavy, "Instead of rewriting foreign code for machine learning, automatically
synthesize fast gradients", NeurIPS 2020; Moses et al., "Reverse-mode automatic differentiation and optimization of GPU
kernels via Enzyme", SC 2021. Start reading at varying.py.
"""

from windlass.autodiff.kernels.blocks import threads_meet, with_one_thread_a_block
from windlass.autodiff.kernels.forward import tangent_kernel
from windlass.autodiff.kernels.reverse import pullback_kernel
from windlass.autodiff.kernels.varying import Refusal, Varying

__all__ = ["Refusal", "Varying", "pullback_kernel", "tangent_kernel", "threads_meet", "with_one_thread_a_block"]
