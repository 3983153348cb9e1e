#!/usr/bin/env bash
# numpy.add.reduceat over one segment is not numpy.add.reduce of it: it is the first element plus
# the pairwise sum of the rest.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np

print("NumPy", np.__version__)
generator = np.random.default_rng(1)
arrays = [generator.random(length) for length in range(2, 200)]
segment = [np.add.reduceat(x, [0])[0] for x in arrays]
whole = sum(s == np.add.reduce(x) for s, x in zip(segment, arrays))
apart = sum(s == x[0] + np.add.reduce(x[1:]) for s, x in zip(segment, arrays))
print(f"of {len(arrays)} lengths equal: reduce(x) {whole}, x[0] + reduce(x[1:]) {apart}")
assert apart == 198
assert (whole < 198) == True
PYTHON
