"""The sum of an array whose parts are reduced by tasks of Ray, merged in any order of arrival.

pip install ray
python examples/ray_shards.py
"""

import numpy as np
import ray

import warpfold as wf


@ray.remote
def nodes_of(part, start):
    return wf.Nodes(part, start)


def total(data, parts):
    """The sum: the bits of one call, however the array is cut, whichever task ends first."""
    ends = np.linspace(0, len(data), parts + 1).astype(int)
    waiting = [nodes_of.remote(data[a:b], int(a)) for a, b in zip(ends, ends[1:])]
    merged = None
    while waiting:
        (done,), waiting = ray.wait(waiting)
        nodes = ray.get(done)
        if merged is None:
            merged = nodes
        else:
            merged.merge(nodes)
    return merged.value(len(data))


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    data = np.random.default_rng(0).standard_normal(1_000_000, "float32")
    for parts in [1, 3, 10]:
        sum_ = total(data, parts)
        assert sum_ == wf.sum(data)
        print(f"{parts} parts: {sum_}")
