#!/usr/bin/env bash
# numpy.cumsum of float16 rounds to float16 at each step, so a running sum of ones stops at 2048.
# The sum of the same array does not stop, and along axis 0 of a matrix it does again.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np

print("NumPy", np.__version__)
ones = np.ones(5000, np.float16)
columns = np.ones((5000, 2), np.float16)
rows = np.ones((2, 5000), np.float16)
running = float(np.cumsum(ones)[-1])
whole = float(ones.sum())
down, across = columns.sum(axis=0).tolist(), rows.sum(axis=1).tolist()
print("last running sum", running, "- sum", whole)
print("sum along axis 0", down, "- along axis 1", across)
assert running == 2048.0
assert whole == 5000.0
assert down == [2048.0, 2048.0]
assert across == [5000.0, 5000.0]
PYTHON
