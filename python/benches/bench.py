"""Times warpfold beside NumPy, and PyTorch where it is installed: `python benches/bench.py`.

Wants a wheel built with `--release`. Each figure is the best of some rounds, and the peers take
turns in each round. `--length` says how many items; `--overhead` times short calls instead. On a
machine that does other work, `--processor` counts the time of the processors, of all threads
together.
"""

import argparse
import os
import time

import numpy as np

import warpfold as wf

try:
    import torch
except ImportError:
    torch = None


def best(calls, rounds, clock=time.perf_counter):
    """The least time of each call, in seconds."""
    times = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            start = clock()
            call()
            times[i] = min(times[i], clock() - start)
    return times


def cases(n):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(n, "float32")
    k = rng.integers(0, 1000, n)
    w = rng.standard_normal(n)
    ends = np.unique(np.append(rng.integers(0, n, n // 10), [0, n]))
    lengths = np.diff(ends)
    t = torch.from_numpy(x) if torch else None
    tk, tl = (torch.from_numpy(k), torch.from_numpy(lengths)) if torch else (None, None)
    return [
        ("sum", lambda: wf.sum(x), lambda: np.sum(x), lambda: t.sum()),
        (
            "sum, axis 0",
            lambda: wf.sum(x.reshape(-1, 100), 0),
            lambda: np.sum(x.reshape(-1, 100), 0),
            lambda: t.reshape(-1, 100).sum(0),
        ),
        ("max", lambda: wf.max(x), lambda: np.max(x), lambda: t.max()),
        ("argmax", lambda: wf.argmax(x), lambda: np.argmax(x), lambda: t.argmax()),
        ("mean", lambda: wf.mean(x), lambda: np.mean(x), lambda: t.mean()),
        ("var", lambda: wf.var(x), lambda: np.var(x), lambda: t.var()),
        ("cumsum", lambda: wf.cumsum(x), lambda: np.cumsum(x), lambda: t.cumsum(0)),
        (
            "histogram, 100 bins",
            lambda: wf.histogram(x, 100),
            lambda: np.histogram(x, 100),
            lambda: t.histc(100),
        ),
        ("bincount, int64", lambda: wf.bincount(k), lambda: np.bincount(k), lambda: tk.bincount()),
        ("bincount, weights", lambda: wf.bincount(k, w), lambda: np.bincount(k, w), None),
        ("sort", lambda: wf.sort(x), lambda: np.sort(x), lambda: t.sort()),
        (
            "argsort",
            lambda: wf.argsort(x),
            lambda: np.argsort(x, kind="stable"),
            lambda: t.argsort(stable=True),
        ),
        (
            "topk, 100",
            lambda: wf.topk(x, 100),
            lambda: np.argpartition(x, -100)[-100:],
            lambda: t.topk(100),
        ),
        ("unique, int64", lambda: wf.unique(k), lambda: np.unique(k), lambda: tk.unique()),
        ("select, half", lambda: wf.compress(x > 0, x), lambda: x[x > 0], lambda: t[t > 0]),
        (
            "segment sums, tens",
            lambda: wf.segment_reduce(x, ends),
            lambda: np.add.reduceat(x, ends[:-1]),
            lambda: torch.segment_reduce(t, "sum", lengths=tl),
        ),
        ("group by, int64", lambda: wf.group_by(k, x), None, None),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processor", action="store_true", help="time of all processors")
    parser.add_argument("--overhead", action="store_true", help="time short calls, in microseconds")
    options = parser.parse_args()
    versions = f"NumPy {np.__version__}" + (f", PyTorch {torch.__version__}" if torch else "")
    print(f"{os.cpu_count()} cores, {versions}")
    if options.overhead:
        return overhead()
    print(f"\n| {options.length:.0e} float32 | ms | NumPy's time over it | PyTorch's |")
    print("|---|---:|---:|---:|")
    for name, ours, *peers in cases(options.length):
        peers = [peer if torch or i == 0 else None for i, peer in enumerate(peers)]
        there = [peer for peer in peers if peer]
        clock = time.process_time if options.processor else time.perf_counter
        times = best([ours, *there], options.rounds, clock)
        ratios = iter(f"{time / times[0]:.2f}" for time in times[1:])
        shown = [next(ratios) if peer else "" for peer in peers]
        print(f"| {name} | {times[0] * 1e3:.2f} | {shown[0]} | {shown[1]} |", flush=True)


def overhead():
    x = np.arange(10, dtype="float32")
    calls = {
        "sum": (lambda: wf.sum(x), lambda: np.sum(x)),
        "cumsum": (lambda: wf.cumsum(x), lambda: np.cumsum(x)),
        "sort": (lambda: wf.sort(x), lambda: np.sort(x)),
        "topk": (lambda: wf.topk(x, 3), None),
    }
    print("\n| 10 float32 | us | NumPy's us |\n|---|---:|---:|")
    for name, pair in calls.items():

        def many(call):
            return lambda: [call() for _ in range(10_000)]

        times = best([many(call) for call in pair if call], 5)
        shown = [f"{t * 100:.2f}" for t in times] + [""] * pair.count(None)
        print(f"| {name} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
