#!/usr/bin/env bash
# Polars: the sum down a column of Int8 or Int16 is in 64 bits, that of Int32 in its own 32, so the
# longer type overflows first. Across columns sum_horizontal stays in the type of the columns, and
# mean_horizontal divides what wrapped: the mean of 127 and 127 is -1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0
"$folder/venv/bin/python" - <<'PYTHON'
import polars as pl

print("Polars", pl.__version__)
seen = {}
for name, greatest in (("Int8", 2**7 - 1), ("Int16", 2**15 - 1), ("Int32", 2**31 - 1)):
    x = pl.Series("x", [greatest, greatest], dtype=getattr(pl, name))
    row = pl.DataFrame({"a": x[:1], "b": x[:1]})
    across = row.select(pl.sum_horizontal("a", "b"), y=pl.mean_horizontal("a", "b")).row(0)
    seen[name] = (x.sum(), x.mean()), across
    print(f"{name}: sum and mean down {seen[name][0]}, across {across}")
assert seen["Int8"] == ((254, 127.0), (-2, -1.0))
assert seen["Int16"] == ((65534, 32767.0), (-2, -1.0))
assert seen["Int32"] == ((-2, 2147483647.0), (-2, -1.0))
PYTHON
