#!/usr/bin/env python3
"""record_shards.py - what Hugging Face's packages read of checkpoints by 1, 2 and 3 ranks, into shards.json:
record_shards.py TUTTI, with safetensors, numpy and transformers (which needs no torch for it)."""
# SPDX-License-Identifier: Apache-2.0
import importlib.metadata
import json
import os
import pathlib
import sys
import tempfile

from shards import OWN, answers, package_files, package_read, save_all


def same(one, other):
    """Whether all tensors have the same bits."""
    return one.keys() == other.keys() and all(one[name] == other[name] for name in one if name not in OWN)


def main():
    """Writes shards.json where all that is read is the same."""
    with tempfile.TemporaryDirectory() as folder:
        file, indexes = save_all(os.path.abspath(sys.argv[1]), pathlib.Path(folder))
        one, counts = package_read([str(file)]), {}
        for size, index in indexes.items():
            files, where = package_files(index)
            read = package_read(files)
            if not same(one, read):
                raise SystemExit(f"of {size} ranks the packages read other tensors than of one file")
            if any(name not in package_read([str(index.parent / shard)]) for name, shard in where.items()):
                raise SystemExit(f"of {size} ranks a tensor is not where the index says")
            counts[size] = len(files)
    versions = {name: importlib.metadata.version(name) for name in ("safetensors", "transformers", "numpy")}
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in answers(one).items())
    text = f'{{"versions": {json.dumps(versions)},\n "files": {json.dumps(counts)},\n "tensors": {{\n{rows}}}}}'
    (pathlib.Path(__file__).parent / "shards.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
