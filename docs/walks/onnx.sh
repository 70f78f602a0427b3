#!/usr/bin/env bash
# onnx.sh [FOLDER] - a trained model as an ONNX file, and its answers beside those of onnxruntime, where Python has it.
# Needs tutti in PATH, or its path in TUTTI; PYTHON names the Python.
set -euo pipefail
tutti=${TUTTI:-tutti}
mkdir -p "${1:-.}" && cd "${1:-.}"
python3 - <<'PY'
import math, struct
def npy(name, shape, values):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
                           + struct.pack(f"<{len(values)}f", *values))
x = [math.sin(0.7 * k) + math.cos(0.013 * k * k) for k in range(64 * 6)]
npy("x.npy", (64, 6), x)
npy("y.npy", (64, 2), [f(sum(x[6 * k:6 * k + 6])) for k in range(64) for f in (math.sin, math.cos)])
PY
cat >run.json <<'JSON'
{
  "name": "numbers",
  "model": {"name": "mlp", "hidden": [32, 32], "activation": "silu"},
  "loss": "mse",
  "train": {"dataset": {"name": "npy", "inputs": "x.npy", "targets": "y.npy"}, "batch_size": 16},
  "eval": [{"label": "all", "dataset": {"name": "npy", "inputs": "x.npy", "targets": "y.npy"}, "batch_size": 16,
            "metrics": [{"name": "mean_squared_error"}]}],
  "optimizer": {"name": "adamw", "lr": 0.01},
  "callbacks": [{"name": "checkpoint_saver"}],
  "max_duration": "10ep",
  "threads": 1
}
JSON
"$tutti" train run.json --quiet
"$tutti" export runs/numbers/checkpoints/latest.safetensors --onnx model.onnx
"$tutti" predict run.json --checkpoint auto --output ours.npy
if ! "${PYTHON:-python3}" -c 'import numpy, onnxruntime' 2>/dev/null; then
  echo "not compared: this Python has no onnxruntime"
  exit 0
fi
"${PYTHON:-python3}" - <<'PY'
import numpy as np
import onnxruntime
session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
theirs = session.run(None, {"input": np.load("x.npy")})[0]
far = float(np.abs(theirs - np.load("ours.npy")).max())
print(f"onnxruntime {onnxruntime.__version__} is {far:.1e} away")
assert far < 1e-5
PY
