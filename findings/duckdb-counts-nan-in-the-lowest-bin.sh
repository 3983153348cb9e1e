#!/usr/bin/env bash
# DuckDB orders NaN above all numbers, but histogram(x, boundaries) counts it in the lowest bin:
# those that are at most the first boundary.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import duckdb

print("DuckDB", duckdb.__version__)
ask = lambda query: duckdb.sql(query).fetchall()[0]
rows = "(values ('nan'::double), (0.5), (1.5)) as t(x)"
(counts,) = ask(f"select histogram(x, [0.0, 1.0, 2.0]) from {rows}")
order = ask("select 'nan'::double <= 0.0, 'nan'::double > 2.0")
print("counts up to each boundary:", counts, "- NaN <= 0, NaN > 2:", order)
assert counts == {0.0: 1, 1.0: 1, 2.0: 1}
assert order == (False, True)
PYTHON
