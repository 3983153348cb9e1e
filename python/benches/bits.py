"""How many results one call has on a CPU: over runs, threads, layouts and chunks.

`python benches/bits.py` prints the table of `docs/python.md`, for those of NumPy, PyTorch and JAX
that are installed. Each library runs in processes of its own, with different numbers of threads.
Its calls are those that users write, with what the library says that makes them deterministic.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys

import numpy as np

N = 1 << 20
RUNS = 10
THREADS = [1, 2, 8]
LIBRARIES = ["warpfold", "numpy", "torch", "jax"]


def data():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(N).astype("float32")
    ids = np.sort(rng.integers(0, 50, N))
    return x, ids, np.searchsorted(ids, np.arange(51))


def calls(library):
    """Of each row of the table what the library computes of an array, ids, and their offsets."""
    if library == "warpfold":
        import warpfold as wf

        return np.asarray, {
            "sum": lambda x, ids, ends: wf.sum(x),
            "mean": lambda x, ids, ends: wf.mean(x),
            "variance": lambda x, ids, ends: wf.var(x),
            "running sums": lambda x, ids, ends: wf.cumsum(x),
            "sums of segments": lambda x, ids, ends: wf.segment_reduce(x, ends),
            "weights of bins": lambda x, ids, ends: wf.bincount(ids, x),
        }
    if library == "numpy":
        return np.asarray, {
            "sum": lambda x, ids, ends: np.sum(x),
            "mean": lambda x, ids, ends: np.mean(x),
            "variance": lambda x, ids, ends: np.var(x),
            "running sums": lambda x, ids, ends: np.cumsum(x),
            "sums of segments": lambda x, ids, ends: np.add.reduceat(x, ends[:-1]),
            "weights of bins": lambda x, ids, ends: np.bincount(ids, x),
        }
    if library == "torch":
        import torch

        torch.use_deterministic_algorithms(True)
        return torch.from_numpy, {
            "sum": lambda x, ids, ends: x.sum(),
            "mean": lambda x, ids, ends: x.mean(),
            "variance": lambda x, ids, ends: x.var(correction=0),
            "running sums": lambda x, ids, ends: x.cumsum(0),
            "sums of segments": lambda x, ids, ends: torch.segment_reduce(
                x, "sum", lengths=ends.diff()
            ),
            "weights of bins": lambda x, ids, ends: torch.bincount(ids, x),
        }
    import jax
    import jax.numpy as jnp

    return jnp.asarray, {
        "sum": lambda x, ids, ends: jnp.sum(x),
        "mean": lambda x, ids, ends: jnp.mean(x),
        "variance": lambda x, ids, ends: jnp.var(x),
        "running sums": lambda x, ids, ends: jnp.cumsum(x),
        "sums of segments": lambda x, ids, ends: jax.ops.segment_sum(x, ids, 50),
        "weights of bins": lambda x, ids, ends: jnp.bincount(ids, x, length=50),
    }


def digest(result):
    return hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest()[:16]


def work(library):
    """Digests of one process: of each row those of runs, of layouts, and of the sum in chunks."""
    make, rows = calls(library)
    x, ids, ends = data()
    wide = np.repeat(x, 2)[::2]
    ids, ends = make(ids), make(ends)
    shown = {}
    for row, call in rows.items():
        runs = [digest(call(make(x), ids, ends)) for _ in range(RUNS)]
        # `wide` has the numbers of `x`, with gaps between them. JAX has no such arrays.
        layouts = [runs[0]]
        if library != "jax":
            layouts.append(digest(call(make(wide), ids, ends)))
        shown[row] = {"runs": runs, "layouts": layouts}
    shown["sum"]["chunks"] = [digest(in_chunks(library, x, size)) for size in (1000, 77_777, N)]
    return shown


def in_chunks(library, x, size):
    """The sum of an array that comes in chunks."""
    pieces = [x[start : start + size] for start in range(0, len(x), size)]
    if library == "warpfold":
        import warpfold as wf

        reducer = wf.Reducer()
        for piece in pieces:
            reducer.push(piece)
        return reducer.value()
    make, rows = calls(library)
    total = np.float32(0)
    for piece in pieces:
        total = total + np.float32(rows["sum"](make(piece), None, None))
    return total


def measure(library):
    """What processes with different threads give, or `None` without the library."""
    found = []
    for threads in THREADS:
        names = ["RAYON_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"]
        environment = {**os.environ, **dict.fromkeys(names, str(threads)), "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, __file__, "--library", library, "--threads", str(threads)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if "ModuleNotFoundError" in done.stderr:
            return None
        if done.returncode:
            sys.exit(done.stderr)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return found


def count(found, row, kinds):
    return len({d for process in found for kind in kinds for d in process[row].get(kind, [])})


def table(results):
    libraries = [name for name in LIBRARIES if results[name] is not None]
    yield "| results of one call | " + " | ".join(libraries) + " |"
    yield "|---|" + "---:|" * len(libraries)
    for row in results["warpfold"][0]:
        for what, kinds in [("runs, threads", ["runs"]), ("threads, layouts", ["layouts"])]:
            numbers = [str(count(results[name], row, kinds)) for name in libraries]
            yield f"| {row}: {what} | " + " | ".join(numbers) + " |"
    numbers = [str(count(results[name], "sum", ["chunks"])) for name in libraries]
    yield "| sum: threads, chunks | " + " | ".join(numbers) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=LIBRARIES)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    if given.library is None:
        results = {library: measure(library) for library in LIBRARIES}
        print("\n".join(table(results)))
        return
    if hasattr(os, "sched_setaffinity") and given.threads == 1:
        # JAX has a thread for each core that the process may use.
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    print(json.dumps(work(given.library)))


if __name__ == "__main__":
    main()
