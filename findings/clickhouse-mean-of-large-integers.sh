#!/usr/bin/env bash
# ClickHouse: the mean of integers is their wrapped sum divided, so the mean of 2^63 - 1 twice is
# -1. GROUP BY tells 0 and -0 apart, though they are equal.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check chdb==4.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import chdb

print("ClickHouse", chdb.query("select version()", "TSV").data().strip())


def ask(query):
    return [row.split("\t") for row in str(chdb.query(query, "TSV")).splitlines()]


greatest = "arrayJoin([toInt64(9223372036854775807), toInt64(9223372036854775807)])"
mean = ask(f"select avg(x), avg(toFloat64(x)) from (select {greatest} as x)")
zeros = ask("select x, count() from (select arrayJoin([0.0, -0.0]) as x) group by x order by x")
equal = ask("select 0.0 = -0.0")
print("mean, mean as Float64:", mean, "- groups of zeros:", zeros, "- equal:", equal)
assert float(mean[0][0]) == -1 and float(mean[0][1]) == 2.0**63
assert len(zeros) == 2 and equal == [["1"]]
PYTHON
