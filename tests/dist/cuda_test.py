"""cuda_test.py - ranks on GPUs, on stand-ins for CUDA and NCCL: the bits of one rank, and what fails is named: cuda_test.py TUTTI [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import sys
import time

from ranks import World, changed, difference, final, main, messages, write

STANDIN = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "standin")
COMM = {"name": "shared_memory", "mailbox_mib": 1}
WORLD = {"comm": COMM, "device_comm": "nccl", "join_timeout_s": 60, "timeout_s": 60, "bucket_mib": 0.01}
# Slots of 4, 4, 4, 4, 4, 4, 4 and 2 samples, and an evaluation.
GPU = {"device": "cuda", "distributed": WORLD, "max_duration": "3ba"}


def world(tutti, folder, size, run, env=None, **more):
    """Starts `size` ranks on a machine with as many GPUs."""
    write(folder, run)
    here = {"LD_LIBRARY_PATH": STANDIN, "TUTTI_CUDA_STANDIN": f"devices={size},leaks=1", "TMPDIR": folder}
    envs = {r: {**here, "TUTTI_NCCL_TRACE": os.path.join(folder, f"nccl{r}"), **(env or {}).get(r, {})} for r in range(size)}
    return World(tutti, folder, size, env=envs, **more)


def train(tutti, folder, size, run, report, **more):
    """Trains to the end."""
    status, _, err = world(tutti, folder, size, run, **more).end()
    report.check(f"{os.path.basename(folder)}: {size} train", not any(status), "\n".join(err)[-2000:])


def calls(folder, rank):
    """What a rank has called NCCL for."""
    with open(os.path.join(folder, f"nccl{rank}"), encoding="utf-8") as f:
        return f.read().splitlines()


def same_bits(tutti, folder, report):
    """Convolutions, batch norm, dropout-like draws and momentum: by 1, 2 and 3 ranks."""
    run = changed(**GPU)
    for size in (1, 2, 3):
        train(tutti, os.path.join(folder, f"w{size}"), size, run, report)
    for size in (2, 3):
        text = difference(os.path.join(folder, "w1"), os.path.join(folder, f"w{size}"))
        report.check(f"{size} ranks have the bits of one", not text, text)
    report.check("one rank needs no NCCL", not os.path.exists(os.path.join(folder, "w1/nccl0")))
    all_calls = [calls(os.path.join(folder, "w2"), r) for r in range(2)]
    report.check("ranks call the same collectives", *compare(all_calls))


def compare(all_calls):
    """Whether collectives are the same, one behind the other; sends and receives of two ranks mirror each other."""
    kinds = [[c for c in one if c.startswith(("all_gather", "broadcast", "group", "end", "finalize", "destroy"))] for one in all_calls]
    sends = [[c.split()[1] for c in one if c.startswith("send") and f"to {1 - r}," in c] for r, one in enumerate(all_calls)]
    gets = [[c.split()[1] for c in one if c.startswith("receive") and f"from {1 - r}," in c] for r, one in enumerate(all_calls)]
    return kinds[0] == kinds[1] and sends[0] == gets[1] and sends[1] == gets[0] and len(sends[0]) > 3, all_calls


if __name__ == "__main__":
    sys.exit(main([same_bits]))
