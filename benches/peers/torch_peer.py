"""What PyTorch has of the benchmark's rows, timed as benches/gpu times ours: device events, batches,
buffers that rotate through a pool larger than the L2 cache, and CUDA graphs for short arrays. The
buffers are this process's own.

Reads one JSON object from standard input, the questions of benches/gpu/torch.rs, and answers with a JSON object a line.
"""

import json
import sys

import torch

POOL_BYTES = 1 << 30
EVICTION_BYTES = 256 << 20
CALLS_IN_A_GRAPH = 64
LONG_CALL_US = 20_000
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


def axes(operator):
    """Along the middle one of three axes."""
    kind, shape = operator.split(" ")
    outer, length, inner = (int(side) for side in shape.split("x"))
    if kind == "running" and 1 < outer * inner < 64 and length > 1 << 20:
        # A thread a lane: it takes seconds.
        return {}

    def call(x, out, element):
        x = x.view(outer, length, inner)
        if kind == "sum":
            torch.sum(x, 1, out=out[: outer * inner].view(outer, inner))
        elif kind == "running":
            torch.cumsum(x, 1, out=out.view(outer, length, inner))
        else:
            torch.argmax(x, 1)

    return {"torch": call}


def segments(operator):
    """Sums and greatest of segments of one length, up to 1000; and of rows of 64."""
    kept = {}

    def offsets(length):
        if operator == "vectors of 64":
            # As benches/gpu/segments.rs has them.
            i = torch.arange(length // 6400 + 1, device="cuda")
            jitter = (i * 2654435761 % 2**32 >> 16) % 51
            jitter[0] = jitter[-1] = 0
            return 100 * i + jitter
        of = int(operator.split(" ")[2])
        return torch.arange(-(-length // of) + 1, device="cuda").mul_(of).clamp_(max=length)

    def keep(length):
        if "offsets" not in kept or kept["length"] != length:
            bounds = offsets(length)
            ids = torch.arange(len(bounds) - 1, dtype=torch.int32, device="cuda")
            ids = torch.repeat_interleave(ids, bounds.diff())
            kept.update(length=length, offsets=bounds, ids=ids)
        return kept

    def rows(x):
        return x.view(-1, 64) if operator == "vectors of 64" else x

    def reduce(x, out, element):
        kind = "max" if operator.startswith("max") else "sum"
        torch.segment_reduce(rows(x), kind, offsets=keep(len(x))["offsets"], axis=0, unsafe=True)

    def add(x, out, element):
        now = keep(len(x))
        items = rows(x)
        sums = rows(out)[: len(now["offsets"]) - 1]
        sums.index_add_(0, now["ids"], items)

    kind, _, of = operator.partition(" of ")
    if kind == "vectors" or kind == "sum" and of in ("10", "16", "100", "1000"):
        return {"torch": reduce, "torchadd": add}
    if kind == "max" and of in ("10", "16", "100", "1000"):
        return {"torch": reduce}
    return {}


def sorts(operator):
    """PyTorch's sort gives keys and places."""

    def places(x, out, element):
        torch.sort(x, stable=True)

    def of_rows(x, out, element):
        torch.sort(x.view(32, -1), dim=1, stable=True)

    call = {"places": places, "places of 32 rows": of_rows}.get(operator)
    return {"torch": call} if call else {}


def top(operator):
    words = operator.split(" ")
    k, rows = int(words[0]), int(words[2]) if words[-1] == "rows" else 1

    def call(x, out, element):
        torch.topk(x.view(rows, -1) if rows > 1 else x, k)

    return {"torch": call}


def indexed(primitive, operator):
    """By indices that are near or anywhere, as in benches/gpu/gather.rs."""
    kept = {}

    def index(length):
        if kept.get("length") != length:
            near = torch.arange(length, device="cuda").bitwise_and_(~31)
            near += torch.randint(0, 32, (length,), device="cuda")
            anywhere = torch.randint(0, length, (length,), device="cuda")
            kept.update(length=length, index=near if operator == "near" else anywhere)
        return kept["index"]

    def gather(x, out, element):
        torch.index_select(x, 0, index(len(x)), out=out)

    def scatter(x, out, element):
        out.scatter_(0, index(len(x)), x)

    return {"torch": gather if primitive == "gather" else scatter}


def calls_for(primitive, element, operator):
    """What PyTorch has, by the names of benches/gpu/record.rs."""
    if primitive == "weights":
        return {"torch": weights(operator)}
    call = CALLS.get((primitive, operator))
    if call is not None:
        return {"torch": call}
    if element != "f32":
        return {}
    if primitive in ("gather", "scatter"):
        return indexed(primitive, operator)
    families = {"axes": axes, "segments": segments, "sort": sorts, "top": top}
    return families[primitive](operator) if primitive in families else {}


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
        if kind[1] not in ELEMENTS:
            continue
        for library, call in calls_for(*kind).items():
            if (kind, library) in failed:
                continue
            try:
                times = measure(question, call, request["batches"], eviction)
                answer({"times": {"library": library, **times}})
            except Exception as error:  # The other rows have theirs all the same.
                failed.add((kind, library))
                lines = str(error).splitlines() or [type(error).__name__]
                answer({"missing": f"{' '.join(kind)}: {lines[0]}"})
            torch.cuda.empty_cache()


def measure(question, call, batches, eviction):
    element, length = ELEMENTS[question["element"]], question["length"]
    size = element.itemsize
    stride = -(-length // 256) * 256
    slots = max(1, POOL_BYTES // (stride * size))
    if element.is_floating_point:
        inputs = torch.rand(slots * stride, dtype=element, device="cuda")
    else:
        inputs = torch.randint(0, 100, (slots * stride,), dtype=element, device="cuda")
    if question["operator"].endswith(" of equal"):
        inputs.fill_(1)
    outputs = torch.empty_like(inputs)
    slot = 0

    def work():
        nonlocal slot
        slot = (slot + 1) % slots
        start = slot * stride
        call(inputs[start : start + length], outputs[start : start + length], element)

    passes = 1 if question["primitive"] == "reduce" else 2
    calls = min(max((128 << 20) // (passes * length * size), 3), 40)

    work()
    # As in benches/gpu/measure.rs, a long call is a batch by itself. Of very long ones three do.
    once = device_us(work)
    long = once > LONG_CALL_US
    if once > 10 * LONG_CALL_US:
        batches = 3

    def batch():
        if long:
            return device_us(work)
        work()
        return device_us(lambda: [work() for _ in range(calls)]) / calls

    times = {"cell": question["cell"], "stream": median(batch, batches), "graph": None}
    # A bincount waits for its result, so no graph can have it.
    if question["graph"] and question["primitive"] != "weights" and not long:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(CALLS_IN_A_GRAPH):
                work()

        def replay():
            eviction.zero_()
            return device_us(graph.replay) / CALLS_IN_A_GRAPH

        times["graph"] = median(replay, batches)
    return times


def device_us(work):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3


def median(batch, batches):
    batch()
    times = sorted(batch() for _ in range(batches))
    return times[((batches - 1) * 2 + 2) // 4]


def answer(line):
    print(json.dumps(line), flush=True)


main()
