"""Random kernels without care for their values: any bits, shifts, divisions, conversions, places within a mask.

What is raised may round sums in another order, so that kernels for it are written with ranges in mind. Native code is
the emulator's to the bit: here everything goes.
"""
