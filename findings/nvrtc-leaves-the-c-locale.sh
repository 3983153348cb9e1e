#!/usr/bin/env bash
# NVRTC 12.5 leaves the thread that compiles in the C locale, 12.0 the numbers of the whole process
# as well. 12.6 changes neither. Needs no GPU.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --target "$folder/12.0" nvidia-cuda-nvrtc-cu12==12.0.140
python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --target "$folder/12.5" nvidia-cuda-nvrtc-cu12==12.5.82
python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --target "$folder/12.6" nvidia-cuda-nvrtc-cu12==12.6.85
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
import locale
import sys

from nvrtc import compiled, nvrtc

locale.setlocale(locale.LC_ALL, "C.UTF-8")
libc = ctypes.CDLL(None)
libc.uselocale.restype, libc.uselocale.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
state = lambda: (libc.uselocale(None), locale.setlocale(locale.LC_NUMERIC))
before = state()
library = nvrtc(sys.argv[1])
compiled(library, "", [], "PTX")
after = state()
print("thread kept" if before[0] == after[0] else "thread changed", "- numbers:", after[1])
PYTHON
declare -a seen
for release in 12.0 12.5 12.6; do
    seen[${release#12.}]=$(LC_ALL=C.UTF-8 python3 "$folder/run.py" "$folder/$release")
    printf 'NVRTC %s: %s\n' "$release" "${seen[${release#12.}]}"
done
[[ ${seen[0]} == 'thread changed - numbers: C' ]]
[[ ${seen[5]} == 'thread changed - numbers: C.UTF-8' ]]
[[ ${seen[6]} == 'thread kept - numbers: C.UTF-8' ]]
