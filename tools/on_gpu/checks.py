"""Whether what runs on the GPU is right: operations against their reference, small runs against the CPU's."""
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys

from machine import ROOT, Late
from parity import BENCH, NEAR, saved, train

TINY_DEVICE = ["devices/devices_cuda_graph_test"]
SKIPPED = 77
TINY_OPERATIONS = ["op_exp_test", "op_matmul_test"]
OPTIMIZERS = [{"name": "adamw", "lr": 0.01}, {"name": "adamw", "lr": 0.01, "amsgrad": True},
              {"name": "decoupled_adamw", "lr": 0.01}, {"name": "sgd", "lr": 0.05},
              {"name": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 0.001},
              {"name": "decoupled_sgdw", "lr": 0.05, "momentum": 0.9}]
TUNED_FIRST = "op_conv2d_test"  # measures for longer than all others
LATE, NO_TIME = "took longer than", "no time left in this stage after"
# As host/device/cuda/check.c tells of an error after which nothing works any more.
STAYS = re.compile(r"\(cudaError\w+\); launched last: ")
# What small runs of eight steps may differ by: a weight by itself, as a part of its norm, and all weights as one, as a
# part of how far they have moved.  Measured between runs on a CPU, November 2026, the largest of 39 cases: 3 threads in
# place of 1 differ by 0.00031 and 0.00004 (stochastic_depth by 0.0054 and 0.0017), another instruction set, which rounds
# 16 bits elsewhere, by 0.0028 and 0.0037 (low_precision_groupnorm).  A rate 5 % off moves all weights by 0.044 or more.
# Of gated_linear_units a key's bias has a gradient that is 0 but for rounding: it moves by the sign of that.
ALIKE, MOVED = 3e-3, 0.02
ROUNDED = ("gated_linear_units/", "stochastic_depth/", "low_precision_groupnorm/")  # no weight of these by itself


def first(m):
    """Whether a kernel runs on the device at all, and a small net trains."""
    m.libraries()
    said = m.run([m.build / "tutti", "version"], 60)
    m.result["version"] = said.lines()
    m.say("; ".join(said.lines()))
    if not any(line.startswith("cuda:0") for line in said.lines()):
        m.wrong("the device", said.lines()[-1] if said.lines() else f"tutti version ends with {said.status}")
    bad = one_test(m, "op_exp_test", "no", 60)
    if bad:
        m.wrong("the first kernel", bad[0])
    else:
        m.say("a kernel has run on the device")
    said = m.run(train(m, BENCH / "rows" / "b1_mlp_tiny.json", "cuda", "--plugin-path",
                       m.build / "bench", "--set", "callbacks=[]", "--duration", "5ba"), 60)
    if said.status:
        m.wrong("the first run", said.lines()[-1] if said.lines() else f"ends with {said.status}")
    else:
        m.say("a small net has trained on it")


def one_test(m, name, fork, limit, seed=None, **more):
    """What is wrong on the device in a test program of operations: sentences, none where all is well.  In
    one process there is one context of the GPU, with `fork` there is one for every test."""
    extra = {"TUTTI_TEST_DEVICE": "cuda", "CK_FORK": fork, "CK_DEFAULT_TIMEOUT": str(int(limit)),
             "OMP_NUM_THREADS": "2", "TUTTI_SOURCE": str(ROOT), "TUTTI_BUILD": str(m.build)}
    if seed is not None:
        extra["TUTTI_TEST_SEED"] = str(seed)
    extra.update(more)
    try:
        said = m.run([m.build / "tests" / name], limit, **extra)
    except Late as late:
        return [f"{LATE} {limit:.0f} s" if late.stage_s is None else f"{NO_TIME} {late.stage_s:.0f} s"]
    if said.status in (0, SKIPPED):
        return []
    marks = [line.split(":", 2)[-1] for line in said.lines() if re.search(r":\d+:[FE]:", line)]
    return marks or said.lines()[-1:] or [f"ends with {said.status}"]


def told_apart(m, name, bad, seed, extra):
    """An error that stays spoils the tests after it: by itself each tells its own, with a context of the GPU each,
    which takes long.  What is wrong otherwise has been told."""
    if not any(STAYS.search(sentence) for sentence in bad) or m.left() <= 5:
        return bad
    apart = one_test(m, name, "yes", 60, seed, **extra)
    if not apart:
        return [f"{bad[0]} (not when each test is by itself)"]
    return bad if apart[0].startswith((LATE, NO_TIME)) else apart


