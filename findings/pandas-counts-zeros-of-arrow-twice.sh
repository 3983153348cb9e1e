#!/usr/bin/env bash
# A pandas column of Arrow's type with 0 and -0: nunique counts two values, drop_duplicates leaves
# one. In Arrow itself unique, count_distinct and group_by tell the zeros apart; mode and rank do
# not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 pandas==3.1.1 pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

print("pandas", pd.__version__, "Arrow", pa.__version__)
column = pd.Series([0.0, -0.0], dtype="double[pyarrow]")
of_pandas = {
    "nunique": column.nunique(),
    "unique": len(column.unique()),
    "value_counts": len(column.value_counts()),
    "drop_duplicates": len(column.drop_duplicates()),
    "groupby": column.groupby(column).ngroups,
}
x = pa.array([0.0, -0.0])
of_arrow = {
    "unique": len(pc.unique(x)),
    "count_distinct": pc.count_distinct(x).as_py(),
    "group_by": pa.table({"x": x}).group_by("x").aggregate([]).num_rows,
    "mode": len(pc.mode(x, 2)),
    "rank": len(set(pc.rank(x, tiebreaker="dense").to_pylist())),
}
print("pandas", of_pandas)
print("Arrow", of_arrow)
assert list(of_pandas.values()) == [2, 2, 2, 1, 2]
assert list(of_arrow.values()) == [2, 2, 2, 1, 1]
PYTHON
