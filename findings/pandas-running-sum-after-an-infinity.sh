#!/usr/bin/env bash
# pandas: a running sum by groups is NaN from the second element after an infinity on, since its
# compensation (Kahan) computes infinity minus infinity. Without groups it is infinite.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 pandas==3.1.1
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import pandas as pd

print("pandas", pd.__version__)
table = pd.DataFrame({"key": [0] * 4, "x": [1.0, np.inf, 1.0, 2.0]})
grouped, plain = table.groupby("key").x.cumsum(), table.x.cumsum()
print("by groups:", grouped.tolist(), "- without:", plain.tolist())
assert [str(x) for x in grouped] == ["1.0", "inf", "nan", "nan"]
assert [str(x) for x in plain] == ["1.0", "inf", "inf", "inf"]
PYTHON
