"""shards.py - one run that is saved as one file, and by 1, 2 and 3 ranks as a file a rank; what a reader makes of them."""
# SPDX-License-Identifier: Apache-2.0
import array
import hashlib
import json
import math
import os
import subprocess

from written import safetensors

INDEX = "ep{epoch}-ba{batch}.safetensors.index.json"
WEIGHTS = {"body.conv0.weight": [16, 3, 3, 1], "body.conv1.weight": [32, 3, 3, 16], "body.conv2.weight": [64, 3, 3, 32],
           "body.head.weight": [10, 64], "body.head.bias": [10]}
SIZES = (1, 2, 3)
OWN = ("run.clock", "callback.checkpoint_saver.saved")  # clocks of the wall, names of files


def first_weights(path):
    """Weights that are the same everywhere; a learning rate of 0 leaves them."""
    safetensors(path, {name: (shape, array.array("f", [(37 * k % 101 - 50) / 64 for k in range(math.prod(shape))]))
                       for name, shape in WEIGHTS.items()})


def run_file(sharded):
    """Three batches on drawn digits, with momentum, so that the optimizer has a state."""
    saver = {"name": "checkpoint_saver", "interval": "3ba"} | ({"filename": INDEX} if sharded else {})
    return {"name": "shards", "seed": 3, "threads": 1, "microbatch_size": 4, "model": {"name": "cnn"},
            "train": {"dataset": {"name": "glyphs", "samples": 130}, "batch_size": 30, "workers": 1,
                      "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}]},
            "optimizer": {"name": "sgd", "lr": 0, "momentum": 0.9}, "callbacks": [saver], "max_duration": "3ba",
            "load_weights": "../first.safetensors", "load_strict": False,
            "distributed": {"comm": "shared_memory", "join_timeout_s": 60, "timeout_s": 60, "bucket_mib": 0.01,
                            "sharding": "states" if sharded else "none"}}


def save(tutti, folder, size, sharded):
    """The file, or the index, that so many ranks write in a new folder."""
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(run_file(sharded)))
    ranks = [subprocess.Popen([tutti, "train", "run.json"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env=os.environ | {"TUTTI_TUNE": "0", "TUTTI_RANK": str(k), "TUTTI_JOB": str(folder),
                                                           "TUTTI_WORLD_SIZE": str(size)}) for k in range(size)]
    said = [rank.communicate(timeout=120)[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        raise SystemExit(f"{size} ranks: {said}")
    return folder / "runs/shards/checkpoints" / (INDEX.format(epoch=0, batch=3) if sharded else "ep0-ba3.safetensors")


def save_all(tutti, root):
    """One file, and an index by number of ranks."""
    first_weights(root / "first.safetensors")
    return save(tutti, root / "one", 1, False), {size: save(tutti, root / str(size), size, True) for size in SIZES}


def answers(tensors):
    """Of (dtype, shape, bytes) by name what can be committed: hashes of what is the same on every machine, "" of the rest."""
    return {name: [dtype, shape, hashlib.sha256(data).hexdigest() if name.partition(".")[2] in WEIGHTS and name.startswith("model.")
                   else ""] for name, (dtype, shape, data) in sorted(tensors.items()) if name not in OWN}


def package_files(index):
    """Files of an index, by transformers' reader of it."""
    from transformers.utils.hub import get_checkpoint_shard_files  # pylint: disable=import-outside-toplevel
    files, about = get_checkpoint_shard_files(str(index.parent), str(index))
    return files, about["weight_map"]


def package_read(files):
    """(dtype, shape, bytes) by name, by the package safetensors."""
    from safetensors import safe_open  # pylint: disable=import-outside-toplevel
    out = {}
    for path in files:
        with safe_open(path, framework="np") as f:
            for name in f.keys():
                values = f.get_tensor(name)
                out[name] = (f.get_slice(name).get_dtype(), list(values.shape), values.tobytes())
    return out
