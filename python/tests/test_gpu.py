"""Calls on arrays of a GPU have the bits of the calls on the host.

The file needs pytest, NumPy and the wheel. It runs for each library that is there and sees a GPU,
and in any case for a stand-in whose arrays lie on the host, so that all but CUDA is tested
anywhere. `WARPFOLD_REQUIRE_GPU=1` makes it fail where neither CuPy nor PyTorch sees one.

    pip install --no-deps warpfold-*.whl
    WARPFOLD_REQUIRE_GPU=1 pytest -k "Torch or gpu" test_gpu.py

NVRTC compiles each kernel once, for some seconds, into the cache on disk: `-n 8` of pytest-xdist
compiles side by side, and the next library finds them there. `-k float32` is a beginning.
"""

import os
from functools import partial

import numpy as np
import pytest

import warpfold as wf
from warpfold import _dtypes, _gpu

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
ALL = ["bool", *INTEGERS, *FLOATS]
LENGTHS = [0, 1, 2, 33, 1000, 4097, 100_003]


class OnHost:
    """An array of the stand-in."""

    def __init__(self, array):
        self.array = array

    shape = property(lambda self: self.array.shape)

    def __gt__(self, other):
        return OnHost(self.array > other)

    def __eq__(self, other):
        return OnHost(self.array == other)

    def __mod__(self, other):
        return OnHost(self.array % other)

    def __floordiv__(self, other):
        return OnHost(self.array // other)


class _StandIn(_gpu.Library):
    waits = False
    takes_out = True

    def has(self, x):
        return isinstance(x, OnHost)

    def read(self, x, name):
        array = x.array
        strides = tuple(step // array.itemsize for step in array.strides)
        code = _dtypes.known_code(array.dtype)
        return _gpu.Array(x, self, array.ctypes.data, array.shape, strides, code, None)

    def empty(self, like, shape, code):
        # Results must not depend on what was there.
        full = np.full(int(np.prod(shape)) * _dtypes.DTYPES[code].itemsize, 0xA5, "uint8")
        return self.read(OnHost(full.view(_dtypes.DTYPES[code]).reshape(shape)), "out")

    def result(self, array, axes):
        return array.owner if axes is None else OnHost(array.owner.array.transpose(axes))

    def contiguous(self, array, axes=None):
        x = array.owner.array if axes is None else array.owner.array.transpose(axes)
        return self.read(OnHost(x.copy("C")), "x")

    def astype(self, array, code):
        return self.read(OnHost(array.owner.array.astype(_dtypes.DTYPES[code])), "x")

    def upload(self, like, array):
        return OnHost(array)

    def assign(self, out, array):
        out.owner.array[...] = array.owner.array


class Host:
    """How tests make arrays of a library, and read its results."""

    def __init__(self):
        self.library = _StandIn()

    def to(self, x):
        return OnHost(x)

    def back(self, x):
        assert isinstance(x, OnHost)
        return x.array

    def takes(self, dtype):
        return True


class Torch(Host):
    def __init__(self):
        self.torch = pytest.importorskip("torch")
        if not self.torch.cuda.is_available():
            pytest.skip("PyTorch sees no GPU")

    def to(self, x):
        # Layouts stay, but for negative strides, which PyTorch lacks.
        if any(step < 0 for step in x.strides):
            x = x.copy()
        if 0 in x.strides and x.size:
            once = x[tuple(slice(1) if step == 0 else slice(None) for step in x.strides)]
            return self.to(once.copy()).expand(x.shape)
        if not x.flags.owndata and x.base is not None and x.size:
            wide = np.lib.stride_tricks.as_strided(x, x.shape, x.strides)
            tensor = self.torch.empty_strided(
                x.shape, [s // x.itemsize for s in x.strides], dtype=self.dtype(x), device="cuda"
            )
            tensor.copy_(self.torch.from_numpy(wide.copy()))
            return tensor
        return self.torch.from_numpy(x.copy()).cuda()

    def dtype(self, x):
        return self.torch.from_numpy(np.empty(0, x.dtype)).dtype

    def back(self, x):
        assert x.is_cuda
        return x.cpu().numpy()


class CuPy(Host):
    def __init__(self):
        self.cupy = pytest.importorskip("cupy")
        try:
            self.cupy.cuda.runtime.getDeviceCount()
        except self.cupy.cuda.runtime.CUDARuntimeError:
            pytest.skip("CuPy sees no GPU")

    def to(self, x):
        whole = self.cupy.asarray(x.copy())
        if x.flags.c_contiguous or not x.size or x.ndim != 2:
            return whole
        # As transposed, or with steps.
        if x.flags.f_contiguous:
            return self.cupy.asarray(x.T.copy()).T
        wide = self.cupy.zeros((x.shape[0], 2 * x.shape[1]), x.dtype)
        wide[:, ::2] = whole
        return wide[:, ::2]

    def back(self, x):
        assert isinstance(x, self.cupy.ndarray)
        return self.cupy.asnumpy(x)


class Jax(Host):
    def __init__(self):
        self.jax = pytest.importorskip("jax")
        self.jax.config.update("jax_enable_x64", True)
        try:
            self.device = self.jax.devices("cuda")[0]
        except RuntimeError:
            pytest.skip("JAX sees no GPU")

    def to(self, x):
        return self.jax.device_put(np.ascontiguousarray(x).reshape(x.shape), self.device)

    def back(self, x):
        assert x.devices() == {self.device}
        return np.asarray(x)


class Numba(Host):
    def __init__(self):
        pytest.importorskip("numba")
        from numba import cuda

        if not cuda.is_available():
            pytest.skip("Numba sees no GPU")
        self.cuda = cuda

    def to(self, x):
        # Numba takes the stride of an axis of length 1 at its word: a copy has its own.
        return self.cuda.to_device(np.array(x, order="C", copy=True))

    def back(self, x):
        assert self.cuda.is_cuda_array(x)
        return x.copy_to_host()

    def takes(self, dtype):
        return dtype != "float16"


@pytest.fixture(scope="module", params=[Host, Torch, CuPy, Jax, Numba], ids=lambda p: p.__name__)
def lib(request):
    made = request.param()
    if request.param is Host:
        _gpu.LIBRARIES.insert(0, made.library)
        yield made
        _gpu.LIBRARIES.remove(made.library)
    else:
        yield made


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def data(dtype, shape, seed=0):
    """Numbers of all sizes; of floats also NaN, infinities, and zeros of both signs."""
    rng = np.random.default_rng([seed, *np.atleast_1d(shape)])
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in FLOATS:
        x = (rng.standard_normal(shape) * 8).astype(dtype)
        if seed:
            special = rng.random(shape)
            for i, value in enumerate([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]):
                x[(special > 0.02 * i) & (special < 0.02 * i + 0.01)] = value
        return x
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


def bits(x):
    x = np.array(x)
    if x.dtype.kind == "f":
        x[np.isnan(x)] = np.nan
    return x.dtype, x.shape, x.tobytes()


def same(lib, ours, host):
    """A result of the library has the bits of one on the host."""
    if isinstance(host, tuple):
        assert len(ours) == len(host)
        for a, b in zip(ours, host):
            same(lib, a, b)
        return
    a, b = lib.back(ours), np.asarray(host)
    assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, a.shape, b.dtype, b.shape)
    if bits(a) != bits(b):
        apart = np.flatnonzero([bits(p) != bits(q) for p, q in zip(a.ravel(), b.ravel())])
        at = apart[0]
        raise AssertionError(
            f"{len(apart)} apart, first {at}: {a.ravel()[at]!r}, {b.ravel()[at]!r}"
        )


def check(lib, call, *arrays):
    same(lib, call(*map(lib.to, arrays)), call(*arrays))


FOLDS = {
    "sum": wf.sum,
    "prod": wf.prod,
    "mean": wf.mean,
    "var": wf.var,
    "var of a sample": lambda x: wf.var(x, correction=1),
    "std": wf.std,
    "count": wf.count_nonzero,
    "sum from": lambda x: wf.sum(x, initial=1),
    "least from": lambda x: wf.min(x, initial=1),
    "sum in float64": lambda x: wf.sum(x, dtype="float64"),
}
EXTREMES = {"min": wf.min, "max": wf.max, "argmin": wf.argmin, "argmax": wf.argmax}
SCANS = {
    "cumsum": wf.cumsum,
    "cumprod": wf.cumprod,
    "before": lambda x: wf.cumsum(x, exclusive=True, initial=1),
    "from the end": lambda x: wf.scan(x, "maximum", reverse=True),
    "array API": wf.cumulative_sum,
}
SORTS = {
    "sort": wf.sort,
    "descending": lambda x: wf.sort(x, descending=True),
    "NaN last": lambda x: wf.sort(x, descending=True, nan="last"),
    "argsort": wf.argsort,
    "places descending": lambda x: wf.argsort(x, descending=True),
    "topk": lambda x: wf.topk(x, min(5, x.shape[0])),
    "least": lambda x: wf.topk(x, min(7, x.shape[0]), largest=False, nan="last"),
}
SELECTIONS = {
    "flatnonzero": wf.flatnonzero,
    "nonzero": wf.nonzero,
    "select": lambda x: wf.select(x, (">", 1)),
}
CALLS = {**FOLDS, **EXTREMES, **SCANS, **SORTS, **SELECTIONS}


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", CALLS)
def test_arrays_of_one_axis(lib, name, dtype):
    if not lib.takes(dtype):
        pytest.skip("the library lacks the dtype")
    if isinstance(lib, Numba) and name in ("select", "nonzero", "sum in float64"):
        pytest.skip("Numba's arrays have no arithmetic")
    if isinstance(lib, Torch) and name == "select" and dtype in INTEGERS[5:]:
        with pytest.raises(TypeError, match=f"compares no {dtype}"):
            CALLS[name](lib.to(data(dtype, 3)))
        return
    for length in LENGTHS:
        if length == 0 and name in EXTREMES:
            continue
        for seed in (0, 1) if dtype in FLOATS else (0,):
            check(lib, CALLS[name], data(dtype, length, seed))


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32", "float64"])
@pytest.mark.parametrize("op", ["add", "multiply", "minimum", "bitwise_and", "bitwise_xor"])
def test_operators_by_name(lib, op, dtype):
    if dtype in FLOATS and op.startswith("bitwise"):
        with pytest.raises(TypeError, match="takes integers"):
            wf.reduce(lib.to(data(dtype, 3)), op)
        return
    check(lib, lambda x: wf.reduce(x, op), data(dtype, 4097))
    check(lib, lambda x: wf.scan(x, op, exclusive=True), data(dtype, 4097))


LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "steps": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "reversed": lambda x: x[::-1],
    "broadcast": lambda x: np.broadcast_to(x[:, :1], x.shape),
}
AXES = {
    "sum 0": lambda x: wf.sum(x, 0),
    "sum 1": lambda x: wf.sum(x, 1),
    "sum -1, kept": lambda x: wf.sum(x, -1, keepdims=True),
    "sum of all": lambda x: wf.sum(x),
    "max 0": lambda x: wf.max(x, 0),
    "argmax 1": lambda x: wf.argmax(x, 1),
    "argmin of all": lambda x: wf.argmin(x),
    "mean 0": lambda x: wf.mean(x, 0),
    "var 1": lambda x: wf.var(x, 1),
    "count 0": lambda x: wf.count_nonzero(x, 0),
    "cumsum 0": lambda x: wf.cumsum(x, 0),
    "cumsum 1": lambda x: wf.cumsum(x, 1),
    "cumsum of all": lambda x: wf.cumsum(x),
    "sort 0": lambda x: wf.sort(x, 0),
    "sort 1": lambda x: wf.sort(x),
    "argsort 0": lambda x: wf.argsort(x, 0),
    "argsort 1": lambda x: wf.argsort(x, 1),
    "topk 0": lambda x: wf.topk(x, 3, 0),
    "topk 1": lambda x: wf.topk(x, 3, largest=False),
    "nonzero": lambda x: wf.nonzero(x),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_axes_and_layouts(lib, name, layout, dtype):
    if isinstance(lib, Numba) and name == "nonzero":
        pytest.skip("Numba's arrays have no arithmetic")
    for shape in [(7, 5), (300, 129), (1, 40), (40, 1)]:
        if "topk" in name and min(shape) < 3:
            continue
        try:
            check(lib, AXES[name], LAYOUTS[layout](data(dtype, shape)))
        except TypeError as error:
            # Libraries of which warpfold knows no copies say what to do.
            assert isinstance(lib, Numba) and "before the call" in str(error)


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 2), (1, 2), (0, 1, 2), None])
def test_three_axes(lib, axis):
    if isinstance(lib, Numba):
        pytest.skip("some need copies")
    x = data("float32", (6, 33, 10))
    check(lib, lambda x: wf.sum(x, axis), x)
    check(lib, lambda x: wf.sum(x, axis, keepdims=True), x.transpose(2, 0, 1))
    check(lib, lambda x: wf.mean(x, axis), x.transpose(1, 2, 0))


