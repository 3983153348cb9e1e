#!/usr/bin/env bash
# numpy.percentile subtracts neighbours in the input's type. So the middle of -100 and 100 in int8
# is 128, above the maximum, and that of -1.7e308 and 1.7e308 is -inf. numpy.median gives 0 for
# both. pandas hands this on, but not if it groups.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 pandas==3.1.1
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import pandas as pd

warnings.simplefilter("ignore", RuntimeWarning)
print("NumPy", np.__version__, "pandas", pd.__version__)
bytes_, huge = np.array([-100, 100], np.int8), np.array([-1.7e308, 1.7e308])
middle = [float(np.percentile(x, 50)) for x in (bytes_, huge)]
median = [float(np.median(x)) for x in (bytes_, huge)]
series = pd.Series(bytes_)
plain, grouped = float(series.quantile(0.5)), float(series.groupby([0, 0]).quantile(0.5)[0])
print("percentile 50:", middle, "- median:", median)
print("pandas' quantile 0.5:", plain, "- by groups:", grouped)
assert middle == [128.0, float("-inf")]
assert median == [0.0, 0.0]
assert (plain, grouped) == (128.0, 0.0)
PYTHON
