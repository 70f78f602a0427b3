"""begin_test.py - ranks that cannot begin, or would not do the same: refused in seconds, with rank and reason:
begin_test.py TUTTI [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

from ranks import World, changed, main, messages, write, write_npy

SECONDS = 30  # in which all ranks have ended; they would wait for 60 for a rank that does not join


def refused(report, what, world, text, saved=False):
    """All ranks end with 2 and rank 0 says why."""
    began = time.monotonic()
    status, _, err = world.end()
    seconds = time.monotonic() - began
    good = status == [2] * len(status) and text in err[0] and seconds < SECONDS
    report.check(f"{what} is refused by name", good, f"{seconds} s {status} {err}")
    report.check("before anything is trained", saved or not world.saved(), f"{world.saved()}")


def add_byte(path):
    """Another file that does the same."""
    with open(path, "ab") as f:
        f.write(b"\n")


def copy_plugin(tutti, folder, name):
    """A folder of plugins with a copy of one."""
    source = os.path.join(os.path.dirname(os.path.realpath(tutti)), "lib/tutti/plugins", name)
    shutil.copytree(source, os.path.join(folder, name))
    return folder


def code(tutti, folder, report):
    """A plugin's files, or the program, are others on one rank; where they are the same, it does not matter where they lie."""
    write(folder, changed(max_duration="1ba"))
    for name, file in (("cnn", None), ("cnn", "cnn.so"), ("sgd", "plugin.json")):
        own = copy_plugin(tutti, os.path.join(folder, f"{name}-{file}"), name)
        if file:
            add_byte(os.path.join(own, name, file))
        world = World(tutti, folder, 2, own={1: ["--plugin-path", own]})
        if file:
            refused(report, f"another {file} of {name} on one rank", world,
                    f"[rank 1] {file} of plugin org.tutti.{name} 1.0.0 is another file than that of rank 0: its SHA-256 is ")
            continue
        status, _, err = world.end()
        report.check("the same plugin elsewhere is none other", status == [0, 0], f"{status} {err}")
        shutil.rmtree(os.path.join(folder, "runs"))
    other = os.path.join(folder, "tutti")
    shutil.copy(tutti, other)
    add_byte(other)
    beside = os.path.join(os.path.dirname(os.path.realpath(tutti)), "lib/tutti/plugins")
    refused(report, "another program on one rank",
            World(tutti, folder, 2, own={1: ["--plugin-path", beside]}, programs={1: other}), "rank 1 has another program than rank 0: tutti ")


def npy_run(folder, rows, evaluated):
    """A run on files of its folder."""
    for name, count in (("x", rows), ("ex", evaluated)):
        write_npy(os.path.join(folder, f"{name}.npy"), "<f4", (count, 8), bytes(count * 32))
    for name, count in (("y", rows), ("ey", evaluated)):
        write_npy(os.path.join(folder, f"{name}.npy"), "<i4", (count,), struct.pack(f"<{count}i", *(k % 3 for k in range(count))))
    run = changed(model={"name": "mlp", "hidden": [16]}, microbatch_size=10)
    run["train"] = {"dataset": {"name": "npy", "inputs": "x.npy", "targets": "y.npy"}, "batch_size": 30}
    run["eval"] = [{"label": "test", "dataset": {"name": "npy", "inputs": "ex.npy", "targets": "ey.npy"}, "batch_size": 10,
                    "metrics": [{"name": "accuracy"}]}]
    write(folder, run)


def data(tutti, folder, report):
    """One run file, whose data are others on one rank, or not there."""
    first, other = os.path.join(folder, "first"), os.path.join(folder, "other")
    for what, rows, evaluated, text in (
            ("fewer samples", 40, 60, "rank 1 has another number of training samples than rank 0: 40, not 60"),
            ("fewer samples to evaluate", 60, 40, "rank 1 has another number of samples of the evaluation test than rank 0: 40, not 60")):
        for where, size in ((first, (60, 60)), (other, (rows, evaluated))):
            os.makedirs(where, exist_ok=True)
            npy_run(where, *size)
        refused(report, f"{what} on one rank", World(tutti, first, 2, places={1: other}), text)
    npy_run(other, 60, 60)
    os.remove(os.path.join(other, "x.npy"))
    refused(report, "a missing data file on one rank", World(tutti, first, 2, places={1: other}), "x.npy: No such file or directory")
    status = World(tutti, other, 2, places={1: first}).end()[0]
    report.check("on rank 0 too", status == [2, 2], f"{status}")


