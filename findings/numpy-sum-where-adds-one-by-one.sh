#!/usr/bin/env bash
# numpy.sum with `where` is not numpy.sum of what `where` keeps: it is pairwise only within each run
# of True. If every second flag is True it adds one after the other, so a sum of halves stops at
# 2048 and the mean of 2^25 ones in float32 is a half.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np

print("NumPy", np.__version__)
halves, flags = np.ones(10_000, np.float16), np.arange(10_000) % 2 == 0
sums = float(np.sum(halves, where=flags)), float(np.sum(halves[flags]))
ones = np.broadcast_to(np.float32(1), 2**26)
second = np.tile([True, False], 2**25)
means = float(np.mean(ones, where=second)), float(np.mean(ones[second]))
print("float16 with `where` and of what it keeps:", sums, "- means of float32:", means)
assert sums == (2048.0, 5000.0)
assert means == (0.5, 1.0)
PYTHON
