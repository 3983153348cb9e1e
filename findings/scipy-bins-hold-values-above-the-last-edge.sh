#!/usr/bin/env bash
# scipy.stats.binned_statistic puts values above the last edge into the last bin if both are equal
# rounded to some decimals, fewer the wider the bins: 1000.0004 is in the bin from 0 to 1000, and
# 1000000.4 in that to 1000000. numpy.histogram counts neither. Below the first edge none is added.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import scipy
from scipy.stats import binned_statistic

print("SciPy", scipy.__version__)
seen = {}
for x, edges in ((1000.0004, [0, 1000]), (1000000.4, [0, 1000000]), (-0.0004, [0, 1000])):
    count = binned_statistic([x], [x], "count", bins=edges).statistic.tolist()
    seen[x] = count, np.histogram([x], bins=edges)[0].tolist()
    print(f"{x} in {edges}: SciPy {seen[x][0]}, NumPy {seen[x][1]}")
assert seen == {1000.0004: ([1.0], [0]), 1000000.4: ([1.0], [0]), -0.0004: ([0.0], [0])}
PYTHON
