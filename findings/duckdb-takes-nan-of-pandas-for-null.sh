#!/usr/bin/env bash
# DuckDB reads one array of float64 from three places. In a pandas frame and in NumPy its NaN is
# NULL, which sums and counts leave out; in an Arrow table it is NaN.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 pandas==3.1.1 pyarrow==26.0.1 duckdb==2.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

print("DuckDB", duckdb.__version__)
x = np.array([1.0, np.nan, 2.0])
pandas, numpy, arrow = pd.DataFrame({"x": x}), {"x": x}, pa.table({"x": x})
seen = {}
for source in ("pandas", "numpy", "arrow"):
    seen[source] = duckdb.sql(f"select count(x), sum(x), max(x) from {source}").fetchall()[0]
    print(f"{source}: count, sum, maximum {seen[source]}")
assert seen["pandas"] == seen["numpy"] == (2, 3.0, 2.0)
assert str(seen["arrow"]) == "(3, nan, nan)"
PYTHON
