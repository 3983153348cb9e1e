#!/usr/bin/env bash
# 2^25 ones in float32 have the mean 0.5 in Bottleneck, Numba and numbagg's groups: they add one
# after the other in float32, and stop at 2^24. Bottleneck leaves arrays of foreign byte order, as
# from classic netCDF files, to NumPy: then it is 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 Bottleneck==1.6.0 numbagg==0.9.6 numba==0.68.1
"$folder/venv/bin/python" - <<'PYTHON'
import bottleneck
import numba
import numbagg
import numpy as np

print("Bottleneck", bottleneck.__version__, "Numba", numba.__version__, "numbagg", numbagg.__version__)
ones = np.ones(2**25, np.float32)
compiled = numba.njit(lambda x: np.mean(x))
means = {
    "NumPy": np.mean(ones),
    "Bottleneck": bottleneck.nanmean(ones),
    "Bottleneck, swapped bytes": bottleneck.nanmean(ones.astype(ones.dtype.newbyteorder())),
    "Numba": compiled(ones),
    "numbagg, one group": numbagg.group_nanmean(ones, np.zeros(2**25, np.int8))[0],
}
means = {name: float(mean) for name, mean in means.items()}
print(means)
assert list(means.values()) == [1.0, 0.5, 1.0, 0.5, 0.5]
PYTHON
