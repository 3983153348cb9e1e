#!/usr/bin/env bash
# flox, and xarray's groupby(…).cumsum through it: the running sum of a group is computed from that
# of all groups. Where another group has 1e17, ones add up to 0, and where it has an infinity, to
# NaN. xarray without flox adds up each group by itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 pandas==3.1.1 xarray==2026.9.0 flox==0.11.2
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import flox
import numpy as np
import xarray as xr

warnings.simplefilter("ignore", RuntimeWarning)
print("flox", flox.__version__, "xarray", xr.__version__)


def running(large):
    """Running sums of the group 1, whose elements are two ones."""
    key = ("i", [0, 1, 0, 1, 0])
    x = xr.DataArray([large, 1.0, 1.0, 1.0, 1.0], dims="i", coords={"key": key})
    return x.groupby("key").cumsum().values[[1, 3]].tolist()


with_flox = [running(1e17), running(np.inf)]
with xr.set_options(use_flox=False):
    without = [running(1e17), running(np.inf)]
print("group of two ones, with flox:", with_flox, "- without:", without)
assert str(with_flox) == "[[0.0, 0.0], [nan, nan]]"
assert without == [[1.0, 2.0], [1.0, 2.0]]
PYTHON
