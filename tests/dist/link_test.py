"""link_test.py - ranks on two machines with a slow link between them: no bit differs, and a link that is cut ends the
job: link_test.py TUTTI [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import time

from link import Link, missing
from ranks import World, changed, difference, main, messages, write

RATE = "20mbit"


def world(**more):
    """The run's member."""
    return {"comm": "mpi", "join_timeout_s": 60, "timeout_s": 60, "bucket_mib": 0.01, **more}


def bits(tutti, folder, report):
    """Two ranks on each side give the bits of one process, by sums that crossed the link."""
    alone = os.path.join(folder, "alone")
    write(alone, changed())
    World(tutti, alone, 1).end()
    carried = {}
    for sharding, order in (("none", "slot"), ("none", "node"), ("states", "slot")):
        where = os.path.join(folder, f"{sharding}-{order}")
        write(where, changed(distributed=world(sharding=sharding)))
        with Link(RATE) as link:
            process = link.mpirun(where, 2, os.path.abspath(tutti), "train", "run.json", order=order, TUTTI_TUNE="0")
            out, err = process.communicate(timeout=300)
            sent = carried[sharding, order] = link.carried()
        what = f"{sharding}, ranks by {order}"
        report.check(f"{what}: it trains", process.returncode == 0 and "trained" in out, f"{process.returncode} {out} {err}")
        report.check(f"{what}: gradients crossed the link", sent > 200_000, f"{sent} bytes")
        text = difference(alone, where) if process.returncode == 0 else "it has not ended well"
        report.check(f"{what}: the bits of one", not text, text)
        said = sum("do not follow each other" in line for line in messages(where))
        report.check(f"{what}: ranks of a machine that do not follow each other are told of", said == (order == "node"), f"{said}")
    report.check("machines that sum first send less", carried["none", "slot"] < 0.7 * carried["none", "node"], f"{carried}")


def cut(tutti, folder, report):
    """Side two is gone in the middle of training: side one says which ranks have not come, and ends."""
    write(folder, changed(max_duration="4000ep", distributed=world(timeout_s=1)))
    with Link(RATE) as link:
        process = link.mpirun(folder, 1, os.path.abspath(tutti), "train", "run.json", TUTTI_TUNE="0")
        until = time.monotonic() + 120
        while time.monotonic() < until and not os.path.exists(os.path.join(folder, "runs/ranks/checkpoints/ep0-ba2.safetensors")):
            time.sleep(0.01)
        link.cut()
        try:
            process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            report.check("the job ends", False)
    _, err = process.communicate()
    report.check("a link that is cut: who has not come is named", "has not come in 1 s" in err and "rank 1" in err, err)
    report.check("and the job fails", process.returncode != 0)


if __name__ == "__main__":
    why = missing()
    if why:
        print(f"skipped: no slow link can be made here: {why}")
        sys.exit(77)
    known = subprocess.run([sys.argv[1], "plugins", "list"], capture_output=True, text=True, check=False).stdout
    if "org.tutti.mpi" not in known:
        print("skipped: the plugin mpi is not built here (Debian's package libopenmpi-dev)")
        sys.exit(77)
    sys.exit(main([bits, cut]))
