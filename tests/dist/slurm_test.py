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
from guide import blocks  # after ranks, which says where it lies

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
            report.skip("ranks by MPI: this Slurm has no --mpi=pmix")
            return
        same(tutti, folder, report, env, "mpi", ["--mpi=pmix"])


def no_cluster(report):
    """Ends the test: what ran before has been checked."""
    report.skip("slurmctld and slurmd do not start here")
    sys.exit(report.status())


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


PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/distributed.md")


def page_script(tutti):
    """The script of the page, for a machine of its own: two tasks, no MPI, and options from the file `more`."""
    with open(PAGE, encoding="utf-8") as f:
        script = next(content for _, content, *_ in blocks(f.read()) if "#SBATCH" in content)
    for shown, here in (("--ntasks=128 --cpus-per-task=4 --time=24:00:00", "--ntasks=2 --overcommit --time=1:00:00 --output=job.txt"),
                        ("srun --mpi=pmix --cpu-bind=cores ", "srun --overcommit "),
                        (" tutti train run.json --resume auto\n", f" {tutti} train run.json --resume auto $(cat more)\n")):
        assert script.count(shown) == 1, f"{PAGE}: {shown}"
        script = script.replace(shown, here)
    return script


def asked(env, *words):
    """What a command of Slurm's says."""
    return subprocess.run(words, env=env, cwd=env.get("PWD"), capture_output=True, text=True, check=False).stdout.strip()


def wait_for(what, limit=100):
    """Until what() is true; whether it is."""
    until = time.monotonic() + limit
    while time.monotonic() < until and not what():
        time.sleep(0.05)
    return bool(what())


def last_saved(folder):
    """The batch of the newest checkpoint; -1: there is none."""
    saves = os.path.join(folder, "runs/ranks/checkpoints")
    names = os.listdir(saves) if os.path.isdir(saves) else []
    return max((int(name.split("-ba")[1].split(".")[0]) for name in names if "-ba" in name and name.endswith(".safetensors")), default=-1)


def steps(env):
    """Processes of Slurm that are at work for a job of this cluster."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as words, open(f"/proc/{pid}/environ", "rb") as of:
            if words.read().startswith(b"slurmstepd") and f"SLURM_CONF={env['SLURM_CONF']}".encode() in of.read():
                found.append(int(pid))
    return found


def submitted(tutti, folder, report, env):
    """The job is put back by Slurm, then told to end and put back by its script; the batch that it is then to end with."""
    number = asked(env, "sbatch", "--parsable", "job.sh")
    for what, words in (("scontrol requeue, as a preemption", ["scontrol", "requeue", number]),
                        ("--signal=TERM, as before its time limit", ["scancel", "--signal=TERM", number])):
        before = last_saved(folder)
        report.check("the job trains", wait_for(lambda b=before: last_saved(folder) > b + 2), said(folder))
        subprocess.run(words, env=env, check=False)
        waits = wait_for(lambda: asked(env, "squeue", "-h", "-o", "%T") == "PENDING")
        report.check(f"{what}: the job waits to be run again", waits, asked(env, "scontrol", "show", "job", number) + said(folder))
        report.check("a batch is saved", f"after batch {last_saved(folder)}, which is saved" in said(folder), said(folder))
        if words[0] == "scancel":
            with open(os.path.join(folder, "more"), "w", encoding="utf-8") as f:
                f.write(f"--set max_duration={last_saved(folder) + 2}ba")
        # Slurm waits for two minutes, by which the step before has removed the job's script, and not that of the next one.
        report.check("its step ends", wait_for(lambda: not steps(env)), f"{steps(env)}")
        asked(env, "scontrol", "update", f"JobId={number}", "StartTime=now")
    ended = wait_for(lambda: "COMPLETED" in asked(env, "scontrol", "show", "job", number))
    report.check("and ends", ended, asked(env, "scontrol", "show", "job", number) + said(folder))
    return last_saved(folder)


def requeue(tutti, folder, report):
    """A job of sbatch that is requeued goes on where it was, and ends with the bits of a run that nobody has disturbed."""
    alone, where = os.path.join(folder, "alone"), os.path.join(folder, "job")
    run = changed(max_duration="4000ep", callbacks=[{"name": "checkpoint_saver", "interval": "1ba", "keep": 3}])
    write(where, run)
    for name, text in (("more", ""), ("job.sh", page_script(tutti))):
        with open(os.path.join(where, name), "w", encoding="utf-8") as f:
            f.write(text)
    with cluster(os.path.join(folder, "slurm")) as env:
        batch = submitted(tutti, where, report, {**env, "PWD": where} if env else no_cluster(report))
    write(alone, {**run, "max_duration": f"{batch}ba"})
    World(tutti, alone, 1).end()
    text = difference(alone, where)
    report.check("a requeued job has the bits of one run", not text, text)


def begin(tutti, folder, report):
    """A rank whose run file is no JSON ends the step, where srun is told to: it would wait for join_timeout_s."""
    write(folder, changed(distributed={"comm": "shared_memory", "join_timeout_s": 600}))
    with open(os.path.join(folder, "torn.json"), "w", encoding="utf-8") as f:
        f.write('{"name": "ranks", ')
    with cluster(os.path.join(folder, "slurm")) as env:
        env = env or no_cluster(report)
        program = f'exec {tutti} train $([ $SLURM_PROCID = 1 ] && echo torn.json || echo run.json)'
        done = subprocess.run(["srun", "-n", "2", "--overcommit", "--kill-on-bad-exit", "bash", "-c", program], cwd=folder, env=env,
                              capture_output=True, text=True, timeout=200, check=False)
        report.check("srun --kill-on-bad-exit: torn.json on one rank ends all and says why",
                     done.returncode != 0 and "torn.json:1: " in done.stderr, f"{done.returncode} {done.stderr}")


def said(folder):
    """What the job has printed."""
    path = os.path.join(folder, "job.txt")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as f:
        return f.read()


def logged(folder):
    """The log's messages."""
    return " ".join(messages(folder))


if __name__ == "__main__":
    for program in ("slurmctld", "slurmd", "srun", "sinfo", "squeue", "scancel", "sbatch", "scontrol"):
        if not shutil.which(program):
            print(f"skipped: there is no {program} here (Debian's package slurm-wlm)")
            sys.exit(77)
    sys.exit(main([shared_memory, stop, requeue, begin, mpi]))
