#!/usr/bin/env bash
# Moving sums of two: Bottleneck, SciPy's uniform_filter1d and DataFusion add what enters and
# subtract what leaves. Once 1e17 has left, every later sum is too small by what it swallowed; after
# an infinity all are NaN. SQLite corrects the first, and gives NULL for the second.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1 Bottleneck==1.6.0 apsw==3.54.1.0 datafusion==55.0.0 pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import apsw
import bottleneck
import datafusion
import numpy as np
import pyarrow as pa
import scipy
from scipy.ndimage import uniform_filter1d

print("Bottleneck", bottleneck.__version__, "SciPy", scipy.__version__, "DataFusion",
      datafusion.__version__, "SQLite", apsw.sqlite_lib_version())
WINDOW = "select sum(x) over (order by i rows between 1 preceding and current row) as y from t"


def in_sqlite(x):
    database = apsw.Connection(":memory:")
    database.execute("create table t (i, x)")
    database.executemany("insert into t values (?, ?)", list(enumerate(x)))
    return [row[0] for row in database.execute(WINDOW + " order by i")]


def in_datafusion(x):
    session = datafusion.SessionContext()
    table = pa.table({"i": list(range(len(x))), "x": x})
    session.register_record_batches("t", [table.to_batches()])
    return session.sql(WINDOW + " order by i").to_pydict()["y"]


libraries = {
    "Bottleneck": lambda x: bottleneck.move_sum(np.array(x), 2).tolist(),
    "SciPy": lambda x: (uniform_filter1d(x, 2) * 2).tolist(),
    "DataFusion": in_datafusion,
    "SQLite": in_sqlite,
}
last = {}
for name, moving in libraries.items():
    last[name] = [moving([1.0, large, 1.0, 2.0, 3.0])[-2:] for large in (1e17, np.inf)]
    print(f"{name}: after 1e17 {last[name][0]}, after an infinity {last[name][1]}; right is [3, 5]")
for name in ("Bottleneck", "SciPy", "DataFusion"):
    assert str(last[name]) == "[[0.0, 2.0], [nan, nan]]"
assert last["SQLite"] == [[3.0, 5.0], [None, None]]
PYTHON
