"""mpi_test.py - the plugin mpi, and shared_memory, under a real mpirun: mpi_test.py TUTTI [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

from ranks import World, changed, difference, main, write

ENV = {**os.environ, "TUTTI_TUNE": "0", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
       "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def mpirun(tutti, folder, size, command="train", options=(), env=None):
    """The run in `folder` on that many ranks."""
    return subprocess.Popen(["mpirun", "-n", str(size), tutti, command, "run.json", *options], cwd=folder, env={**ENV, **(env or {})},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def distributed(comm, **more):
    """The run's member."""
    return {"comm": comm, "join_timeout_s": 60, "timeout_s": 60, "bucket_mib": 1, **more}


def bits(tutti, folder, report):
    """Three ranks of mpirun, by either plugin, give the bits of one process."""
    alone = os.path.join(folder, "alone")
    write(alone, changed())
    World(tutti, alone, 1).end()
    for comm in ("mpi", "shared_memory"):
        where = os.path.join(folder, comm)
        write(where, changed(distributed=distributed(comm)))
        process = mpirun(tutti, where, 3)
        out, err = process.communicate(timeout=120)
        if process.returncode:
            report.check(f"mpirun, {comm}", False, f"{process.returncode} {err}")
            continue
        report.check(f"mpirun, {comm}: rank 0 speaks", out.count("trained") == 1, out)
        text = difference(alone, where)
        report.check(f"mpirun, {comm}: the bits of one", not text, text)


def loop(tutti, folder, report):
    """An engine file over mpi: the bits of one process, and what plugins of all ranks compute together."""
    ranker = ["--plugin-path", os.path.join(os.environ["FIXTURES"], "ranker")]
    calls = (["where"], ["together"], ["texts", 7], ["texts", 60000], ["many", 200001], ["first", os.path.join(folder, "first"), False])
    run = changed(process="supervised", max_epochs=1, distributed=distributed("mpi"),
                  handlers=[{"on": "iteration_completed", "once": 1, "call": f"ranker.{call}", "args": args} for call, *args in calls])
    del run["max_duration"], run["eval"][0]["interval"]
    alone, where = (os.path.join(folder, name) for name in ("alone", "mpi"))
    write(alone, {**run, "handlers": []})
    World(tutti, alone, 1, command="run", options=["--set", "distributed.comm=shared_memory"]).end()
    write(where, run)
    process = mpirun(tutti, where, 3, "run", ranker)
    out, err = process.communicate(timeout=120)
    text = f"{process.returncode} {out} {err}" if process.returncode else difference(alone, where)
    report.check("mpirun, tutti run: the bits of one", not text, text)
    places = [f"rank {rank} of 3, {rank} of 3 on machine 0 of 1, by mpi, things" in out for rank in range(3)]
    report.check("and every operation of tutti.ranks/1", places == [True] * 3 and out.count("together\n") == 3, out)


def gpus(tutti, folder, report):
    """Two ranks of mpirun on two GPUs of the stand-ins, whose NCCL hears of the other by MPI, give the bits of one."""
    standin = os.path.join(os.path.dirname(os.path.abspath(tutti)), "standin")
    if not os.path.isdir(standin):
        print("the stand-in for CUDA is not built: GPUs are left out")
        return
    env = {"LD_LIBRARY_PATH": standin, "TUTTI_CUDA_STANDIN": "devices=2,leaks=1", "TMPDIR": folder}
    for size in (1, 2):
        where = os.path.join(folder, str(size))
        write(where, changed(device="cuda", distributed=distributed("mpi", device_comm="nccl"), max_duration="2ba", eval=[],
                             model={"name": "mlp", "hidden": [16]}))
        process = mpirun(tutti, where, size, env=env)
        _, err = process.communicate(timeout=120)
        report.check(f"mpirun, {size} GPUs", process.returncode == 0, f"{process.returncode} {err}")
    text = difference(os.path.join(folder, "1"), os.path.join(folder, "2"))
    report.check("mpirun, 2 GPUs: the bits of one", not text, text)


def ranks_of(process):
    """Process ids below mpirun, by rank."""
    listed = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False)
    ranks = {}
    for pid in listed.stdout.split():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as f:
            of = dict(item.partition(b"=")[::2] for item in f.read().split(b"\0"))
            ranks[int(of.get(b"OMPI_COMM_WORLD_RANK", -1))] = int(pid)
    return ranks


def hang(tutti, folder, report):
    """A rank that stands still is named, and the job ends."""
    write(folder, changed(max_duration="4000ep", distributed=distributed("mpi", timeout_s=1)))
    process = mpirun(tutti, folder, 3)
    until = time.monotonic() + 60
    while time.monotonic() < until and not os.path.exists(os.path.join(folder, "runs/ranks/checkpoints/ep0-ba2.safetensors")):
        time.sleep(0.01)
    stopped = ranks_of(process)[2]
    os.kill(stopped, signal.SIGSTOP)
    until = time.monotonic() + 60
    while time.monotonic() < until and {0, 1} & set(ranks_of(process)):  # they end when they have waited 1 s
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):  # mpirun may have ended it
        os.kill(stopped, signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    report.check("a rank that hangs is named", "has not come in 1 s; this one is at step" in err and "rank 2" in err, err)
    report.check("and the job fails", process.returncode != 0)


if __name__ == "__main__":
    if not shutil.which("mpirun"):
        print("skipped: there is no mpirun here (Debian's package openmpi-bin)")
        sys.exit(77)
    known = subprocess.run([sys.argv[1], "plugins", "list"], capture_output=True, text=True, check=False).stdout
    if "org.tutti.mpi" not in known:
        print("skipped: the plugin mpi is not built here (Debian's package libopenmpi-dev)")
        sys.exit(77)
    sys.exit(main([bits, loop, gpus, hang]))
