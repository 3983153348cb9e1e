#!/usr/bin/env bash
# Run-length encoding of one buffer: Arrow compares bits, so -0 and 0 are two runs, and so are two
# NaNs with other payloads. Polars compares numbers, with all NaNs equal.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 pyarrow==26.0.1 polars==2.1.0
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

print("Arrow", pa.__version__, "Polars", pl.__version__)
zeros = np.array([-0.0, 0.0])
nans = np.array([0x7FF8000000000000, 0x7FF8000000000001], np.uint64).view(np.float64)
arrow = [len(pc.run_end_encode(pa.array(x)).run_ends) for x in (zeros, nans)]
polars = [pl.Series(x).rle().len() for x in (zeros, nans)]
print("runs in [-0, 0] and in two NaNs: Arrow", arrow, "Polars", polars)
assert arrow == [2, 2]
assert polars == [1, 1]
PYTHON
