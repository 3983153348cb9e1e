#!/usr/bin/env bash
# Arrow: the running maximum of an array that begins with NaN begins with -inf, which is in no
# element. NaN later is passed over, as `max` does.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import pyarrow as pa
import pyarrow.compute as pc

print("Arrow", pa.__version__)
first = pc.cumulative_max(pa.array([float("nan"), 1.0, 3.0, 2.0])).to_pylist()
later = pc.cumulative_max(pa.array([1.0, float("nan"), 3.0])).to_pylist()
print("NaN first:", first, "- NaN later:", later)
assert first == [float("-inf"), 1.0, 3.0, 3.0]
assert later == [1.0, 1.0, 3.0]
PYTHON