def plugin(tutti, folder, report):
    """A plugin that one rank does not have: all end as soon as it has read its run file."""
    write(folder, changed())
    for rank in (1, 0):
        world = World(tutti, folder, 3, own={rank: ["--set", "model.name=nowhere"]})
        began = time.monotonic()
        status, _, err = world.end()
        late = time.monotonic() - began
        report.check(f"a plugin that rank {rank} lacks ends all", status == [2] * 3 and late < SECONDS, f"{late} s {status} {err}")
        who = "tutti: [rank 1] " if rank else ""
        report.check("rank 0 says who and why", who in err[0] and "nowhere" in err[0], f"{err}")
        report.check("and nobody else but the rank itself", all((k in (0, rank)) == bool(text) for k, text in enumerate(err)), f"{err}")


def repeat(tutti, folder, report):
    """One rank cannot read the run file of a record, which the others repeat; or it can, and then all do."""
    write(folder, changed(max_duration="1ba"))
    World(tutti, folder, 1).end()
    options = ["--repeat", "runs/ranks"]
    for rank in (1, 0):
        world = World(tutti, folder, 2, options, command="train", own={rank: ["--set", "optimizer.name=nowhere"]}, file=None)
        began = time.monotonic()
        status, _, err = world.end()
        late = time.monotonic() - began
        report.check(f"--repeat that rank {rank} cannot read ends all", status == [2] * 2 and late < SECONDS, f"{late} s {status} {err}")
        report.check("rank 0 says who and why", ("tutti: [rank 1] " if rank else "") in err[0] and "nowhere" in err[0], f"{err}")
    status, _, err = World(tutti, folder, 2, options, file=None).end()
    report.check("two ranks repeat a run", status == [0, 0] and os.path.isdir(os.path.join(folder, "runs/ranks-repeat")), f"{status} {err}")


