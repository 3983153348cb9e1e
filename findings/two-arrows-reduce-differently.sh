#!/usr/bin/env bash
# One buffer, two Arrows. Arrow's Rust library (here as arro3) takes NaN for the greatest number,
# -NaN for the least and -0 for less than 0, and sums int8 in int8. The C++ library passes NaN over,
# finds no -0 in [0, -0], and sums in int64.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1 arro3-core==0.9.1 arro3-compute==0.9.1
"$folder/venv/bin/python" - <<'PYTHON'
import math
from importlib.metadata import version

import arro3.compute
import pyarrow as pa
import pyarrow.compute as pc

print("Arrow C++", pa.__version__, "arro3", version("arro3-compute"))
nan, minus_nan = math.copysign(math.nan, 1), math.copysign(math.nan, -1)
seen = []
for text, values in (
    ("[1, NaN, 3]", [1.0, nan, 3.0]),
    ("[1, -NaN, 3]", [1.0, minus_nan, 3.0]),
    ("[0, -0]", [0.0, -0.0]),
):
    x = pa.array(values)
    rust = [str(arro3.compute.min(x).as_py()), str(arro3.compute.max(x).as_py())]
    cpp = [str(pc.min(x).as_py()), str(pc.max(x).as_py())]
    seen.append((rust, cpp))
    print(f"minimum and maximum of {text}: Rust {rust}, C++ {cpp}")
x = pa.array([127, 1], pa.int8())
sums = arro3.compute.sum(x).as_py(), pc.sum(x).as_py()
print("sum of 127 and 1 in int8: Rust", sums[0], "C++", sums[1])
assert seen == [
    (["1.0", "nan"], ["1.0", "3.0"]),
    (["nan", "3.0"], ["1.0", "3.0"]),
    (["-0.0", "0.0"], ["0.0", "0.0"]),
]
assert sums == (-128, 128)
PYTHON