def test_without_items(lib):
    for shape in [(0, 3), (3, 0)]:
        for axis in (0, 1):
            x = np.empty(shape, "float32")
            for call in (wf.sum, wf.cumsum, wf.sort):
                check(lib, partial(call, axis=axis), x)
    for call in EXTREMES.values():
        with pytest.raises(ValueError, match="zero-size array"):
            call(lib.to(np.empty(0, "float32")))


def test_a_number_without_axes(lib):
    x = np.array(2.5, "float32")
    check(lib, wf.sum, x)
    check(lib, wf.argmax, x)
    with pytest.raises(ValueError, match="no axes"):
        wf.nonzero(lib.to(x))


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, "float32", "float64"])
def test_histograms(lib, dtype):
    if isinstance(lib, Numba) and dtype == "bool":
        pytest.skip("needs a conversion")
    x = data(dtype, 4097)
    check(lib, lambda x: wf.histogram(x, 10), x)
    check(lib, lambda x: wf.histogram(x, 7, (0, 3)), x)
    check(lib, lambda x: wf.histogram(x, [0.0, 0.5, 1.0, 9.0]), x)
    check(lib, lambda x: wf.histogram(x, 3, (0, 1))[0], x[:0])
    check(lib, lambda x, w: wf.histogram(x, 5, weights=w), x, data("float64", 4097))
    check(lib, lambda x, w: wf.histogram(x, 5, weights=w), x, data("int64", 4097))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_counts_of_values(lib, dtype):
    x = np.abs(data(dtype, 4097) % 100).astype(dtype)
    check(lib, wf.bincount, x)
    check(lib, lambda x: wf.bincount(x, minlength=300), x)
    check(lib, lambda x: wf.bincount(x, minlength=3), x[:0])
    check(lib, lambda x, w: wf.bincount(x, w), x, data("float64", 4097))
    if dtype.startswith("int"):
        with pytest.raises(ValueError, match="negative value, -1"):
            wf.bincount(lib.to(np.array([1, -1], dtype)))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("op", ["add", "max"])
