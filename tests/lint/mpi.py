#!/usr/bin/env python3
"""mpi.py - of all that a build links the plugin mpi alone needs an MPI: the program starts, and trains, where there is none.

Run from the root with TUTTI_BUILD set. Reads the NEEDED entries of the program, of libtutti and of each plugin's library.
"""
import os
import pathlib
import re
import subprocess
import sys

PLUGIN = "lib/tutti/plugins/mpi/mpi.so"
MPI = re.compile(r"lib(mpi|mpich|pmpi|pmix?|open-rte|open-pal|prrte)\w*[.-]")  # with what Open MPI and MPICH bring along


def needed(path):
    """The libraries of an MPI that a file names."""
    run = subprocess.run(["readelf", "-d", "-W", path], capture_output=True, text=True, check=True)
    return [name for name in re.findall(r"\(NEEDED\).*\[(\S+)\]", run.stdout) if MPI.match(name)]


def main():
    build = pathlib.Path(os.environ["TUTTI_BUILD"])
    if not (build / PLUGIN).exists():
        print("skipped: the plugin mpi is not built here (Debian's package libopenmpi-dev)")
        return 77
    files = [build / "tutti", *build.glob("libtutti.so"), *sorted(build.glob("lib/tutti/plugins/*/*.so*"))]
    faults = [f"{path.relative_to(build)}: needs {', '.join(names)}; want {PLUGIN} alone to be linked with MPI"
              for path in files if path != build / PLUGIN and (names := needed(path))]
    if not needed(build / PLUGIN):
        faults.append(f"{PLUGIN}: needs no library that is known as an MPI's; want its name in MPI of tests/lint/mpi.py")
    if len(files) < 100:
        faults.append(f"{build}: has {len(files)} programs and libraries; want those of all plugins")
    print(*faults, sep="\n", end="\n" if faults else "")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
