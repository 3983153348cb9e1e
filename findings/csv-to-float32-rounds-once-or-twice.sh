#!/usr/bin/env bash
# A number of a CSV file, read as float32: Arrow and Polars round it once. NumPy and pandas read it
# as float64 first and round again, so just above the middle between 1 and the next float32 they
# give 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 pandas==3.1.1 pyarrow==26.0.1 polars==2.1.0
"$folder/venv/bin/python" - <<'PYTHON'
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv

versions = {module.__name__: module.__version__ for module in (np, pd, pa, pl)}
print(versions)
text = b"x\n1.00000005960464477539062500001\n"
as_float = pa.csv.ConvertOptions(column_types={"x": pa.float32()})
read = {
    "NumPy": np.loadtxt(io.BytesIO(text), skiprows=1, dtype=np.float32),
    "pandas": pd.read_csv(io.BytesIO(text), dtype=np.float32).x[0],
    "Arrow": pa.csv.read_csv(io.BytesIO(text), convert_options=as_float)["x"][0].as_py(),
    "Polars": pl.read_csv(io.BytesIO(text), schema={"x": pl.Float32})["x"][0],
}
above = {name: round((float(x) - 1) * 2**23) for name, x in read.items()}
print("steps of float32 above 1:", above)
assert above == {"NumPy": 0, "pandas": 0, "Arrow": 1, "Polars": 1}
PYTHON
