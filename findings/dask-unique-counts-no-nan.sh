#!/usr/bin/env bash
# dask.array.unique lists NaN among the values and says that it occurs 0 times; return_inverse gives
# the places of NaN as those of the first value. NumPy's counts are right. Even of one chunk.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 dask==2026.8.0
"$folder/venv/bin/python" - <<'PYTHON'
import dask
import dask.array as da
import numpy as np

print("Dask", dask.__version__, "NumPy", np.__version__)
x = np.array([np.nan, 1.0, np.nan, np.nan])


def unique(module, x):
    values, inverse, counts = module.unique(x, return_inverse=True, return_counts=True)
    return [np.asarray(part).tolist() for part in (values, inverse, counts)]


of_numpy = unique(np, x)
of_dask = {chunk: unique(da, da.from_array(x, chunks=chunk)) for chunk in (4, 2)}
print("values, inverse, counts: NumPy", of_numpy)
print("Dask, by length of chunks:", of_dask)
assert str(of_numpy) == "[[1.0, nan], [1, 0, 1, 1], [1, 3]]"
for seen in of_dask.values():
    assert str(seen) == "[[1.0, nan], [0, 0, 0, 0], [1, 0]]"
PYTHON
