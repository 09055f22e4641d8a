"""Calls a program with variants for some sizes: variants.py FOLDER. Each variant writes its own number."""
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import variants  # noqa: E402

for n, k, expected in [(8, 0, 8), (8, 3, 8), (16, 3, 16), (16, 2, 1), (7, 3, 1), (4, 0, 46), (6, 1, 46), (5, 0, 1)]:
    a = np.zeros(n, "float32")
    variants.fill(a, k)
    assert (a == expected).all(), (n, k, a)
print("ok   the entry calls the variant for the sizes of its arguments")
