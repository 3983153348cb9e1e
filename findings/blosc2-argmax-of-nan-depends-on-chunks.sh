#!/usr/bin/env bash
# Python-Blosc2's argmax and argmin of an array with a NaN give a place that depends on how the
# array is chunked: the first item, the last one, or another, none of them the NaN's. Its max and
# min are NaN, as NumPy's. NumPy's argmax gives the place of the first NaN.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 blosc2==4.14.1
"$folder/venv/bin/python" - <<'PYTHON'
import blosc2
import numpy as np

print("Python-Blosc2", blosc2.__version__, "NumPy", np.__version__)
x = np.arange(10.0)
x[3] = np.nan
found = {}
for chunk in (2, 5, 10):
    array = blosc2.asarray(x, chunks=(chunk,))
    assert np.isnan(array.max()) and np.isnan(array.min())
    found[chunk] = (int(array.argmax()), int(array.argmin()))
    print(f"chunks of {chunk}: argmax {found[chunk][0]}, argmin {found[chunk][1]}")
print("NumPy: argmax", np.argmax(x), "argmin", np.argmin(x))
assert found == {2: (9, 0), 5: (9, 5), 10: (0, 0)}
assert (np.argmax(x), np.argmin(x)) == (3, 3)

# Without a NaN they agree, also where several items are the greatest.
ties = np.array([5, 1, 9, 9, 2, 9])
assert all(blosc2.asarray(ties, chunks=(n,)).argmax() == ties.argmax() for n in (2, 3, 6))
PYTHON