def test_segments(lib, dtype, op):
    if not lib.takes(dtype):
        pytest.skip("the library lacks the dtype")
    rng = np.random.default_rng(3)
    for length in (0, 5, 100_003):
        x = data(dtype, length)
        offsets = np.sort(rng.integers(0, length + 1, 1 + length // 9))
        check(lib, lambda x, o: wf.segment_reduce(x, o, op=op), x, offsets)
    offsets = np.array([0, 2, 2, 7])
    check(lib, lambda x, o: wf.segment_reduce(x, o, op=op, initial=1), data(dtype, 9), offsets)
    check(lib, lambda x, o: wf.segment_reduce(x, o, op=op), data(dtype, (9, 4)), offsets)


def test_offsets_at_fault(lib):
    x = lib.to(np.arange(5.0))
    for offsets, message in [([0, 3, 1], "less than"), ([0, 9], "9"), ([-1, 3], "less than")]:
        with pytest.raises(ValueError, match=message):
            wf.segment_reduce(x, lib.to(np.array(offsets)))
    with pytest.raises(TypeError, match="must be integers"):
        wf.segment_reduce(x, lib.to(np.array([0.0, 1.0])))


@pytest.mark.parametrize("dtype", ALL)
def test_masks(lib, dtype):
    if not lib.takes(dtype):
        pytest.skip("the library lacks the dtype")
    for length in LENGTHS:
        x, mask = data(dtype, length), data("bool", length)
        check(lib, lambda x, m: wf.select(x, m), x, mask)
        check(lib, lambda x, m: wf.compress(m, x), x, mask)
        check(lib, lambda x, m: wf.compress(m, x), x, mask[: length // 2])
    with pytest.raises(TypeError, match="must be bool"):
        wf.select(lib.to(np.arange(3)), lib.to(np.arange(3)))
    with pytest.raises(ValueError, match="5 flags for 3 items"):
        wf.compress(lib.to(np.ones(5, bool)), lib.to(np.arange(3)))


@pytest.mark.parametrize("call", [wf.sum, wf.cumsum, wf.sort], ids=lambda f: f.__name__)
def test_out(lib, call):
    x = data("float32", (30, 20))
    arguments = (x,) if call is wf.cumsum else (x, 1)
    expected = call(*arguments)
    out = lib.to(np.zeros(expected.shape, expected.dtype))
    rest = arguments[1:]
    if type(lib) in (Jax, Numba):
        with pytest.raises(TypeError, match="leave it away"):
            call(lib.to(x), *rest, out=out)
        return
    assert call(lib.to(x), *rest, out=out) is out
    same(lib, out, expected)
    with pytest.raises(ValueError, match="out is of shape"):
        call(lib.to(x), *rest, out=lib.to(np.zeros(3, "float32")))


def test_out_may_be_x(lib):
    if type(lib) in (Jax, Numba):
        pytest.skip("the library's arrays are not written to")
    x = data("float32", 100_003)
    for call in [wf.cumsum, wf.sort, lambda x, out: wf.scan(x, "max", reverse=True, out=out)]:
        array = lib.to(x.copy())
        assert call(array, out=array) is array
        same(lib, array, call(x.copy(), out=None))


def test_what_is_not_there_says_what_to_do(lib):
    x = lib.to(np.arange(6.0))
    for call, message in [
        (lambda: wf.sum(x, key="abs"), "apply the function to the array first"),
        (lambda: wf.sum(x, where=x), "select the items first"),
        (lambda: wf.var(x, correction=2), "take 0 or 1"),
        (lambda: wf.histogram(x, "auto"), "give the number of bins"),
        (lambda: wf.histogram(x, density=True), "divide the counts"),
        (lambda: wf.segment_reduce(x, keys=x), "by offsets"),
        (lambda: wf.segment_reduce(x, [0, 6]), "both must be there"),
        (lambda: wf.select(x, np.ones(6, bool)), "both must be there"),
    ]:
        with pytest.raises(TypeError, match=message):
            call()
    if type(lib) is not Host:
        for call in [wf.unique, wf.partition, lambda x: wf.group_by(x, x), wf.Reducer().push]:
            with pytest.raises(TypeError, match="host memory"):
                call(x) if call is not wf.partition else call(x, 1)


def test_something_is_on_a_gpu():
    if os.environ.get("WARPFOLD_REQUIRE_GPU") != "1":
        pytest.skip("a GPU is not required")
    seen = []
    for kind in (Torch, CuPy):
        try:
            kind()
            seen.append(kind)
        except pytest.skip.Exception:
            pass
    assert seen, "neither PyTorch nor CuPy sees a GPU"


# What follows needs a GPU.


@pytest.fixture(scope="module")
def torch():
    return Torch().torch


def test_bfloat16(torch):
    x = torch.randn(100_003, device="cuda", dtype=torch.bfloat16)
    for call in [wf.sum, wf.mean, wf.std, wf.max, wf.argmin, wf.cumsum, wf.sort, wf.flatnonzero]:
        ours, host = call(x), call(x.cpu())
        assert ours.is_cuda and ours.dtype == host.dtype
        if ours.dtype == torch.bfloat16:
            ours, host = ours.view(torch.int16), host.view(torch.int16)
        assert torch.equal(ours.cpu(), host), call


def test_tensors_that_are_none(torch):
    with pytest.raises(TypeError, match="detach"):
        wf.sum(torch.ones(3, device="cuda", requires_grad=True))
    with pytest.raises(TypeError, match="to_dense"):
        wf.sum(torch.eye(3, device="cuda").to_sparse())
    with pytest.raises(TypeError, match="complex64"):
        wf.sum(torch.ones(3, device="cuda", dtype=torch.complex64))


def test_calls_are_on_the_current_stream(torch):
    """What precedes a call on its stream is done before, and what follows it comes after."""
    expected = wf.cumsum(np.full(1 << 22, 2.0, "float32"))
    for stream in [torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.default_stream()]:
        with torch.cuda.stream(stream):
            x = torch.zeros(1 << 22, device="cuda")
            # The first calls on a stream compile, and wait until their workspace is cleared.
            wf.cumsum(x), wf.sum(x)
            torch.cuda._sleep(50_000_000)
            x.fill_(2.0)
            sums = wf.cumsum(x)
            assert not stream.query(), "the call has waited"
            x.zero_()
            total = sums[-1] - wf.sum(x)
            # On the stream: the default one does not wait for others.
            assert total.item() == expected[-1]
            assert np.array_equal(sums.cpu().numpy(), expected)


def test_memory_is_of_the_library(torch):
    x = torch.ones(1 << 20, device="cuda")
    wf.cumsum(x)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    sums = wf.cumsum(x)
    assert torch.cuda.memory_allocated() - before == sums.nbytes


def test_graphs_capture_calls(torch):
    stream = torch.cuda.Stream()
    x = torch.ones(1 << 20, device="cuda")
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        wf.sum(x), wf.cumsum(x)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        total, sums = wf.sum(x), wf.cumsum(x)
    x.fill_(3.0)
    torch.cuda.synchronize()
    graph.replay()
    torch.cuda.synchronize()
    assert total.item() == 3 << 20 and sums[-1].item() == 3 << 20


def test_another_gpu(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    x = torch.arange(1000.0, device="cuda:1")
    assert wf.sum(x).device == x.device and wf.sum(x).item() == 499_500
    assert torch.cuda.current_device() == 0
    assert torch.zeros(1, device="cuda").device.index == 0
    with pytest.raises(ValueError, match="on one GPU"):
        wf.select(x, torch.ones(1000, device="cuda:0", dtype=torch.bool))


def test_threads_with_streams_of_their_own(torch):
    from concurrent.futures import ThreadPoolExecutor

    x = torch.randn(1 << 20, device="cuda")
    expected = wf.cumsum(x.cpu().numpy())
    torch.cuda.synchronize()

    def work(_):
        with torch.cuda.stream(torch.cuda.Stream()):
            return wf.cumsum(x).cpu().numpy()

    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(work, range(12)):
            assert np.array_equal(result, expected)


def test_streams_of_cupy():
    cupy = CuPy().cupy
    x = cupy.ones(1 << 20, "float32")
    cupy.cuda.Device().synchronize()
    for stream in [cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream.ptds]:
        with stream:
            assert float(wf.cumsum(x)[-1]) == 1 << 20


def test_jax_without_64_bits():
    jax = Jax().jax
    try:
        jax.config.update("jax_enable_x64", False)
        x = jax.device_put(np.full(100, 2**30, "int32"), jax.devices("cuda")[0])
        with pytest.raises(OverflowError, match="jax_enable_x64"):
            wf.sum(x)
        small = wf.sum(x // 2**30)
        assert small.dtype == "int32" and int(small) == 100
    finally:
        jax.config.update("jax_enable_x64", True)


def test_any_object_with_the_array_interface(torch):
    """Results are warpfold's own arrays, which others take over without a copy."""

    class Foreign:
        def __init__(self, tensor):
            self.tensor = tensor

        __cuda_array_interface__ = property(lambda self: self.tensor.__cuda_array_interface__)

    x = torch.arange(1000.0, device="cuda")
    result = wf.cumsum(Foreign(x))
    taken = torch.from_dlpack(result)
    assert taken.data_ptr() == result.address
    assert torch.equal(taken, torch.as_tensor(result, device="cuda"))
    assert np.array_equal(taken.cpu().numpy(), wf.cumsum(x.cpu().numpy()))
