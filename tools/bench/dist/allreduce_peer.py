#!/usr/bin/env python3
"""One rank of MPI's own sum, in blocks asked for on standard input: allreduce_peer.py ROW.

A step is one blocking MPI_Allreduce, in place, of as many floats as the row's model has weights (torch_peer.py). Rank 0
prints "ready MIB" first; answers are those of torch_peer.py.
"""
import pathlib
import sys

import numpy
from mpi4py import MPI

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
from torch_peer import ROWS, answer  # noqa: E402  pylint: disable=wrong-import-position


def main():
    """Sums."""
    numbers = numpy.zeros(sum(weight.numel() for weight in ROWS[sys.argv[1]][0]().parameters()), numpy.float32)
    if MPI.COMM_WORLD.rank == 0:
        print("ready", numbers.nbytes / (1 << 20), flush=True)

    def steps(n):
        for _ in range(n):
            MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, numbers)

    answer(steps)


if __name__ == "__main__":
    main()
