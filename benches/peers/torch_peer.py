"""PyTorch's sums and scans, timed as benches/gpu times ours: device events, batches, buffers that rotate through a pool
larger than the L2 cache, and CUDA graphs for short arrays. The buffers are this process's own.

Reads one JSON object from standard input, the questions of benches/gpu/torch.rs, and answers with a JSON object a line.
"""

import json
import sys

import torch

POOL_BYTES = 1 << 30
EVICTION_BYTES = 256 << 20
CALLS_IN_A_GRAPH = 64
ELEMENTS = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i8": torch.int8,
    "u8": torch.uint8,
    "u16": torch.uint16,
    "u32": torch.uint32,
    "u64": torch.uint64,
}


def reduce_add(x, out, element):
    torch.sum(x, dim=0, dtype=element, out=out[0])


def reduce_max(x, out, element):
    torch.amax(x, dim=0, out=out[0])


def scan_add(x, out, element):
    torch.cumsum(x, dim=0, dtype=element, out=out)


def inclusive_max(x, out, element):
    """The only running maximum that PyTorch has. It also writes an index of 8 bytes for each element."""
    torch.cummax(x, dim=0)


def weights(operator):
    """Sums of the weights `x` of items that are spread over so many bins, or all in one: with atomic additions."""
    count, spread = operator.split(" ")
    items = {}

    def call(x, out, element):
        if len(x) not in items:
            items.clear()
            make = torch.zeros if spread == "equal" else lambda n, **kinds: torch.randint(0, int(count), (n,), **kinds)
            items[len(x)] = make(len(x), dtype=torch.int32, device="cuda")
        torch.bincount(items[len(x)], weights=x, minlength=int(count))

    return call


CALLS = {
    ("reduce", "add"): reduce_add,
    ("reduce", "max"): reduce_max,
    ("scan", "add"): scan_add,
    ("inclusive", "max"): inclusive_max,
}


def main():
    request = json.load(sys.stdin)
    if not torch.cuda.is_available():
        sys.exit(f"torch {torch.__version__} sees no GPU")
    answer({"version": torch.__version__})
    eviction = torch.empty(EVICTION_BYTES, dtype=torch.uint8, device="cuda")
    failed = set()
    for question in request["cells"]:
        kind = (question["primitive"], question["element"], question["operator"])
        call = weights(kind[2]) if kind[0] == "weights" else CALLS.get((kind[0], kind[2]))
        if call is None or kind[1] not in ELEMENTS or kind in failed:
            continue
        try:
            answer({"times": measure(question, call, request["batches"], eviction)})
        except (RuntimeError, TypeError) as error:
            failed.add(kind)
            answer({"missing": f"{' '.join(kind)}: {str(error).splitlines()[0]}"})


def measure(question, call, batches, eviction):
    element, length = ELEMENTS[question["element"]], question["length"]
    size = element.itemsize
    stride = -(-length // 256) * 256
    slots = max(1, POOL_BYTES // (stride * size))
    if element.is_floating_point:
        inputs = torch.rand(slots * stride, dtype=element, device="cuda")
    else:
        inputs = torch.randint(0, 100, (slots * stride,), dtype=element, device="cuda")
    outputs = torch.empty_like(inputs)
    slot = 0

    def work():
        nonlocal slot
        slot = (slot + 1) % slots
        start = slot * stride
        call(inputs[start : start + length], outputs[start : start + length], element)

    passes = 1 if question["primitive"] == "reduce" else 2
    calls = min(max((128 << 20) // (passes * length * size), 3), 40)

    def batch():
        work()
        return device_us(lambda: [work() for _ in range(calls)]) / calls

    times = {"cell": question["cell"], "stream": spread(batch, batches), "graph": None}
    # A bincount waits for its result, so no graph can have it.
    if question["graph"] and question["primitive"] != "weights":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(CALLS_IN_A_GRAPH):
                work()

        def replay():
            eviction.zero_()
            return device_us(graph.replay) / CALLS_IN_A_GRAPH

        times["graph"] = spread(replay, batches)
    return times


def device_us(work):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3


def spread(batch, batches):
    batch()
    times = sorted(batch() for _ in range(batches))
    at = [times[((batches - 1) * quarter + 2) // 4] for quarter in range(5)]
    return at


def answer(line):
    print(json.dumps(line), flush=True)


main()
