#!/usr/bin/env python3
"""One rank of MPI's own sum, in blocks asked for on standard input: allreduce_peer.py COUNT.

A step is one blocking MPI_Allreduce, in place, of COUNT floats. Rank 0 prints "ready MIB" first; answers are the
nanoseconds of a block.
"""
import sys
import time

import numpy
from mpi4py import MPI


def main():
    """Sums."""
    numbers = numpy.zeros(int(sys.argv[1]), numpy.float32)
    if MPI.COMM_WORLD.rank == 0:
        print("ready", numbers.nbytes / (1 << 20), flush=True)
    for line in sys.stdin:
        start = time.monotonic_ns()
        for _ in range(int(line)):
            MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, numbers)
        print(time.monotonic_ns() - start, 0, flush=True)


if __name__ == "__main__":
    main()
