#!/usr/bin/env bash
# SciPy's sparse arrays: where a row stores a NaN and has places without a value, argmax and argmin
# both give the first place without a value, whatever else the row holds. max and min are NaN, as
# NumPy's; NumPy's argmax and argmin give the place of the NaN.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import scipy
import scipy.sparse

print("SciPy", scipy.__version__, "NumPy", np.__version__)
nan = np.nan
dense = np.array([[0, nan, 1], [-1, nan, 0], [5, 0, nan], [nan, 7, 0]])
for form in (scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.coo_array):
    sparse = form(dense)
    places = [getattr(sparse, name)(axis=1).tolist() for name in ("argmax", "argmin")]
    print(form.__name__, "argmax", places[0], "argmin", places[1])
    assert places == [[0, 2, 1, 2], [0, 2, 1, 2]]
    assert np.isnan(sparse.max(axis=1).toarray()).all()
    assert np.isnan(sparse.min(axis=1).toarray()).all()
print("NumPy", "argmax", dense.argmax(axis=1).tolist(), "argmin", dense.argmin(axis=1).tolist())
assert dense.argmax(axis=1).tolist() == dense.argmin(axis=1).tolist() == [1, 1, 2, 0]

# Without a NaN they agree, and so they do where the row has a value at every place.
for row in ([0.0, -2.0, 1.0], [3.0, nan, 4.0]):
    sparse = scipy.sparse.csr_array(np.array([row]))
    print(row, "argmax", int(sparse.argmax()), "NumPy", int(np.argmax(row)))
    assert sparse.argmax() == np.argmax(row)
PYTHON
