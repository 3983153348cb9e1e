#!/usr/bin/env bash
# numpy.histogram of float32 with a number of bins rounds the edges to float32; edges that are given
# stay float64. So ten bins of (0, 1), and their edges by numpy.linspace, count otherwise. The edges
# that come back are equal if compared in float32.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np

print("NumPy", np.__version__)
tenths = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], np.float32)
by_number, edges = np.histogram(tenths, bins=10, range=(0, 1))
by_edges = np.histogram(tenths, bins=np.linspace(0, 1, 11))[0]
print("10 bins from 0 to 1:  ", by_number.tolist(), edges.dtype)
print("edges by linspace:    ", by_edges.tolist())
assert edges.dtype == np.float32 and (edges == np.linspace(0, 1, 11).astype(np.float32)).all()
assert by_number.tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 1, 1]
assert by_edges.tolist() == [0, 1, 1, 1, 1, 1, 2, 0, 2, 0]
PYTHON
