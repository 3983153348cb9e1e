"""The sum of an array of which each process of torchrun has a part, on any number of processes.

pip install torch
torchrun --nproc-per-node=3 python/examples/torchrun.py
"""

import numpy as np
import torch.distributed as dist

import warpfold as wf

LENGTH = 1_000_003


def main():
    """Each rank reduces its part, and merges what all ranks leave."""
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    data = np.sqrt(np.arange(LENGTH, dtype="float32"))
    start, end = LENGTH * rank // ranks, LENGTH * (rank + 1) // ranks
    parts = [None] * ranks
    dist.all_gather_object(parts, wf.Nodes(data[start:end], start))
    first, *others = parts
    for part in others:
        first.merge(part)
    sum_ = first.value(LENGTH)
    assert sum_ == wf.sum(data)
    dist.destroy_process_group()
    # One write: the lines of several ranks do not mix.
    print(f"rank {rank}: {sum_}\n", end="", flush=True)


if __name__ == "__main__":
    main()