def device(m):
    """What the CUDA backend promises of memory, streams, events, graphs and their blocks, errors; small nets on it and on
    the CPU."""
    found = sorted((m.build / "tests" / "devices").glob("devices_cuda_*_test"))
    names = [f"devices/{p.name}" for p in found if os.access(p, os.X_OK)]
    if m.args.standin:
        names = [n for n in names if n in TINY_DEVICE]
    if not names:
        m.wrong("device", f"there are no tests in {m.build}/tests/devices")
    code = {"TUTTI_CUDA_CODE": str(m.build / "lib/tutti/cuda")}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        said = pool.map(lambda name: (name, one_test(m, name, "yes", 60, **code)), names)
        wrong = {name: bad for name, bad in said if bad}
    m.result["device"] = {"tests": names, "wrong": wrong}
    for name, bad in sorted(wrong.items()):
        if bad[0].startswith(NO_TIME):
            m.leave_out(name, bad[0])
        else:
            m.wrong(name, "; ".join(bad))
    m.say(f"{len(names) - len(wrong)} of {len(names)} tests of the CUDA backend are right on the device")


def operation_tests(m):
    """Those with the longest device code first."""
    def size(name):
        folder = name[len("op_"):-len("_test")]
        code = ROOT / "kernels" / folder / f"{folder}.cu"
        return -code.stat().st_size if code.exists() else 0
    names = [p.name for p in (m.build / "tests").glob("op_*_test") if os.access(p, os.X_OK)]
    if m.args.standin:
        names = [n for n in names if n in TINY_OPERATIONS]
    return sorted(names, key=lambda n: (size(n), n))


def operations(m):
    """Every operation on the device against the f64 reference, on inputs that nobody has seen before."""
    try_operations(m, "operations", {})


def tuned(m):
    """The same by the algorithms that are measured to be the fastest, not by the first ones."""
    try_operations(m, "tuned", {"TUTTI_TUNE": "1"})


