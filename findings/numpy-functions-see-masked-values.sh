#!/usr/bin/env bash
# NumPy's masked arrays: sum and cumsum leave masked values out, but add.reduce, cumulative_sum,
# add.reduceat, bincount and histogram use them, and warn of nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np

warnings.simplefilter("error")
print("NumPy", np.__version__)
x = np.ma.array([100.0, 1.0, 2.0, 3.0], mask=[True, False, False, False])
places = np.ma.array([3, 1, 2, 3], mask=[True, False, False, False])
sums = float(np.sum(x)), float(np.add.reduce(x))
running = float(np.cumsum(x)[-1]), float(np.cumulative_sum(x)[-1])
reduceat, counts = np.add.reduceat(x, [0, 2]), np.bincount(places)
histogram = np.histogram(x, bins=[0, 50, 100])[0]
print("sum, add.reduce:", sums, "- last of cumsum, cumulative_sum:", running)
print("add.reduceat", reduceat, "- bincount", counts, "- histogram", histogram)
assert sums == running == (6.0, 106.0)
assert reduceat.data.tolist() == [101.0, 5.0] and not np.ma.getmaskarray(reduceat).any()
assert counts.tolist() == [0, 1, 1, 2]
assert histogram.tolist() == [3, 1]
PYTHON
