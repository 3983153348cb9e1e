#!/usr/bin/env bash
# numcodecs, the codecs of Zarr: Delta accepts floats, and decodes them by a running sum. After a
# NaN or an infinity every number is NaN, and after a large number small ones are others.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 numcodecs==0.16.6
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numcodecs
import numpy as np

warnings.simplefilter("ignore", RuntimeWarning)
print("numcodecs", numcodecs.__version__)
codec = numcodecs.Delta(dtype="f4")
decoded = {}
for second in (np.nan, np.inf, 1e9):
    x = np.array([1, second, 2, 3], np.float32)
    decoded[second] = codec.decode(codec.encode(x)).tolist()
    print(x.tolist(), "comes back as", decoded[second])
assert str(list(decoded.values())) == (
    "[[1.0, nan, nan, nan], [1.0, inf, nan, nan], [1.0, 1000000000.0, 0.0, 1.0]]"
)
PYTHON