def what_ran(path):
    """Operation -> the libraries by which its calls ran, with how many; from the lines that tests write."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        operation, library, *_ = line.split("\t")
        by = found.setdefault(operation, {})
        by[library or "own kernels"] = by.get(library or "own kernels", 0) + 1
    return found


def try_operations(m, stage, extra):
    names = operation_tests(m)
    if m.args.standin and extra:  # the same calls on emulated device code once more
        names = names[-1:]
    if extra:
        names.sort(key=lambda name: name != TUNED_FIRST)
    seed, wrong = random.randrange(1, 1 << 31), {}
    ran = m.scratch / f"{stage}-choices.tsv"
    extra = {**extra, "TUTTI_TEST_CHOICES": str(ran)}
    if not names:
        m.wrong("operations", f"there are no tests in {m.build}/tests")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda name: (name, one_test(m, name, "no", 90, seed, **extra)), names)
        wrong = {name: bad for name, bad in found if bad}
        late = {name: wrong.pop(name)[0] for name in list(wrong) if wrong[name][0].startswith(NO_TIME)}
        wrong.update(pool.map(lambda name: (name, told_apart(m, name, wrong[name], seed, extra)), list(wrong)))
    by = what_ran(ran)
    m.result[stage] = {"tests": len(names), "seed": seed, "wrong": wrong, "left_out": sorted(late), "by": by}
    for operation in sorted(by):
        m.say(f"{operation}: " + ", ".join(f"{n} calls by {library}" for library, n in sorted(by[operation].items())))
    for name, bad in sorted(wrong.items()):
        m.wrong(name, f"{bad[0]}{f' and {len(bad) - 1} more' if len(bad) > 1 else ''}")
    for name, why in sorted(late.items()):
        m.leave_out(name, why)
    m.say(f"{len(names) - len(wrong) - len(late)} of {len(names)} tests of operations are right on the device"
          f"{', by tuned algorithms' if stage == 'tuned' else ''}, {f'{len(late)} left out, ' if late else ''}"
          f"inputs of seed {seed}")


def small_run():
    """The small run of the end-to-end tests."""
    said = subprocess.run(["bash", "-c", '. "$SOURCE/tests/e2e/lib.sh"; small_run'], text=True, check=True,
                          capture_output=True, env={**os.environ, "SOURCE": str(ROOT)}, timeout=20)
    return json.loads(said.stdout)


def plugin_cases(m):
    """Of the stand-in the first and the last alone."""
    cases = plugin_cases_all(m)
    return cases[:1] + cases[-1:] if m.args.standin else cases


def plugin_cases_all(m):
    """(what, members of the small run): every optimizer, algorithm and transform with kernels."""
    short = {"eval": [], "max_duration": "3ba" if m.args.standin else "8ba"}  # graphs replay from the third batch on
    sgd = {"optimizer": {"name": "sgd", "lr": 0.05}}
    cases = [(json.dumps(o), {**short, "optimizer": o}) for o in OPTIMIZERS]
    for members in sorted((ROOT / "plugins" / "algorithms").glob("*/resume*.json")):
        text = members.read_text(encoding="utf-8").replace('"truncate": false', '"truncate": true')
        cases.append((f"{members.parent.name}/{members.stem}",
                      {**json.loads(text.replace("../corpus.txt", str(m.scratch / "corpus.txt"))), **short, **sgd}))
    base = small_run()["train"]
    changes = [{"name": "random_resized_crop", "size": [24]}, {"name": "resize", "size": [28]},
               {"name": "random_crop", "padding": 2}, {"name": "random_flip"},
               {"name": "color_jitter", "brightness": 0.4, "contrast": 0.4}]
    cases.append(("transforms of kept images", {**short, **sgd, "train": {
        **base, "resident": True, "transforms": [*changes, *base["transforms"]]}}))
    return cases


def plugin_run(m, folder, device, members):
    """A run on a device, its weights saved in a folder; its sentence when it fails."""
    folder.mkdir(parents=True)
    run = {**members, "threads": 1, "callbacks": [
        {"name": "checkpoint_saver", "folder": str(folder), "interval": "1dur", "keep": 1}]}
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    said = m.run(train(m, folder / "run.json", device), 60)
    return (said.lines() or [f"ends with {said.status}"])[-1] if said.status else None


def plugins(m):
    """Small runs with every plugin that has kernels, on the CPU and on the device."""
    (m.scratch / "corpus.txt").write_text("".join(f"{n}\n" for n in range(1, 4001)), encoding="ascii")
    base, cases = small_run(), plugin_cases(m)
    found = m.result["plugins"] = {}

    def one(at):
        what, members = cases[at]
        folder = m.scratch / "plugins" / str(at)
        run = {**base, **members}
        still = {**run, "optimizer": {**run["optimizer"], "lr": 0}}  # the weights that both begin with
        for name, device, run in (("cpu", "cpu", run), ("cuda", "cuda", run), ("start", "cpu", still)):
            why = plugin_run(m, folder / name, device, {**run, "name": f"small_{at}_{name}"})  # a folder each
            if why:
                return f"{name}: {why}"
        said = m.run([sys.executable, NEAR, saved(folder / "cpu"), saved(folder / "cuda"),
                      "inf" if what.startswith(ROUNDED) else ALIKE, saved(folder / "start"), MOVED], 30)
        found[what] = ", ".join(said.lines())
        return "; ".join(said.lines()) if said.status else None

    alike = 0
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        jobs = {what: pool.submit(one, at) for at, (what, _) in enumerate(cases)}
        for what, job in jobs.items():
            try:
                why = job.result()
            except Late:
                m.late(what)
                continue
            alike += not why
            if why:
                m.wrong(what, why)
    m.say(f"{alike} of {len(cases)} small runs with optimizers, algorithms and transforms are alike")


def one_run(m, folder, members, **extra):
    """The small run with these members on the device; its folder, where it went well."""
    folder.mkdir(parents=True)
    run = {**small_run(), "eval": [], "max_duration": "8ba", "optimizer": {"name": "sgd", "lr": 0.05}, **members,
           "threads": 1, "callbacks": [{"name": "checkpoint_saver", "folder": str(folder), "interval": "1dur", "keep": 1}]}
    (folder / "run.json").write_text(json.dumps({**run, "name": f"small_{folder.name}"}), encoding="utf-8")
    said = m.run(train(m, folder / "run.json", "cuda"), 60, **extra)
    if said.status:
        m.wrong(folder.name, (said.lines() or [f"ends with {said.status}"])[-1])
    return said


def graphs(m):
    """Blocks that a step leaves out are conditional nodes: the run has graphs, no warning, and the weights that it
    has launch by launch."""
    m.result.setdefault("graphs", {})
    case = next((c for c in plugin_cases_all(m) if c[0].startswith("stochastic_depth/")), None)
    if not case:
        m.wrong("graphs", "there is no small run of stochastic_depth")
        return
    what, members = case
    if m.args.standin:
        members = {**members, "microbatch_size": 0, "train": {**members["train"], "batch_size": 1}}
    members = {**members, "max_duration": "4ba" if m.args.standin else "8ba"}
    with_graphs = one_run(m, m.scratch / "graphs" / "on", members)
    without = one_run(m, m.scratch / "graphs" / "off", members, TUTTI_CUDA_GRAPHS="0")
    if with_graphs.status or without.status:
        return  # and it was told
    gathered = [line.split(None, 1)[1] for line in with_graphs.lines() if line.split()[:1] == ["graphs"]]
    slow = [line for line in with_graphs.lines() if "launched kernel by kernel" in line]
    m.result["graphs"] = {"gathered": gathered, "slow": slow}
    if slow or not gathered:
        m.wrong(f"graphs of {what}", slow[0] if slow else "nothing was gathered")
    said = m.run([sys.executable, NEAR, saved(m.scratch / "graphs" / "on"), saved(m.scratch / "graphs" / "off"), ALIKE], 30)
    if said.status:
        m.wrong(f"{what} with graphs", "; ".join(said.lines()))
    elif gathered:
        m.say(f"{what}: {gathered[-1]}; weights with graphs and without differ by {said.lines()[0]}")
