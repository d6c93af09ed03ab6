"""cuSPARSE: sparse vectors and matrices, by the generic interface, and what is left of the older one.

A sparse matrix is read as its elements: rows, columns and values. What is computed on values is a tensor program; which
elements a result has, NumPy finds, since it depends on the data.

Start reading at `descriptors.py`, then `products.py`.
"""

from windlass.hosting.libraries.cusparse import conversions, descriptors, products, solutions

__all__ = ["conversions", "descriptors", "products", "solutions"]
