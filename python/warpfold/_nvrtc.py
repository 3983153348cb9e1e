"""Finds NVRTC, CUDA's run-time compiler, among the installed Python packages."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import threading
from pathlib import Path

_done = False
_lock = threading.Lock()


def preload() -> None:
    """Loads NVRTC of the packages ``nvidia-cuda-nvrtc`` and ``nvidia-cuda-nvrtc-cu12``.

    The native part looks for NVRTC by its name, and finds what is loaded. Nothing is loaded if
    ``WARPFOLD_NVRTC`` names one, or of a version that is loaded already, as by PyTorch.
    """
    global _done
    # Other threads wait until it is there.
    with _lock:
        if not _done:
            _preload()
            _done = True


def _preload() -> None:
    if os.environ.get("WARPFOLD_NVRTC"):
        return
    for file in installed():
        try:
            ctypes.CDLL(file.name, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        except OSError:
            try:
                ctypes.CDLL(str(file), mode=os.RTLD_NOW | os.RTLD_LOCAL)
            except OSError:
                # Of another platform, or broken: the native part says what it misses.
                continue


def installed() -> list[Path]:
    """The libraries of all versions that are installed as packages. Linux alone."""
    spec = importlib.util.find_spec("nvidia")
    folders = [] if spec is None else spec.submodule_search_locations or []
    found = []
    for folder in folders:
        for pattern in ("cu*/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*"):
            # Not `libnvrtc.so.13.0.88`, or debugging versions.
            found += [f for f in sorted(Path(folder).glob(pattern)) if f.name.count(".") == 2]
    return found
