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
    """Faults of what the packages read now, and what this Python lacks of them, "" where nothing."""
    try:
        import numpy  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        one, faults, lacks = package_read([str(file)]), [], ""
    except ImportError as why:
        return [], str(why)
    for size, index in indexes.items():
        try:
            files = package_files(index)[0]
        except ImportError as why:
            lacks = str(why)
            files = [str(index.parent / name) for name in sorted(set(json.loads(index.read_text())["weight_map"].values()))]
        faults += [f"{size} ranks: the packages read another {name}" for name in differing(one, package_read(files))]
    return faults, lacks


def check(tutti, root):
    """Faults of all checkpoints, as texts, and what this Python lacks of the packages, "" where nothing."""
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
    print("compared with what was recorded of", ", ".join(f"{name} {version}" for name, version in recorded["versions"].items()))
    now, lacks = packages(file, indexes)
    return faults + now, lacks


def main():
    """Prints faults; 1 where there are some, else 77 (skipped, for ctest) where a package has not read again, else 0."""
    peers = os.environ.get("PEERS")
    if peers and pathlib.Path(sys.prefix) != pathlib.Path(peers).resolve():
        return subprocess.run([f"{peers}/bin/python", __file__, *sys.argv[1:]], check=False,
                              env={k: v for k, v in os.environ.items() if k != "PEERS"}).returncode
    with tempfile.TemporaryDirectory() as folder:
        faults, lacks = check(os.path.abspath(sys.argv[1]), pathlib.Path(folder))
    print("\n".join(faults))
    if lacks:
        print(f"skipped: not all packages read again: {lacks}")
    return 1 if faults else 77 if lacks else 0


if __name__ == "__main__":
    sys.exit(main())
