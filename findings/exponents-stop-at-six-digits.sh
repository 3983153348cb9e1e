#!/usr/bin/env bash
# A number may be written with as many zeros as its exponent takes away: 0.000…1e1000001 is 1, with
# a million zeros. Python, NumPy, pandas and Arrow read 1. Polars and DuckDB read 0, without an error:
# their parsers stop counting an exponent once it has six digits or so. With 70,000 zeros and as
# large an exponent all read 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    duckdb==2.0.1 numpy==2.4.6 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import io

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

print("NumPy", np.__version__, "pandas", pd.__version__, "Arrow", pa.__version__)
print("Polars", pl.__version__, "DuckDB", duckdb.__version__)


def readings(zeros):
    text = "0." + "0" * zeros + f"1e{zeros + 1}"
    return {
        "Python": float(text),
        "NumPy": np.array([text]).astype("float64")[0],
        "pandas": pd.read_csv(io.StringIO("x\n" + text + "\n"))["x"][0],
        "Arrow": pa.array([text]).cast(pa.float64())[0].as_py(),
        "Polars": pl.Series([text]).cast(pl.Float64)[0],
        "DuckDB": duckdb.sql(f"select '{text}'::double").fetchall()[0][0],
    }


short, long = readings(70_000), readings(1_000_000)
for name in short:
    print(f"{name:7} 70,000 zeros: {short[name]}   1,000,000 zeros: {long[name]}")
assert set(short.values()) == {1.0}
assert [long[name] for name in ("Python", "NumPy", "pandas", "Arrow")] == [1.0] * 4
assert [long[name] for name in ("Polars", "DuckDB")] == [0.0] * 2
PYTHON
