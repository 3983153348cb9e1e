#!/usr/bin/env bash
# NVRTC 13.2.78 and 13.2.86 both say version 13.2, and compile a sum of squares for sm_100 to
# different machine code. For sm_90 it is the same. So a cache of kernels needs more than
# nvrtcVersion in its key. Needs no GPU.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --target "$folder/78" nvidia-cuda-nvrtc==13.2.78
python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --target "$folder/86" nvidia-cuda-nvrtc==13.2.86
cat >"$folder/nvrtc.py" <<'PYTHON'
import ctypes
import glob
import sys


def nvrtc(folder):
    """NVRTC of a folder, with the library that it opens by itself."""
    (path,) = glob.glob(folder + "/nvidia/**/libnvrtc.so.*", recursive=True)
    (builtins,) = glob.glob(folder + "/nvidia/**/libnvrtc-builtins.so.*", recursive=True)
    ctypes.CDLL(builtins)
    return ctypes.CDLL(path)


def compiled(nvrtc, text, options, kind):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"k.cu", 0, None, None)
    words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    assert nvrtc.nvrtcCompileProgram(program, len(options), words) == 0
    getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
    image = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{kind}")(program, image)
    return image.raw
PYTHON
cat >"$folder/run.py" <<'PYTHON'
import ctypes
import hashlib
import struct
import sys

from nvrtc import compiled, nvrtc

TEXT = """
extern "C" __global__ void squares(const float* x, float* y, int n) {
    __shared__ float s[256];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) sum += x[i] * x[i];
    s[threadIdx.x] = sum;
    __syncthreads();
    for (int d = 128; d; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) *y = s[0];
}
"""


def code(image):
    """The instructions: the section .text.squares of an ELF file."""
    (start,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", image, start + i * size) for i in range(count)]
    for section in sections:
        name = image[sections[names][4] + section[0] :].split(b"\0")[0]
        if name == b".text.squares":
            return image[section[4] : section[4] + section[5]]


library = nvrtc(sys.argv[1])
major, minor = ctypes.c_int(), ctypes.c_int()
library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
hashes = []
for architecture in (90, 100):
    image = compiled(library, TEXT, [f"--gpu-architecture=sm_{architecture}"], "CUBIN")
    hashes.append(hashlib.sha1(code(image)).hexdigest()[:12])
print(f"{major.value}.{minor.value}", *hashes)
PYTHON
read -r version_78 hopper_78 blackwell_78 < <(python3 "$folder/run.py" "$folder/78")
read -r version_86 hopper_86 blackwell_86 < <(python3 "$folder/run.py" "$folder/86")
printf '13.2.78: version %s, sm_90 %s, sm_100 %s\n' "$version_78" "$hopper_78" "$blackwell_78"
printf '13.2.86: version %s, sm_90 %s, sm_100 %s\n' "$version_86" "$hopper_86" "$blackwell_86"
[[ $version_78 == 13.2 && $version_86 == 13.2 ]]
[[ $hopper_78 == "$hopper_86" ]]
[[ ! $blackwell_78 == "$blackwell_86" ]]
