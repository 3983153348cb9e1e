"""Times warpfold on a GPU beside PyTorch and CuPy: `python benches/gpu.py`.

Wants PyTorch that sees a GPU, and a wheel built with `--release`; CuPy is timed where it is
installed. A time is the median of some runs between two events of PyTorch's current stream. Before
each run the GPU's caches are swept. *Results* is how many different results twenty runs have, of
2^22 items at most, on views that begin at different places of memory. `--overhead` times how long
short calls hold the host instead.
"""

import argparse
import functools
import hashlib
import statistics
import time

import torch

import warpfold as wf

try:
    import cupy
except ImportError:
    cupy = None

RUNS = 20


class Case:
    """One row: calls of each library on the arrays that `make` gives for a view of the data."""

    def __init__(self, name, ours, torch=None, cupy=None):
        self.name, self.ours, self.torch, self.cupy = name, ours, torch, cupy


@functools.cache
def segments(n):
    """The bounds of segments of some ten items, and their lengths."""
    ends = torch.randint(0, n, (n // 10,), device="cuda").sort().values
    ends = torch.cat([ends.new_zeros(1), ends, ends.new_full((1,), n)])
    return ends, ends.diff()


def square(x):
    side = int(len(x) ** 0.5) // 4 * 4
    return x[: side * side].reshape(side, side)


def cases(n):
    keys = torch.randint(0, 1000, (n,), device="cuda")
    weights = torch.randn(n, dtype=torch.float64, device="cuda")

    def of(library):
        return {"keys": as_array(keys, library), "weights": as_array(weights, library)}

    them = {"torch": of("torch"), "cupy": of("cupy") if cupy else None}

    return [
        Case("sum", wf.sum, torch.sum, lambda x: x.sum()),
        Case("max", wf.max, torch.max, lambda x: x.max()),
        Case("argmax", wf.argmax, torch.argmax, lambda x: x.argmax()),
        Case("mean", wf.mean, torch.mean, lambda x: x.mean()),
        Case("var", wf.var, lambda x: x.var(correction=0), lambda x: x.var()),
        Case(
            "sum of a square, axis 0",
            lambda x: wf.sum(square(x), 0),
            lambda x: square(x).sum(0),
            lambda x: square(x).sum(0),
        ),
        Case(
            "sum of a square, axis 1",
            lambda x: wf.sum(square(x), 1),
            lambda x: square(x).sum(1),
            lambda x: square(x).sum(1),
        ),
        Case("cumsum", wf.cumsum, lambda x: x.cumsum(0), lambda x: x.cumsum()),
        Case(
            "cumsum of a square, axis 0",
            lambda x: wf.cumsum(square(x), 0),
            lambda x: square(x).cumsum(0),
            lambda x: square(x).cumsum(0),
        ),
        Case(
            "cumsum of a square, axis 1",
            lambda x: wf.cumsum(square(x), 1),
            lambda x: square(x).cumsum(1),
            lambda x: square(x).cumsum(1),
        ),
        Case(
            "histogram, 100 bins in (-4, 4)",
            lambda x: wf.histogram(x, 100, (-4.0, 4.0))[0],
            lambda x: x.histc(100, -4.0, 4.0),
            lambda x: cupy.histogram(x, 100, (-4.0, 4.0))[0],
        ),
        Case(
            "bincount of 1000",
            lambda x: wf.bincount(keys),
            lambda x: keys.bincount(),
            lambda x: cupy.bincount(them["cupy"]["keys"]),
        ),
        Case(
            "bincount, float64 weights",
            lambda x: wf.bincount(keys, weights),
            lambda x: keys.bincount(weights),
            lambda x: cupy.bincount(them["cupy"]["keys"], them["cupy"]["weights"]),
        ),
        Case("sort", wf.sort, lambda x: x.sort(stable=True).values, lambda x: cupy.sort(x)),
        Case(
            "argsort",
            wf.argsort,
            lambda x: x.argsort(stable=True),
            lambda x: cupy.argsort(x, kind="stable"),
        ),
        Case("topk, 100", lambda x: wf.topk(x, 100)[0], lambda x: x.topk(100).values),
        Case(
            "compress, half",
            lambda x: wf.compress(x > 0, x),
            lambda x: x[x > 0],
            lambda x: x[x > 0],
        ),
        Case(
            "sums of segments of some ten",
            lambda x: wf.segment_reduce(x, segments(len(x))[0]),
            lambda x: torch.segment_reduce(x, "sum", lengths=segments(len(x))[1]),
        ),
    ]


def as_array(tensor, library):
    """The tensor, or CuPy's array of its memory."""
    return tensor if library == "torch" else cupy.from_dlpack(tensor)


def median(call, array, sweep):
    """The median time of a call in microseconds."""
    call(array)
    times = []
    for _ in range(RUNS):
        sweep.add_(1)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call(array)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


def digest(result):
    host = result.get() if cupy and isinstance(result, cupy.ndarray) else result.cpu().numpy()
    return hashlib.sha256(host.tobytes()).digest()


def results(call, library, x):
    """How many results there are over runs, on copies that begin at different places."""
    found, x = set(), x[: 1 << 22]
    for run in range(RUNS):
        room = torch.empty(len(x) + 8, dtype=x.dtype, device=x.device)
        view = room[run % 8 : run % 8 + len(x)]
        view.copy_(x)
        found.add(digest(call(as_array(view, library))))
    return len(found)


def with_stream(call, library):
    """The call on PyTorch's current stream, where the events are."""
    if library == "torch":
        return call

    def there(array):
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            return call(array)

    return there


def table(n, only):
    torch.manual_seed(0)
    x = torch.randn(n, device="cuda")
    sweep = torch.zeros(1 << 26, device="cuda")
    print(f"\n| {n} float32 | µs | results | PyTorch: time over it | results | CuPy | results |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for case in cases(n):
        if only not in case.name:
            continue
        ours = median(case.ours, x, sweep)
        cells = [f"{ours:.0f}", str(results(case.ours, "torch", x))]
        for library in ("torch", "cupy"):
            call = getattr(case, library)
            if call is None or (library == "cupy" and cupy is None):
                cells += ["", ""]
                continue
            peers = median(with_stream(call, library), as_array(x, library), sweep)
            cells += [f"{peers / ours:.2f}", str(results(call, library, x))]
        print(f"| {case.name} | {' | '.join(cells)} |", flush=True)


def overhead():
    """How long calls on 1000 items hold the host, by the mean of calls that follow each other."""
    print("\n| 1000 float32 | µs of the host | PyTorch's | with CuPy's array | CuPy's |")
    print("|---|---:|---:|---:|---:|")
    x = torch.randn(1000, device="cuda")
    arrays = {"torch": x, "cupy": as_array(x, "cupy") if cupy else None}
    calls = [
        ("sum", wf.sum, torch.sum, lambda x: x.sum()),
        ("cumsum", wf.cumsum, lambda x: x.cumsum(0), lambda x: x.cumsum()),
        ("sort", wf.sort, torch.sort, lambda x: cupy.sort(x)),
        ("topk", lambda x: wf.topk(x, 10), lambda x: x.topk(10), None),
    ]
    for name, ours, torchs, cupys in calls:
        pairs = [(ours, "torch"), (torchs, "torch"), (ours, "cupy"), (cupys, "cupy")]
        shown = []
        for call, library in pairs:
            if call is None or arrays[library] is None:
                shown.append("")
                continue
            array = arrays[library]
            for _ in range(10):
                call(array)
            torch.cuda.synchronize()
            best = float("inf")
            for _ in range(5):
                start = time.perf_counter()
                for _ in range(200):
                    call(array)
                best = min(best, time.perf_counter() - start)
                torch.cuda.synchronize()
            shown.append(f"{best / 200 * 1e6:.1f}")
        print(f"| {name} | {' | '.join(shown)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=1 << 26)
    parser.add_argument("--only", default="", help="rows whose names contain this")
    parser.add_argument("--overhead", action="store_true", help="time short calls instead")
    options = parser.parse_args()
    versions = f"PyTorch {torch.__version__}" + (f", CuPy {cupy.__version__}" if cupy else "")
    print(f"{torch.cuda.get_device_name()}, {versions}")
    if options.overhead:
        overhead()
    else:
        table(options.length, options.only)


if __name__ == "__main__":
    main()
