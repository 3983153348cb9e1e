"""The sum of a Dask array, whatever its chunks: the bits of one call over everything.

pip install dask
python examples/dask_array.py
"""

import dask
import dask.array
import numpy as np

import warpfold as wf


@dask.delayed
def nodes_of(chunk, start):
    return wf.Nodes(chunk, start)


@dask.delayed
def value(parts, length):
    first, *others = parts
    for part in others:
        first.merge(part)
    return first.value(length)


def total(array):
    """The sum of a Dask array of one axis."""
    starts = np.cumsum([0, *array.chunks[0]])
    chunks = array.to_delayed()
    parts = [nodes_of(chunk, int(start)) for chunk, start in zip(chunks, starts)]
    return value(parts, int(starts[-1]))


if __name__ == "__main__":
    data = np.random.default_rng(0).standard_normal(1_000_000, "float32")
    for chunks in [1_000, 77_777, 1_000_000]:
        sum_ = total(dask.array.from_array(data, chunks)).compute()
        assert sum_ == wf.sum(data)
        print(f"chunks of {chunks}: {sum_}")
