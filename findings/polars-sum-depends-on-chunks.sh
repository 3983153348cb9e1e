#!/usr/bin/env bash
# Polars: the sum of a column of float32 depends on how the column lies in memory. The same values
# in two chunks give another sum; the last running sum is a third.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 polars==2.1.0
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import polars as pl

print("Polars", pl.__version__)
values = np.random.default_rng(0).random(1_000_003, dtype=np.float32)
one = pl.Series(values)
two = pl.concat([one[:500], one[500:]], rechunk=False)
assert two.n_chunks() == 2 and (one == two).all()
sums = [one.sum(), two.sum(), float(one.cum_sum()[-1])]
print("in one chunk, in two, last running sum:", sums)
print("in float64:", float(values.astype(np.float64).sum()))
assert len(set(sums)) == 3
PYTHON
