"""NumPy's namespace with warpfold's functions in it, for array-api-tests.

That suite makes and compares arrays by the namespace that it tests, so it wants a whole one. It
runs in a clone of data-apis/array-api-tests with its submodule, which CI cannot make:

    export PYTHONPATH=PATH/TO/warpfold/python/tests ARRAY_API_TESTS_MODULE=array_api
    pytest --disable-deadline -k "not where and not isin and not diff" \\
        array_api_tests/test_{statistical,sorting,searching,set,utility}_functions.py

At commit 55fcc60, with 15 examples a test, 23 of 24 pass. `test_sum` fails, since it draws complex
numbers, which warpfold refuses.
"""

import numpy as np

import warpfold

for _name in dir(np):
    if not _name.startswith("_") or _name == "__array_namespace_info__":
        globals()[_name] = getattr(np, _name)

for _name in [
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "nonzero",
    "prod",
    "searchsorted",
    "sort",
    "std",
    "sum",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "var",
]:
    globals()[_name] = getattr(warpfold, _name)
