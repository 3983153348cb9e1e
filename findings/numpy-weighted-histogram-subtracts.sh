#!/usr/bin/env bash
# numpy.histogram with weights and edges sorts, adds up all weights before each edge, and subtracts
# neighbouring sums. So a large weight in one bin wipes out the bins after it. With bins of one
# width each bin is added up by itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np

print("NumPy", np.__version__)
values, weights = [0.5, 1.5, 2.5], [1e16, 1.0, 1.0]
edges = np.histogram(values, bins=[0, 1, 2, 3], weights=weights)[0].tolist()
width = np.histogram(values, bins=3, range=(0, 3), weights=weights)[0].tolist()
print("edges 0, 1, 2, 3:   ", edges)
print("3 bins from 0 to 3: ", width)
assert edges == [1e16, 0.0, 0.0]
assert width == [1e16, 1.0, 1.0]
PYTHON
