#!/usr/bin/env bash
# NumExpr reads an array of uint64 as int64: a sum, an extreme, a comparison and the array itself
# come out as of negative numbers from 2^63 on. With casting="safe" it raises an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 numexpr==2.14.2
"$folder/venv/bin/python" - <<'PYTHON'
import numexpr
import numpy as np

print("NumExpr", numexpr.__version__, "NumPy", np.__version__)
u = np.array([2**63, 1], dtype=np.uint64)
results = {}
for text in ("sum(u)", "max(u)", "u > 0", "u + 0"):
    result = numexpr.evaluate(text)
    results[text] = (result.dtype.name, result.tolist())
    print(f"{text}: {results[text][0]} {results[text][1]}")
print("NumPy: sum", u.sum(), "max", u.max(), "u > 0", (u > 0).tolist())
assert results == {
    "sum(u)": ("int64", -(2**63) + 1),
    "max(u)": ("int64", 1),
    "u > 0": ("bool", [False, True]),
    "u + 0": ("int64", [-(2**63), 1]),
}
assert (int(u.sum()), int(u.max()), (u > 0).all()) == (2**63 + 1, 2**63, True)

try:
    numexpr.evaluate("sum(u)", casting="safe")
    raise SystemExit("casting='safe' took uint64")
except TypeError as error:
    print("casting='safe':", error)
PYTHON
