#!/usr/bin/env bash
# The greatest number of a Polars column that holds a NaN is 5 by `max`, `arg_max` and `group_by`,
# and NaN by `top_k(1)`, `quantile(1.0)` and the last of `sort`. The least is 1 by all of them: the
# first three pass over NaN, and the others take it for the greatest number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0
"$folder/venv/bin/python" - <<'PYTHON'
import math

import polars as pl

print("Polars", pl.__version__)
column = pl.Series("x", [math.nan, 1.0, 5.0, 2.0])
grouped = pl.DataFrame({"key": [0] * 4, "x": column}).group_by("key")
greatest = {
    "max": column.max(),
    "arg_max": column[column.arg_max()],
    "group_by": grouped.agg(pl.col("x").max())["x"][0],
    "top_k": column.top_k(1)[0],
    "quantile": column.quantile(1.0),
    "sort": column.sort()[-1],
}
least = {
    "min": column.min(),
    "bottom_k": column.bottom_k(1)[0],
    "quantile": column.quantile(0.0),
    "sort": column.sort()[0],
}
print("greatest:", greatest)
print("least:", least)
assert [greatest[name] for name in ("max", "arg_max", "group_by")] == [5.0] * 3
assert all(math.isnan(greatest[name]) for name in ("top_k", "quantile", "sort"))
assert set(least.values()) == {1.0}
PYTHON
