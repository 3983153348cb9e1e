#!/usr/bin/env bash
# A NumPy array of one row in reverse is contiguous, and its first stride negative: both say the
# same of one row. Numba's device arrays take the stride at its word. Indexed by whole slices, such
# an array has no row any more. On a GPU numba.cuda.to_device of it raises "incompatible shape".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numba==0.68.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numba
import numpy as np
from numba.cuda.cudadrv import dummyarray

print("Numba", numba.__version__, "NumPy", np.__version__)
row = np.arange(40, dtype=np.int16).reshape(1, 40)[::-1]
print("strides", row.strides, "contiguous", row.flags.c_contiguous)
seen = dummyarray.Array.from_desc(0, row.shape, row.strides, row.itemsize)
whole = seen[:, :].shape
print("shape", seen.shape, "- of [:, :]", whole)
assert row.flags.c_contiguous and row.strides == (-80, 2)
assert seen.shape == (1, 40)
assert whole == (0, 40)
PYTHON
