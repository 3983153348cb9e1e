#!/usr/bin/env bash
# JAX on a CPU: 5000 ones in bfloat16 have the sum 4992, the nearest bfloat16. segment_sum, bincount
# and x.at[i].add round each addition, and stop at 256. Integers: sum widens int8 to int32, cumsum
# wraps in int8.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2
"$folder/venv/bin/python" - <<'PYTHON'
import os

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp

print("JAX", jax.__version__)
ones, places = jnp.ones(5000, jnp.bfloat16), jnp.zeros(5000, int)
sums = {
    "sum": jnp.sum(ones),
    "cumsum": jnp.cumsum(ones)[-1],
    "segment_sum": jax.ops.segment_sum(ones, places, num_segments=1)[0],
    "bincount": jnp.bincount(places, weights=ones, length=1)[0],
    "at.add": jnp.zeros(1, jnp.bfloat16).at[places].add(ones)[0],
}
sums = {name: float(value) for name, value in sums.items()}
hundreds = jnp.full(3, 100, jnp.int8)
whole, running = jnp.sum(hundreds), jnp.cumsum(hundreds)
print(sums)
print("int8: sum", int(whole), whole.dtype, "- cumsum", running.tolist(), running.dtype)
assert list(sums.values()) == [4992.0, 4992.0, 256.0, 256.0, 256.0]
assert (int(whole), str(whole.dtype)) == (300, "int32")
assert (running.tolist(), str(running.dtype)) == ([100, -56, 44], "int8")
PYTHON
