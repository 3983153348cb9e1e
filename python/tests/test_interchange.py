"""DLPack and the CUDA array interface, as far as they can be told without a GPU."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import warpfold as wf
from warpfold import _dtypes, _gpu, _native


class Cuda:
    """Something that says it is on a GPU."""

    def __init__(self, **changes):
        self.__cuda_array_interface__ = {
            "shape": (3,),
            "typestr": "<f4",
            "data": (0, False),
            "version": 3,
            **changes,
        }


def has_driver():
    try:
        _native.gpu_of(0)
    except RuntimeError as error:
        return "libcuda" not in str(error)
    return True


def read(**changes):
    return _gpu.by_interface(_gpu.LIBRARIES[-1], Cuda(**changes), "x")


@pytest.mark.skipif(has_driver(), reason="there is a driver")
def test_without_a_driver_the_error_names_it():
    for call in [wf.sum, wf.cumsum, wf.sort, wf.flatnonzero, wf.histogram]:
        with pytest.raises(RuntimeError, match="(?s)libcuda.*install an NVIDIA driver"):
            call(Cuda(data=(4096, False)))
    with pytest.raises(RuntimeError, match="libcuda"):
        _native.gpu_reduce((0, 1), 4096, _dtypes.F32, "add", plan((3,)), _dtypes.F32, None, 8192)


def plan(shape):
    strides = _gpu.contiguous_strides(shape)
    return _native.Plan.of(list(shape), list(strides), None, False)


def test_calls_that_read_host_memory_refuse_a_gpu_array():
    for call in [wf.unique, lambda x: wf.partition(x, 1), lambda x: wf.group_by(x, x)]:
        with pytest.raises(TypeError, match="on a GPU: this call takes arrays in host memory"):
            call(Cuda())


def test_shapes_and_strides():
    array = read(shape=(2, 3))
    assert array.shape == (2, 3) and array.strides == (3, 1) and array.is_contiguous
    array = read(shape=(2, 3), strides=(4, 8))
    assert array.strides == (1, 2) and not array.is_contiguous
    assert read(shape=(2, 3), strides=(-12, 4)).strides == (-3, 1)
    assert read(shape=(2, 3), strides=(0, 4)).strides == (0, 1)
    assert read(shape=()).size == 1 and read(shape=()).strides == ()
    assert read(shape=(0, 3), strides=(7, 1)).size == 0
    with pytest.raises(ValueError, match="a stride of 6 bytes for items of 4: make a copy"):
        read(shape=(2, 3), strides=(6, 4))


@pytest.mark.parametrize(
    ("typestr", "code"),
    [
        ("|b1", _dtypes.BOOL),
        ("|i1", _dtypes.I8),
        ("<u2", _dtypes.U16),
        ("<i8", _dtypes.I64),
        ("<f2", _dtypes.F16),
        ("<f8", _dtypes.F64),
        (">u1", _dtypes.U8),
    ],
)
def test_dtypes_of_the_array_interface(typestr, code):
    assert read(typestr=typestr).code == code


@pytest.mark.parametrize(
    ("typestr", "message"),
    [
        (">f4", "in another byte order: convert"),
        (">i2", "in another byte order"),
        ("<c8", "take x.real and x.imag"),
        ("<V2", "is not supported"),
        ("nonsense", "does not know"),
    ],
)
def test_dtypes_that_are_refused(typestr, message):
    with pytest.raises(TypeError, match=message):
        read(typestr=typestr)


def test_streams():
    assert _gpu.stream_of(None, "x") == 1
    assert _gpu.stream_of(1, "x") == 1 and _gpu.stream_of(2, "x") == 2
    assert _gpu.stream_of(94_123_456, "x") == 94_123_456
    assert read(stream=2).place == (0, 2)
    with pytest.raises(ValueError, match="stream 0, which its definition forbids"):
        read(stream=0)
    for wrong in [-1, True, "1", 1.0]:
        with pytest.raises(TypeError, match="handle of a stream"):
            read(stream=wrong)


def test_other_faults_of_the_array_interface():
    with pytest.raises(TypeError, match="has a mask"):
        read(mask=Cuda())
    with pytest.raises(TypeError, match="version 1"):
        read(version=1)
    lacking = Cuda()
    del lacking.__cuda_array_interface__["typestr"]
    with pytest.raises(TypeError, match="lacks typestr"):
        _gpu.by_interface(_gpu.LIBRARIES[-1], lacking, "x")
    misaligned = _gpu.Array(None, _gpu.LIBRARIES[-1], 4098, (3,), (1,), _dtypes.F32, None)
    library = type("", (_gpu.Library,), {"read": lambda *_: misaligned})()
    with pytest.raises(ValueError, match="no multiple of its items' 4"):
        _gpu.read(None, library)


def test_host_arrays_are_no_gpu_arrays():
    for x in [np.arange(3), [1, 2], 3, None, object(), np.float32(2)]:
        assert _gpu.library_of(x) is None
    torch = pytest.importorskip("torch")
    assert _gpu.library_of(torch.arange(3)) is None


@pytest.mark.parametrize("version", [None, (1, 0)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint16", "float16", "float64"])
def test_capsules_are_read(dtype, version):
    x = np.arange(12).astype(dtype).reshape(3, 4)[:, ::2]
    taken = _native.from_capsule(x.__dlpack__(max_version=version))
    assert taken.device == (1, 0) and taken.shape == [3, 2] and taken.strides == [4, 2]
    assert taken.dtype == _dtypes.CODES[x.dtype] and taken.address == x.ctypes.data
    assert not taken.read_only


def test_a_capsule_that_is_read_only_says_so():
    x = np.arange(3.0)
    x.flags.writeable = False
    assert _native.from_capsule(x.__dlpack__(max_version=(1, 0))).read_only


def test_a_capsule_keeps_the_array_and_is_taken_once():
    x = np.arange(1000.0)
    capsule = x.__dlpack__()
    held = sys.getrefcount(x)
    taken = _native.from_capsule(capsule)
    with pytest.raises(BufferError, match="used before"):
        _native.from_capsule(capsule)
    del capsule
    gc.collect()
    assert sys.getrefcount(x) == held
    del taken
    gc.collect()
    assert sys.getrefcount(x) == held - 1
    with pytest.raises(BufferError, match="no capsule"):
        _native.from_capsule(object())


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_capsules_of_other_libraries(library):
    namespace = pytest.importorskip(library)
    x = namespace.ones((2, 5), dtype=namespace.bfloat16)
    taken = _native.from_capsule(x.__dlpack__())
    assert taken.dtype == _dtypes.BF16 and taken.shape == [2, 5] and taken.device[0] == 1
    with pytest.raises(TypeError, match="complex of 64 bits is not supported"):
        _native.from_capsule(namespace.ones(2, dtype=namespace.complex64).__dlpack__())


@pytest.mark.parametrize("dtype", ["bool", "int16", "uint64", "float32", "float64"])
def test_own_arrays_go_to_other_libraries_without_a_copy(dtype):
    code = _dtypes.CODES[np.dtype(dtype)]
    own = _native.DeviceArray(None, [3, 5], code)
    x = np.from_dlpack(own)
    assert x.ctypes.data == own.address and x.shape == own.shape == (3, 5) and x.dtype == dtype
    assert own.dtype == dtype and "shape [3, 5]" in repr(own)
    del own
    gc.collect()
    x[...] = 1
    assert x.sum() == 15
    torch = pytest.importorskip("torch")
    own = _native.DeviceArray(None, [4], code)
    assert torch.from_dlpack(own).data_ptr() == own.address


def test_what_own_arrays_refuse():
    own = _native.DeviceArray(None, [3], _dtypes.F32)
    for options in [{"copy": True}, {"dl_device": (2, 0)}]:
        with pytest.raises(BufferError, match="no copy is made"):
            own.__dlpack__(**options)
    # They are on the host here, which that interface does not know.
    assert not hasattr(own, "__cuda_array_interface__")
    unused = own.__dlpack__(max_version=(1, 0))
    assert "dltensor_versioned" in repr(unused)
    del unused
    gc.collect()


def test_nvrtc_of_a_package_is_found_before_the_native_part_looks():
    from warpfold import _nvrtc

    files = _nvrtc.installed()
    if not files:
        pytest.skip("the package nvidia-cuda-nvrtc is not installed")
    program = (
        "from warpfold import _native, _nvrtc\n"
        "_nvrtc.preload()\n"
        "file, version = _native.nvrtc()\n"
        "print(file)"
    )
    environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    environment.pop("WARPFOLD_NVRTC", None)
    shown = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
    assert shown.strip() in [str(file.resolve()) for file in files]


def test_no_nvrtc_is_loaded_if_one_is_named():
    program = (
        "from warpfold import _nvrtc\n"
        "_nvrtc.preload()\n"
        "print('nvrtc' in open('/proc/self/maps').read())"
    )
    environment = {**os.environ, "WARPFOLD_NVRTC": "/nowhere"}
    shown = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
    assert shown.strip() == "False"


def test_importing_loads_no_cuda():
    program = "import warpfold; print('cuda' in open('/proc/self/maps').read())"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "False"
