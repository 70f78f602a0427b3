"""mpi_test.py - the plugin mpi, and shared_memory, under a real mpirun: mpi_test.py TUTTI FAULTS [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from ranks import World, changed, difference, final, main, write

ENV = {**os.environ, "TUTTI_TUNE": "0", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
       "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
# Open MPI 4 and 5 kill ranks so many seconds behind a signal, and wait for as long though none is left; else 1.
PATIENT = {"OMPI_MCA_odls_base_sigkill_timeout": "4", "PRTE_MCA_odls_base_sigkill_timeout": "4"}
WAIT_S = 5  # timeout_s where a rank stands still; on a loaded machine a sound one may not come for a second


class Launcher:
    """An MPI: its mpirun, and further options of the program, which name its plugin where the build has another MPI's."""

    def __init__(self, name="mpirun", options=()):
        self.name, self.options = name, options

    def start(self, tutti, folder, size, others=(), command="train", options=(), env=None):
        """The run in `folder` on so many ranks; each of `others` is the words of one rank more, the last ones, behind the name
        of the program, or before it too where that is among them."""
        words = [self.name, "-n", str(size), tutti, command, "run.json", *self.options, *options]
        for other in others:
            words += [":", "-n", "1", *(other if tutti in other else [tutti, "train", *other]), *self.options]
        return subprocess.Popen(words, cwd=folder, env={**ENV, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)


def distributed(comm, **more):
    """The run's member."""
    return {"comm": comm, "join_timeout_s": 60, "timeout_s": 60, "bucket_mib": 1, **more}


def same_bits(tutti, folder, report, launcher, sizes):
    """Ranks that the launcher starts, by either plugin, give the bits of one process."""
    alone = os.path.join(folder, "alone")
    write(alone, changed())
    World(tutti, alone, 1).end()
    for comm, size in ((comm, size) for comm in ("mpi", "shared_memory") for size in sizes):
        where = os.path.join(folder, f"{comm}{size}")
        what = f"{launcher.name} -n {size}, {comm}"
        write(where, changed(distributed=distributed(comm, bucket_mib=0.01)))
        process = launcher.start(tutti, where, size)
        out, err = process.communicate(timeout=120)
        if process.returncode:
            report.check(what, False, f"{process.returncode} {err}")
            continue
        report.check(f"{what}: rank 0 speaks", out.count("trained") == 1, out)
        text = difference(alone, where)
        report.check(f"{what}: the bits of one", not text, text)


def settings_bits(tutti, folder, report):
    """Four ranks over mpi with each way of summing, and of keeping states, gradients and weights: the bits of one."""
    cases = {"states": {"sharding": "states"}, "gradients": {"sharding": "gradients"}, "weights": {"sharding": "weights"},
             "bf16": {"reduce_dtype": "bf16"}, "multi_auto_sync": {"sync": "multi_auto_sync"}, "batch norm": {"batch_norm": "world"}}
    for what, settings in cases.items():
        alone, where = (os.path.join(folder, f"{what}-{part}".replace(" ", "_")) for part in ("alone", "four"))
        run = changed(max_duration="6ba", distributed=distributed("mpi", bucket_mib=0.01, **settings))
        write(alone, changed(**{**run, "distributed": {**run["distributed"], "comm": "shared_memory"}}))
        World(tutti, alone, 1).end()
        write(where, run)
        process = Launcher().start(tutti, where, 4)
        _, err = process.communicate(timeout=120)
        text = f"{process.returncode} {err}" if process.returncode else difference(alone, where)
        report.check(f"mpirun -n 4, {what}: the bits of one", not text, text)


def eager(tutti, folder, report):
    """Over TCP Open MPI sends large messages at once, unless the user says how large they may be."""
    if "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout:
        report.skip("the eager limit is that of Open MPI, which mpirun is not")
        return
    names = ("btl_tcp_eager_limit", "btl_tcp_rndv_eager_limit", "btl_tcp_max_send_size", "btl_vader_max_send_size", "btl_sm_max_send_size")
    raised = {**dict.fromkeys(names[:3], "4194304"), **dict.fromkeys(names[3:], "131072")}
    for what, env, wanted in (("by default", {}, raised),
                              ("as the user has it", {"OMPI_MCA_btl_tcp_eager_limit": "100000"}, {names[0]: "100000"})):
        where = os.path.join(folder, what.replace(" ", "_"))
        write(where, changed(max_duration="1ba", distributed=distributed("mpi")))
        listed = os.path.join(where, "parameters")
        process = Launcher().start(tutti, where, 2, env={"OMPI_MCA_mpi_show_mca_params": "enviro",
                                                         "OMPI_MCA_mpi_show_mca_params_file": listed, **env})
        _, err = process.communicate(timeout=60)
        report.check(f"the eager limit {what}: it trains", process.returncode == 0, err)
        with open(listed, encoding="utf-8") as f:
            values = dict(re.findall(r"^(\w+)=(\S+) ", f.read(), re.M))
        found = {name: values[name] for name in names if name in values}
        # It knows one of the last two, by its version.
        good = found.items() <= wanted.items() and len(found) in (len(wanted), len(wanted) - 1) and names[0] in found
        report.check(f"the eager limit {what}: MPI has it", good, f"{found}, want {wanted}")


def descendants(pid):
    """Process ids below one; MPICH has a process between mpirun and the ranks."""
    listed = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
    return listed + [below for child in listed for below in descendants(child)]


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
    process = Launcher().start(tutti, where, 3, command="run", options=ranker)
    out, err = process.communicate(timeout=120)
    text = f"{process.returncode} {out} {err}" if process.returncode else difference(alone, where)
    report.check("mpirun, tutti run: the bits of one", not text, text)
    places = [f"rank {rank} of 3, {rank} of 3 on machine 0 of 1, by mpi, things" in out for rank in range(3)]
    report.check("and every operation of tutti.ranks/1", places == [True] * 3 and out.count("together\n") == 3, out)


def gpus(tutti, folder, report):
    """Two ranks of mpirun on two GPUs of the stand-ins, whose NCCL hears of the other by MPI, give the bits of one."""
    standin = os.path.join(os.path.dirname(os.path.abspath(tutti)), "standin")
    if not os.path.isdir(standin):
        report.skip("GPUs: the stand-in is not built")
        return
    env = {"LD_LIBRARY_PATH": standin, "TUTTI_CUDA_STANDIN": "devices=2,leaks=1", "TMPDIR": folder}
    for size in (1, 2):
        where = os.path.join(folder, str(size))
        write(where, changed(device="cuda", distributed=distributed("mpi", device_comm="nccl"), max_duration="2ba", eval=[],
                             model={"name": "mlp", "hidden": [16]}))
        process = Launcher().start(tutti, where, size, env=env)
        _, err = process.communicate(timeout=120)
        report.check(f"mpirun, {size} GPUs", process.returncode == 0, f"{process.returncode} {err}")
    text = difference(os.path.join(folder, "1"), os.path.join(folder, "2"))
    report.check("mpirun, 2 GPUs: the bits of one", not text, text)


def ranks_of(process):
    """Process ids below mpirun, by rank."""
    ranks = {}
    for pid in descendants(process.pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as f:
            of = dict(item.partition(b"=")[::2] for item in f.read().split(b"\0"))
            ranks[int(of.get(b"OMPI_COMM_WORLD_RANK", of.get(b"PMI_RANK", -1)))] = int(pid)
    return ranks


def saved(folder):
    """The last batch that a checkpoint is of; -1: none."""
    where = os.path.join(folder, "runs/ranks/checkpoints")
    names = os.listdir(where) if os.path.isdir(where) else []
    return max((int(found[1]) for found in map(re.compile(r"ep\d+-ba(\d+)\.safetensors$").match, names) if found), default=-1)


def wait_for_batch(process, folder, batch):
    """Until that batch is saved, or the job has ended."""
    until = time.monotonic() + 60
    while time.monotonic() < until and saved(folder) < batch and process.poll() is None:
        time.sleep(0.01)


def hangs(tutti, folder, report, launcher):
    """A rank that stands still, the first one too, is named, and the job ends."""
    for victim in (2, 0):
        where = os.path.join(folder, str(victim))
        write(where, changed(max_duration="4000ep", distributed=distributed("mpi", timeout_s=WAIT_S)))
        process = launcher.start(tutti, where, 3)
        wait_for_batch(process, where, 2)
        stopped = ranks_of(process)[victim]
        os.kill(stopped, signal.SIGSTOP)
        began = time.monotonic()
        while time.monotonic() < began + 60 and {0, 1, 2} - {victim} & set(ranks_of(process)):  # they end when they have waited
            time.sleep(0.05)
        late = time.monotonic() - began
        with contextlib.suppress(ProcessLookupError):  # mpirun may have ended it
            os.kill(stopped, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
        report.check(f"{launcher.name}: rank {victim}, which hangs, is named",
                     f"has not come in {WAIT_S} s; this one is at step" in err and f"rank {victim} has" in err, err)
        report.check(f"and the job fails, {WAIT_S} s later", process.returncode != 0 and late < WAIT_S + 15, f"{late} s")


def hangs_beside_late(tutti, folder, report, launcher):
    """A rank that stands still is named, and not one that comes long after the one which has waited first."""
    write(folder, changed(max_duration="4000ep", distributed=distributed("mpi", timeout_s=WAIT_S)))
    process = launcher.start(tutti, folder, 3)
    wait_for_batch(process, folder, 2)
    ranks = ranks_of(process)
    for rank in (2, 1):
        os.kill(ranks[rank], signal.SIGSTOP)
    time.sleep(WAIT_S - 2.5)
    os.kill(ranks[1], signal.SIGCONT)
    time.sleep(0.1)
    until = time.monotonic() + 60
    while time.monotonic() < until and 0 in ranks_of(process):
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.kill(ranks[2], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    report.check(f"{launcher.name}: a rank that comes late is not named, the one that hangs is",
                 set(re.findall(r"(\S+ \d+(?: and \d+)? ha(?:s|ve)) not come in", err)) == {"rank 2 has"}, err)


def weights(folder):
    """Weights and the optimizer's state of the last checkpoint."""
    return {name: tensor for name, tensor in final(folder).items() if name.startswith(("model.", "optimizer."))}


def goes_on(tutti, folder, report, launcher):
    """What a job has saved goes on, on two ranks, to the weights of one process."""
    alone, until = os.path.join(folder, "alone"), ["--set", f"max_duration={saved(folder) + 3}ba"]
    process = launcher.start(tutti, folder, 2, options=["--resume", "auto", *until])
    _, err = process.communicate(timeout=120)
    write(alone, changed(eval=[], callbacks=[{"name": "checkpoint_saver"}]))
    World(tutti, alone, 1, until).end()
    report.check("2 ranks go on to the bits of one", process.returncode == 0 and weights(folder) == weights(alone), err)


def ends(tutti, folder, report, launcher):
    """A signal at the launcher, or the death of a rank: the job ends, and nothing that is saved is lost."""
    run = changed(max_duration="4000ep", eval=[], distributed=distributed("mpi"),
                  callbacks=[{"name": "checkpoint_saver", "interval": "1ba", "keep": 3}])
    for what, number, victim in (("SIGTERM", signal.SIGTERM, None), ("SIGINT", signal.SIGINT, None),
                                 ("SIGTERM at rank 1", signal.SIGTERM, 1), ("rank 0 killed", signal.SIGKILL, 0), ("rank 2 killed", signal.SIGKILL, 2)):
        where = os.path.join(folder, what.replace(" ", "_"))
        write(where, run)
        process = launcher.start(tutti, where, 3, env=PATIENT)
        wait_for_batch(process, where, 2)
        os.kill(process.pid if victim is None else ranks_of(process)[victim], number)
        began = time.monotonic()
        _, err = process.communicate(timeout=60)
        late = time.monotonic() - began
        # Behind a signal MPICH's mpiexec loses the status of all processes at times: 5 of 450 with no more than MPI_Finalize.
        lost = "mpich" in launcher.name and victim is None and process.returncode == 0
        failed = lost or process.returncode != 0
        report.check(f"{launcher.name}, {what}: the job ends and fails", failed and late < 20, f"{process.returncode}, {late} s {err}")
        if number != signal.SIGKILL:
            said = err.count(f" after batch {saved(where)}, which is saved")
            report.check("all ranks stop behind one batch, which is saved", said == 3, err)
        goes_on(tutti, where, report, launcher)


def hangs_early(tutti, folder, report, launcher, faults):
    """A rank that stands still before the run begins is named: what the others say comes before the job is ended."""
    write(folder, changed(distributed=distributed("mpi", timeout_s=WAIT_S)))
    process = launcher.start(tutti, folder, 2, [["env", f"LD_PRELOAD={faults}", tutti, "train", "run.json", *launcher.options]])
    until = time.monotonic() + 60
    while time.monotonic() < until and not {0, 1, 2} <= set(ranks_of(process)):
        time.sleep(0.01)
    late = ranks_of(process).get(2)
    while time.monotonic() < until and {0, 1} & set(ranks_of(process)):
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError, TypeError):  # mpirun may have ended it
        os.kill(late, signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    report.check(f"{launcher.name}: a rank that hangs before the run begins is named",
                 f"rank 2 has not come in {WAIT_S} s; this one is at step 0" in err, out + err)
    # MPICH's UCX writes its complaints to standard output too, as where no /sys is mounted; the ranks write nothing.
    said = [line for line in out.splitlines() if line and " UCX " not in line]
    report.check("and the job fails", process.returncode != 0 and not said, f"{process.returncode} {out}")


def cannot_begin(tutti, folder, report, launcher):
    """One rank has a run file that is no JSON, or names a plugin that is nowhere: the job ends long before join_timeout_s."""
    write(folder, changed(distributed=distributed("mpi", join_timeout_s=600)))
    with open(os.path.join(folder, "torn.json"), "w", encoding="utf-8") as f:
        f.write('{"name": "ranks", ')
    for other, text in ((["torn.json"], "torn.json:1: "), (["run.json", "--set", "model.name=nowhere"], "nowhere"),
                        (["run.json", "--repeat", "none"], "--repeat takes the run file of the record")):
        process = launcher.start(tutti, folder, 2, [other])
        try:
            _, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.terminate()
            _, err = process.communicate()
            err = f"it has not ended in 120 s: {err}"
        report.check(f"{launcher.name}: {' '.join(other)} on one rank ends all and says why",
                     process.returncode != 0 and text in err and "it has not ended" not in err, f"{process.returncode} {err}")


def bits(tutti, folder, report):
    """By the machine's mpirun."""
    same_bits(tutti, folder, report, Launcher(), [3])
    settings_bits(tutti, os.path.join(folder, "settings"), report)


def hang(tutti, folder, report):
    """The same."""
    hangs(tutti, folder, report, Launcher())


def late(tutti, folder, report):
    """The same."""
    hangs_beside_late(tutti, folder, report, Launcher())


def end(tutti, folder, report):
    """The same."""
    ends(tutti, folder, report, Launcher())


def early(tutti, folder, report):
    """The same."""
    hangs_early(tutti, folder, report, Launcher(), FAULTS)


def error(tutti, folder, report):
    """An MPI whose operation fails in one rank: the rank says so, with MPI's reason, and all end."""
    write(folder, changed(distributed=distributed("mpi")))
    faulty = ["env", f"LD_PRELOAD={FAULTS}", "TUTTI_FAULTS=fail", tutti, "train", "run.json"]
    process = Launcher().start(tutti, folder, 1, [faulty])
    _, err = process.communicate(timeout=120)
    report.check("an operation of MPI that fails is an error of the run",
                 process.returncode != 0 and "mpi: MPI_Iallgather: MPI_ERR_OTHER: known error not in list" in err,
                 f"{process.returncode} {err}")


def begin(tutti, folder, report):
    """The same."""
    cannot_begin(tutti, folder, report, Launcher())


def alone(tutti, folder, report):
    """Several processes of which each is alone, for an MPI that does not know who has started them, are refused."""
    write(folder, changed(distributed=distributed("mpi")))
    done = subprocess.run([tutti, "train", "run.json"], cwd=folder, env={**ENV, "TUTTI_WORLD_SIZE": "2", "TUTTI_RANK": "0"},
                          capture_output=True, text=True, timeout=120, check=False)
    report.check("an MPI that sees one of two processes is refused", done.returncode == 2 and
                 "comm mpi: this process is alone in its world, but whoever set TUTTI_WORLD_SIZE has started 2; want " in done.stderr,
                 f"{done.returncode} {done.stderr}")
    done = subprocess.run([tutti, "train", "run.json"], cwd=folder, env={**ENV, "TUTTI_WORLD_SIZE": "1"},
                          capture_output=True, text=True, timeout=120, check=False)
    report.check("a run of its own is not", done.returncode == 0, done.stderr)


if __name__ == "__main__":
    if not shutil.which("mpirun"):
        print("skipped: there is no mpirun here (Debian's package openmpi-bin)")
        sys.exit(77)
    known = subprocess.run([sys.argv[1], "plugins", "list"], capture_output=True, text=True, check=False).stdout
    if "org.tutti.mpi" not in known:
        print("skipped: the plugin mpi is not built here (Debian's package libopenmpi-dev)")
        sys.exit(77)
    FAULTS = sys.argv.pop(2)
    sys.exit(main([bits, eager, loop, gpus, hang, late, end, early, error, begin, alone]))