def cpu_model():
    """Of this machine."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))


def cpu(tutti, folder, report):
    """Kernels for another CPU on one rank, where they decide bits; a CPU of which oneDNN may use less."""
    write(folder, changed(max_duration="1ba"))
    world = World(tutti, folder, 2, env={1: {"TUTTI_ISA": "v3"}, 0: {"TUTTI_ISA": "v2"}})
    name = f"{cpu_model()}, kernels for v"
    refused(report, "another CPU on one rank", world, f"rank 1 has another CPU than rank 0: {name}3, not {name}2")
    world = World(tutti, folder, 2, env={1: {"ONEDNN_MAX_CPU_ISA": "SSE41"}})
    refused(report, "a limit of oneDNN's on one rank", world,
            ", oneDNN up to SSE41\" where that of rank 0 has \"")


def threads(tutti, folder, report):
    """Where the run file does not say how many threads there are, a rank that may use one CPU has one."""
    have = sorted(os.sched_getaffinity(0))
    run = changed(max_duration="1ba")
    del run["threads"]
    write(folder, run)
    if len(have) == 1:
        report.skip("another number of threads: there is one CPU")
        return
    confined = os.path.join(folder, "confined")
    with open(confined, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nexec taskset -c {have[0]} "{os.path.realpath(tutti)}" "$@"\n')
    os.chmod(confined, 0o755)
    world = World(tutti, folder, 2, programs={1: confined})
    refused(report, "another number of threads on one rank", world, f"rank 1 has another number of threads than rank 0: 1, not {len(have)}")


def machines(tutti, folder, report):
    """One rank takes all of them to be on its machine; the run file that says so is what is named."""
    comm = {"name": "shared_memory", "machine_ranks": 2}
    write(folder, changed(max_duration="1ba", distributed={"comm": comm}))
    world = World(tutti, folder, 4, own={1: ["--set", "distributed.comm.machine_ranks=4"]})
    refused(report, "other machines by the run file of one rank", world, "[rank 1] the run file has \"machine_ranks\":4")


def advice(tutti, folder, report):
    """What is not refused, and costs time or bits, is said on the terminal and in the log."""
    run = changed(max_duration="1ba", microbatch_size=30)
    del run["threads"]
    write(folder, run)
    status, _, err = World(tutti, folder, 2).end()
    report.check("ranks that wait train", status == [0, 0], f"{status} {err}")
    log = " ".join(messages(folder))
    for text in ("2 ranks, but a batch of 30 has 1 microbatches of 30: 1 of them wait; want a microbatch_size of at most 15",
                 "threads is not set: each rank takes all CPUs that it may use"):
        report.check(f"which is said: {text}", text in err[0] and text in log and not err[1], f"{err} {log}")


def alone(tutti, folder, report):
    """Several processes of a run without "distributed", and numbers that are none."""
    run = changed(max_duration="1ba")
    write(os.path.join(folder, "ranked"), run)
    del run["distributed"]
    write(folder, run)
    checkpoint = "runs/ranks/checkpoints/latest.safetensors"
    unset = {"TUTTI_RANK": None, "TUTTI_WORLD_SIZE": None, "PMIX_RANK": None}
    trains = ("train", "run.json")

    def start(words, env, where=folder):
        here = {key: value for key, value in {**os.environ, **unset, **env}.items() if value is not None}
        return subprocess.run([tutti, *words], cwd=where, env=here, capture_output=True, text=True, check=False, timeout=100)

    two, several = {"TUTTI_RANK": "1", "TUTTI_WORLD_SIZE": "2"}, "whoever set TUTTI_WORLD_SIZE has started 2 processes, each of which would "
    done = start(trains, {"TUTTI_RANK": "0", "TUTTI_WORLD_SIZE": "1"})
    report.check("a world of one trains", done.returncode == 0, done.stderr)
    for words, env, text in (
            (trains, two, several + "train the whole run"),
            (("predict", "run.json", "--checkpoint", checkpoint, "--output", "out.npy"), two, several + "compute all outputs and write the same file"),
            (("export", checkpoint, "--onnx", "out.onnx"), two, several + "write the same files"),
            (trains, {"PMIX_RANK": "1"}, "PMIX_RANK is set: a launcher has started this process"),
            (trains, {"TUTTI_WORLD_SIZE": "0", "TUTTI_RANK": "0"}, 'TUTTI_WORLD_SIZE is "0", want a number of processes from 1 on'),
            (trains, {"TUTTI_RANK": "0"}, "TUTTI_RANK is set and TUTTI_WORLD_SIZE is not")):
        done = start(words, env)
        report.check(f"{words[0]} with {env} is refused", done.returncode == 2 and text in done.stderr, f"{done.returncode} {done.stderr}")
    for env, text in (({"TUTTI_WORLD_SIZE": "0", "TUTTI_RANK": "0"}, 'TUTTI_WORLD_SIZE is "0", want a number of ranks from 1 on'),
                      ({"TUTTI_RANK": "0"}, "TUTTI_RANK is set and TUTTI_WORLD_SIZE is not"),
                      ({"PMIX_RANK": "0"}, "PMIX_RANK is set, and nothing says how many ranks there are")):
        done = start(trains, env, os.path.join(folder, "ranked"))
        report.check(f"shared_memory refuses {env}", done.returncode == 2 and text in done.stderr, f"{done.returncode} {done.stderr}")
    report.check("nothing is written", not os.path.exists(os.path.join(folder, "out.npy")) and not os.path.exists(os.path.join(folder, "out.onnx")))


def lonely(tutti, folder, report):
    """A rank that waits for another: a signal ends it at once; else it names the rank, of which nothing is known."""
    write(folder, changed())
    job = f"lonely-{os.getpid()}-"

    def left():
        return [name for name in os.listdir("/dev/shm") if job in name]

    for rank in (0, 1):
        one = subprocess.Popen([tutti, "train", "run.json"], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                               env={**os.environ, "TUTTI_RANK": str(rank), "TUTTI_WORLD_SIZE": "2", "TUTTI_JOB": f"{job}{rank}"})
        wait_until(lambda: catches(one.pid, signal.SIGTERM) and (rank or left()))
        began = time.monotonic()
        one.send_signal(signal.SIGTERM)
        err = one.communicate(timeout=50)[1]
        seconds = time.monotonic() - began
        good = one.returncode == 143 and seconds < 5 and f"stopped while rank {1 - rank} had not come" in err
        report.check(f"a signal ends rank {rank}, which waits for another", good, f"{seconds} s {one.returncode} {err}")
        report.check("nothing is left of it", not left(), f"{left()}")
    write(folder, changed(distributed={"comm": "shared_memory", "join_timeout_s": 1}))
    done = subprocess.run([tutti, "train", "run.json"], cwd=folder, capture_output=True, text=True, check=False, timeout=100,
                          env={**os.environ, "TUTTI_RANK": "0", "TUTTI_WORLD_SIZE": "2", "TUTTI_JOB": f"{job}late"})
    report.check("rank 0 names the rank that it waited for", done.returncode and "rank 1 has not come in 1 s" in done.stderr, done.stderr)


def launcher_of_pmi(tutti, folder, report):
    """A launcher of PMI names no job and may leave all jobs in one session: one that begins while another does is not taken for it."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("TUTTI_", "PMI"))}
    first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
    for where in (first, second):
        write(where, changed(max_duration="1ba", eval=[], distributed={"comm": "shared_memory", "join_timeout_s": 40}))
    ranks = [f"PMI_RANK={rank} PMI_SIZE=2 '{tutti}' train run.json" for rank in (0, 1)]
    before = set(os.listdir("/dev/shm"))
    with subprocess.Popen(["sh", "-c", f"{ranks[0]} & read go; {ranks[1]} && wait $!"], cwd=first, env=env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as begun:
        wait_until(lambda: any(name.startswith("tutti-") for name in set(os.listdir("/dev/shm")) - before))
        done = subprocess.run(["sh", "-c", f"{ranks[0]} & {ranks[1]} && wait $!"], cwd=second, env=env, capture_output=True, text=True,
                              check=False, timeout=100)
        report.check("a job of PMI trains beside one that begins", done.returncode == 0, f"{done.returncode} {done.stdout} {done.stderr}")
        out = begun.communicate("go\n", timeout=100)[0]
        report.check("and so does that", begun.returncode == 0, f"{begun.returncode} {out}")


def launcher_unseen(tutti, folder, report):
    """A rank of PMI that no process has started which is seen: its job cannot be told from others."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("TUTTI_", "PMI"))}
    write(folder, changed(distributed={"comm": "shared_memory", "join_timeout_s": 20}))
    orphan = f"sleep 0.5; grep PPid /proc/$$/status > parent; {tutti} train run.json > out 2>&1; mv out told"
    subprocess.run(["sh", "-c", f"PMI_RANK=0 PMI_SIZE=2 sh -c '{orphan}' &"], cwd=folder, env=env, check=True, timeout=100)
    wait_until(lambda: os.path.exists(os.path.join(folder, "told")))
    told = {}
    for name in ("parent", "told"):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            told[name] = f.read()
    if told["parent"].split() != ["PPid:", "1"]:
        report.skip(f"a launcher that is not seen: another process than the first takes orphans here: {' '.join(told['parent'].split())}")
        return
    want = "PMI_RANK is set and PMI_JOBID is not, and no process above this one is seen to have started the ranks"
    report.check("a rank whose launcher is not seen is refused", want in told["told"] and "want TUTTI_JOB" in told["told"], told["told"])


def catches(pid, number):
    """Whether the process has a handler of that signal."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        caught = [int(line.split()[1], 16) for line in f if line.startswith("SigCgt:")]
    return caught[0] >> (number - 1) & 1


def wait_until(there):
    """At most a minute."""
    until = time.monotonic() + 60
    while time.monotonic() < until and not there():
        time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main([code, data, plugin, repeat, cpu, threads, machines, advice, alone, lonely, launcher_of_pmi, launcher_unseen]))
