"""The sum of a file by several processes: which comes first does not show in a single bit.

python examples/processes.py samples.f32
"""

import concurrent.futures
import pathlib
import sys

import numpy as np

import warpfold as wf

CHUNK = 1 << 20


def nodes_of(path: str, start: int) -> wf.Nodes:
    """What a chunk of the file leaves: some dozens of sums."""
    samples = np.memmap(path, "float32", "r")
    return wf.Nodes(samples[start : start + CHUNK], start)


def total(path: str) -> np.float32:
    length = pathlib.Path(path).stat().st_size // 4
    all_nodes = wf.Nodes(np.empty(0, "float32"), 0)
    with concurrent.futures.ProcessPoolExecutor() as pool:
        tasks = [pool.submit(nodes_of, path, start) for start in range(0, length, CHUNK)]
        for task in concurrent.futures.as_completed(tasks):
            all_nodes.merge(task.result())
    return all_nodes.value(length)


if __name__ == "__main__":
    print(total(sys.argv[1]))
