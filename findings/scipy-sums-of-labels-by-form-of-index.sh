#!/usr/bin/env bash
# scipy.ndimage.sum_labels adds up in the input's type or in float64, by the form of the argument
# `index`: a list gives float64, a number or nothing the input's. 70000 ones in float16 are infinite
# or 70000.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import scipy
from scipy.ndimage import sum_labels

warnings.simplefilter("ignore", RuntimeWarning)
print("SciPy", scipy.__version__)
ones, labels = np.ones(70000, np.float16), np.ones(70000, int)
sums = [float(sum_labels(ones, labels)), float(sum_labels(ones, labels, index=1))]
listed = sum_labels(ones, labels, index=[1]).tolist()
print("no index, index=1:", sums, "- index=[1]:", listed)
assert sums == [float("inf"), float("inf")]
assert listed == [70000.0]
PYTHON
