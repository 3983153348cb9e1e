#!/usr/bin/env bash
# Awkward Array hands a flat array to NumPy, and reduces lists itself. So the maximum of a flat
# array with NaN is NaN; that of a list passes NaN over, and of a list of NaN alone it is -inf, with
# a minimum of +inf. float32 is summed pairwise if flat, one after the other in a list.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 awkward==2.14.0
"$folder/venv/bin/python" - <<'PYTHON'
import awkward as ak
import numpy as np

print("Awkward Array", ak.__version__)
nan = float("nan")
flat = [str(ak.max(ak.Array(x))) for x in ([nan, 1.0], [nan])]
lists = ak.Array([[nan, 1.0], [nan]])
greatest, least = ak.max(lists, axis=-1).to_list(), ak.min(lists, axis=-1).to_list()
ones = np.ones(2**25, np.float32)
sums = float(ak.sum(ones)), float(ak.sum(ak.from_regular(ones[np.newaxis]), axis=-1)[0])
print("[nan, 1] and [nan]: flat, maximum", flat, "- lists, maximum", greatest, "minimum", least)
print("sum of 2^25 ones, flat and in a list:", sums)
assert flat == ["nan", "nan"]
assert (greatest, least) == ([1.0, float("-inf")], [1.0, float("inf")])
assert sums == (2.0**25, 2.0**24)
PYTHON
