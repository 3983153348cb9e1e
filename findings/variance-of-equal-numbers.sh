#!/usr/bin/env bash
# Equal numbers have a variance in Bottleneck and Numba: of 500 time stamps of 17 digits, all alike,
# 4624 (a deviation of 68). The sum of the numbers rounds, so the mean is none of them. NumPy's
# pairwise sum rounds less here, and gives 0; statistics.pvariance is exact.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    numpy==2.4.6 bottleneck==1.6.0 numba==0.68.1
"$folder/venv/bin/python" - <<'PYTHON'
import statistics

import bottleneck
import numba
import numpy as np

print("Bottleneck", bottleneck.__version__, "Numba", numba.__version__, "NumPy", np.__version__)


@numba.njit
def numba_var(x):
    return np.var(x)


stamps = np.full(500, 20150515061816532, dtype=np.int64)
results = {
    "Bottleneck, int64": bottleneck.nanvar(stamps),
    "Bottleneck, float64": bottleneck.nanvar(stamps.astype(np.float64)),
    "Numba, float64": numba_var(stamps.astype(np.float64)),
    "NumPy, int64": np.var(stamps),
    "NumPy, float64": np.var(stamps.astype(np.float64)),
    "statistics": statistics.pvariance(stamps.tolist()),
}
for name, variance in results.items():
    print(f"{name}: {float(variance)}")
assert results["Bottleneck, int64"] == results["Numba, float64"] == 4624.0
assert results["NumPy, float64"] == results["statistics"] == 0
PYTHON
