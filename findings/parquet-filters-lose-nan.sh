#!/usr/bin/env bash
# The statistics in a Parquet file leave NaN out. So DuckDB, DataFusion and Arrow skip row groups
# with NaN that the same filter keeps in memory, and for DuckDB and DataFusion, which order NaN
# above all numbers, the maximum of the file is not the maximum of its table.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 pyarrow==26.0.1 duckdb==2.0.1 datafusion==55.0.0
"$folder/venv/bin/python" - <<'PYTHON'
import os
import tempfile

import datafusion
import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet

print("Arrow", pa.__version__, "DuckDB", duckdb.__version__, "DataFusion", datafusion.__version__)
nan = float("nan")
memory = pa.table({"x": [1.0, nan, 1.0, 0.5, 0.5, nan]})
with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "x.parquet")
    pa.parquet.write_table(memory, file, row_group_size=2)
    session = datafusion.SessionContext()
    session.register_parquet("file", file)
    session.register_record_batches("memory", [memory.to_batches()])

    def in_duckdb(query, place):
        place = f"'{file}'" if place == "file" else place
        return duckdb.sql(f"select {query.format(place)}").fetchall()[0][0]

    def in_datafusion(query, place):
        return session.sql(f"select {query.format(place)}").to_pydict()["y"][0]

    seen = {}
    for name, ask in (("DuckDB", in_duckdb), ("DataFusion", in_datafusion)):
        for place in ("file", "memory"):
            rows = ask("count(*) as y from {} where x > 2", place)
            seen[name, place] = rows, str(ask("max(x) as y from {}", place))
            print(f"{name}, {place}: rows with x > 2, maximum: {seen[name, place]}")
    not_low = ~(pc.field("x") <= 1)
    of_file = pa.dataset.dataset(file).to_table(filter=not_low).num_rows
    of_memory = memory.filter(not_low).num_rows
print(f"Arrow: rows with not x <= 1: file {of_file}, memory {of_memory}")
assert seen["DuckDB", "file"] == seen["DataFusion", "file"] == (0, "1.0")
assert seen["DuckDB", "memory"] == seen["DataFusion", "memory"] == (2, "nan")
assert (of_file, of_memory) == (0, 2)
PYTHON
