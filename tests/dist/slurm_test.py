"""slurm_test.py - runs that Slurm starts, on a cluster of this machine alone: slurm_test.py TUTTI [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time

from ranks import World, changed, difference, main, messages, write

CONF = """ClusterName=here
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
MessageTimeout=60
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP
"""


def free_ports():
    """Two ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(2)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextlib.contextmanager
def cluster(folder):
    """The environment of a client of one controller and one node; None with a text where they do not start."""
    import getpass  # pylint: disable=import-outside-toplevel
    host = socket.gethostname().split(".")[0]
    for name in ("state", "spool"):
        os.makedirs(os.path.join(folder, name))
    conf = os.path.join(folder, "slurm.conf")
    with open(conf, "w", encoding="utf-8") as f:
        f.write(CONF.format(host=host, ports=free_ports(), user=getpass.getuser(), folder=folder, cpus=os.cpu_count()))
    env = {**os.environ, "SLURM_CONF": conf, "TUTTI_TUNE": "0", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
           "OMPI_MCA_mpi_yield_when_idle": "1"}
    with open(os.path.join(folder, "daemons.log"), "w", encoding="utf-8") as log:
        daemons = [subprocess.Popen([name, "-D", "-f", conf, *more], env=env, stdout=log, stderr=log)
                   for name, more in (("slurmctld", []), ("slurmd", ["-N", host]))]
        try:
            yield env if is_ready(env, daemons) else None
        finally:
            for one in daemons:
                one.terminate()
            for one in daemons:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    one.wait(timeout=20)
                one.kill()


def is_ready(env, daemons):
    """Whether the node takes jobs; waits for it."""
    until = time.monotonic() + 60
    while time.monotonic() < until and all(one.poll() is None for one in daemons):
        said = subprocess.run(["sinfo", "-h", "-o", "%T"], env=env, capture_output=True, text=True, check=False).stdout
        if said.strip() == "idle":
            return True
        time.sleep(0.1)
    return False


def srun(tutti, env, folder, options, *more):
    """The run in `folder` as a job step."""
    return subprocess.run(["srun", *options, "--overcommit", tutti, "train", "run.json", *more], cwd=folder, env=env,
                          capture_output=True, text=True, timeout=200, check=False)


def has_pmix(env):
    """Whether this Slurm can start MPI's ranks."""
    said = subprocess.run(["srun", "--mpi=list"], env=env, capture_output=True, text=True, check=False)
    return "pmix" in said.stdout + said.stderr


def same(tutti, folder, report, env, comm, options):
    """Three ranks of srun give the bits of one process."""
    alone, where = os.path.join(folder, "alone"), os.path.join(folder, comm)
    write(alone, changed())
    World(tutti, alone, 1).end()
    write(where, changed(distributed={"comm": comm, "join_timeout_s": 60, "timeout_s": 60}))
    done = srun(tutti, env, where, ["-n", "3", *options])
    report.check(f"srun, {comm}: rank 0 speaks", done.returncode == 0 and done.stdout.count("trained") == 1,
                 f"{done.returncode} {done.stdout} {done.stderr}")
    text = "nothing was trained" if done.returncode else difference(alone, where)
    report.check(f"srun, {comm}: the bits of one", not text, text)


def shared_memory(tutti, folder, report):
    """Ranks that srun starts find each other in the machine's memory."""
    with cluster(os.path.join(folder, "slurm")) as env:
        same(tutti, folder, report, env or no_cluster(report), "shared_memory", [])


def mpi(tutti, folder, report):
    """And by MPI."""
    with cluster(os.path.join(folder, "slurm")) as env:
        env = env or no_cluster(report)
        if not has_pmix(env):
            print("skipped: this Slurm has no --mpi=pmix")
            sys.exit(1 if report.failed else 77)
        same(tutti, folder, report, env, "mpi", ["--mpi=pmix"])


def no_cluster(report):
    """Ends the test: what ran before has been checked."""
    print("skipped: slurmctld and slurmd do not start here")
    sys.exit(1 if report.failed else 77)


def stop(tutti, folder, report):
    """A job that is told to end, as by sbatch --signal or a preemption, stops behind one batch, saves it, and goes on later."""
    write(folder, changed(max_duration="4000ep", callbacks=[{"name": "checkpoint_saver", "interval": "3ba"}]))
    with cluster(os.path.join(folder, "slurm")) as env:
        env = env or no_cluster(report)
        job = subprocess.Popen(["srun", "-n", "2", "--overcommit", tutti, "train", "run.json"], cwd=folder, env=env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        saved = os.path.join(folder, "runs/ranks/checkpoints/ep0-ba3.safetensors")
        until = time.monotonic() + 100
        while time.monotonic() < until and job.poll() is None and not os.path.exists(saved):
            time.sleep(0.02)
        number = subprocess.run(["squeue", "-h", "-o", "%i"], env=env, capture_output=True, text=True, check=False).stdout.strip()
        subprocess.run(["scancel", "--signal=TERM", number], env=env, check=False)
        _, err = job.communicate(timeout=100)
        report.check("scancel --signal=TERM ends the job with 143", job.returncode == 143, f"{job.returncode} {err}")
        report.check("behind a batch, which is saved", "which is saved" in err, err)
        batch = err.split("after batch ")[1].split(",")[0] if "after batch " in err else "0"
        again = srun(tutti, env, folder, ["-n", "3"], "--resume", "auto", "--set", f"max_duration={int(batch) + 2}ba")
        report.check("and goes on with more ranks", again.returncode == 0 and f"at batch {batch}" in logged(folder), again.stderr)


def logged(folder):
    """The log's messages."""
    return " ".join(messages(folder))


if __name__ == "__main__":
    for program in ("slurmctld", "slurmd", "srun", "sinfo", "squeue", "scancel"):
        if not shutil.which(program):
            print(f"skipped: there is no {program} here (Debian's package slurm-wlm)")
            sys.exit(77)
    sys.exit(main([shared_memory, stop, mpi]))
