"""Numbers that overflow are meant to."""

import os

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("ci", max_examples=40, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("WARPFOLD_HYPOTHESIS", "ci"))


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield
