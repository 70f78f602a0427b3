"""shards_test.py TUTTI - a file a rank has the tensors of one file, as Hugging Face's packages read them.

shards.json has what these read (record_shards.py).  Where Python has them (PEERS=FOLDER: that environment has), they
read again here."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from shards import OWN, answers, package_files, package_read, save_all

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from checkpoint import read  # noqa: E402  pylint: disable=wrong-import-position


def own_read(index):
    """Tensors of an index by Tutti's tests' own reader."""
    where = json.loads(index.read_text())["weight_map"]
    files = {name: read(index.parent / name) for name in sorted(set(where.values()))}
    return {name: files[file][name] for name, file in where.items()}, len(files)


def differing(one, other):
    """Names whose dtype, shape or bits differ."""
    return sorted(name for name in one.keys() | other.keys() if name not in OWN and one.get(name) != other.get(name))


def packages(file, indexes):
    """Faults of what the packages read now; None where they are not there."""
    try:
        import numpy  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        one, faults = package_read([str(file)]), []
    except ImportError:
        return None
    for size, index in indexes.items():
        try:
            files = package_files(index)[0]
        except ImportError:
            files = [str(index.parent / name) for name in sorted(set(json.loads(index.read_text())["weight_map"].values()))]
        faults += [f"{size} ranks: the packages read another {name}" for name in differing(one, package_read(files))]
    return faults


def check(tutti, root):
    """Faults of all checkpoints, as texts."""
    recorded = json.loads((HERE / "shards.json").read_text())
    file, indexes = save_all(tutti, root)
    one, faults = read(file), []
    if answers(one) != recorded["tensors"]:
        faults.append(f"one file: other tensors than recorded: {differing(answers(one), recorded['tensors'])}")
    for size, index in indexes.items():
        tensors, count = own_read(index)
        faults += [f"{size} ranks: another {name} than in one file" for name in differing(one, tensors)]
        if count != recorded["files"][str(size)]:
            faults.append(f"{size} ranks: {count} files, recorded {recorded['files'][str(size)]}")
    now = packages(file, indexes)
    said = ", ".join(f"{name} {version}" for name, version in recorded["versions"].items())
    print("compared with what was recorded of " + said + (", not with packages of this Python, which lacks safetensors or numpy"
                                                          if now is None else ", and with the packages of this Python"))
    return faults + (now or [])


def main():
    """Prints faults."""
    peers = os.environ.get("PEERS")
    if peers and pathlib.Path(sys.prefix) != pathlib.Path(peers).resolve():
        return subprocess.run([f"{peers}/bin/python", __file__, *sys.argv[1:]], check=False,
                              env={k: v for k, v in os.environ.items() if k != "PEERS"}).returncode
    with tempfile.TemporaryDirectory() as folder:
        faults = check(os.path.abspath(sys.argv[1]), pathlib.Path(folder))
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
