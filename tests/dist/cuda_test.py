"""cuda_test.py - ranks on GPUs, on stand-ins for CUDA and NCCL: the bits of one rank, and what fails is named: cuda_test.py
TUTTI [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import signal
import subprocess
import sys
import time

from bits_test import ALGORITHMS
from norm_test import distance
from ranks import World, changed, difference, main, messages, write

HERE = os.path.dirname(os.path.abspath(__file__))
STANDIN = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "standin")
WORLD = {"comm": {"name": "shared_memory", "mailbox_mib": 1}, "device_comm": "nccl", "join_timeout_s": 60, "timeout_s": 60,
         "bucket_mib": 0.01}
SMALL = {"device": "cuda", "distributed": WORLD, "model": {"name": "mlp", "hidden": [16]}, "eval": [], "max_duration": "2ba"}


def world(tutti, folder, size, run, gpus=None, env=None, ahead=False, **more):
    """Starts `size` ranks on a machine with as many GPUs, or `gpus` of them; `ahead`: whose other streams outrun their own."""
    write(folder, run)
    here = {"LD_LIBRARY_PATH": STANDIN, "TUTTI_CUDA_STANDIN": f"devices={gpus or size},leaks=1,eager={2 * ahead}", "TMPDIR": folder}
    envs = {r: {**here, "TUTTI_NCCL_TRACE": os.path.join(folder, f"nccl{r}"), **(env or {}).get(r, {})} for r in range(size)}
    return World(tutti, folder, size, env=envs, **more)


def train(tutti, folder, size, run, report, **more):
    """Trains to the end."""
    status, _, err = world(tutti, folder, size, run, **more).end()
    report.check(f"{os.path.basename(folder)}: it trains", not any(status), "\n".join(err)[-2000:])


def calls(folder, rank):
    """What a rank has called NCCL for."""
    with open(os.path.join(folder, f"nccl{rank}"), encoding="utf-8") as f:
        return f.read().splitlines()


def agree(ranks):
    """Whether two ranks call the same collectives, and receive what the other sends, in its order."""
    common = [[c for c in one if c.startswith(("all_gather", "broadcast", "group", "end", "finalize"))] for one in ranks]
    sent = [[c.split()[1] for c in one if c.startswith("send") and f"to {1 - r}," in c] for r, one in enumerate(ranks)]
    got = [[c.split()[1] for c in one if c.startswith("receive") and f"from {1 - r}," in c] for r, one in enumerate(ranks)]
    return common[0] == common[1] and sent[0] == got[1] and sent[1] == got[0] and len(sent[0]) > 3


def bits(tutti, folder, report):
    """Convolutions and batch norm in slots of 4 samples, the last one of 3, by 1, 2 and 3 ranks."""
    run = changed(device="cuda", distributed={**WORLD, "bucket_mib": 0.001}, max_duration="2ba",
                  model={"name": "cnn", "channels": [8, 8]})
    run["train"]["batch_size"] = 15
    run["eval"][0]["dataset"]["samples"] = 20
    for size in (1, 2, 3):
        train(tutti, os.path.join(folder, f"w{size}"), size, run, report)
    for size in (2, 3):
        text = difference(os.path.join(folder, "w1"), os.path.join(folder, f"w{size}"))
        report.check(f"{size} ranks have the bits of one", not text, text)
    report.check("one rank needs no NCCL", not os.path.exists(os.path.join(folder, "w1/nccl0")))
    ranks = [calls(os.path.join(folder, "w2"), r) for r in range(2)]
    report.check("both call the same collectives", agree(ranks), ranks)


def beside(folder):
    """What rank 0's device was given to compute between two operations of NCCL, before it waited for any of them: launches, and
    those of graphs."""
    with open(os.path.join(folder, "cuda0"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    own = next(line for line in lines if line.startswith("launch ")).rsplit(" ", 1)[1]
    found, since = [], None
    for line in lines:
        if line.startswith("nccl group") or line.startswith("nccl all_gather"):
            found += since or []
            since = []
        elif line.startswith("wait event") and line.endswith(f" stream {own}"):
            since = None
        elif line.startswith("launch ") and line.endswith(f" stream {own}") and since is not None:
            since.append(line)
    return len(found), sum(line.startswith("launch graph") for line in found)


def overlapped(tutti, folder, report):
    """Buckets are summed while the backward pass runs, from the second batch on, also once its parts are graphs."""
    run = changed(device="cuda", distributed={**WORLD, "bucket_mib": 0.001}, max_duration="6ba", eval=[],
                  model={"name": "cnn", "channels": [8, 8]})
    run["train"]["batch_size"] = 15
    forced = {**run, "distributed": {**run["distributed"], "sync": "forced_sync"}}
    for name, size, what in (("one", 1, run), ("two", 2, run), ("three", 3, run), ("ahead", 3, run), ("forced", 2, forced)):
        where = os.path.join(folder, name)
        env = {r: {"TUTTI_CUDA_TRACE": os.path.join(where, f"cuda{r}")} for r in range(size)}
        train(tutti, where, size, what, report, env=env, ahead=name == "ahead")
    for name in ("two", "three", "ahead", "forced"):
        text = difference(os.path.join(folder, "one"), os.path.join(folder, name))
        report.check(f"{name}: the bits of one rank", not text, text)
    launches, graphs = beside(os.path.join(folder, "two"))
    report.check("the device computes beside sums, one launch after the other and by graphs", 0 < graphs < launches,
                 f"{launches} launches, {graphs} of graphs")
    report.check("forced_sync: sums begin behind the backward pass", beside(os.path.join(folder, "forced")) == (0, 0),
                 beside(os.path.join(folder, "forced")))


def divided(tutti, folder, report):
    """Sharded optimizer states, on the GPUs: the bits of one rank, a shard of the memory, resumed in other shards."""
    run = changed(**SMALL | {"max_duration": "6ba", "distributed": {**WORLD, "sharding": "states"}})
    whole = {**run, "distributed": WORLD}
    train(tutti, os.path.join(folder, "whole"), 1, whole, report)
    for name, size, ahead in (("two", 2, False), ("three", 3, True)):
        where = os.path.join(folder, name)
        train(tutti, where, size, run, report, ahead=ahead)
        text = difference(os.path.join(folder, "whole"), where)
        report.check(f"{name} ranks with sharded states: the bits of one", not text, text)
    told = re.findall(r"(\d+) of (\d+) bytes of optimizer state", str(messages(os.path.join(folder, "three"))))
    report.check("a rank keeps a third of them", bool(told) and int(told[0][1]) <= 3.2 * int(told[0][0]) <= 3.6 * int(told[0][1]), told)
    for k, (size, what) in enumerate(((3, run), (2, run), (1, whole))):
        train(tutti, os.path.join(folder, "parts"), size, what, report, options=["--resume", "auto", "--set", f"max_duration={2 * k + 2}ba"])
    text = difference(os.path.join(folder, "whole"), os.path.join(folder, "parts"))
    report.check("3, then 2 with shards, then one without: the bits of one", not text, text)


def kept(folder):
    """What the record says of rank 0's last step."""
    with open(os.path.join(folder, "runs/ranks/record.json"), encoding="utf-8") as f:
        return json.load(f)["ranks"]["last_step"]


def collectives(tutti, folder, report):
    """A step waits for its own sums alone: processes tell each other beside them how it goes."""
    for size in (2, 3):
        for sharding in ("none", "states"):
            where = os.path.join(folder, f"{sharding}{size}")
            train(tutti, where, size, changed(**SMALL | {"max_duration": "4ba", "distributed": {**WORLD, "sharding": sharding}}), report)
            step = kept(where)
            report.check(f"{size} ranks, sharding {sharding}: nothing else blocks", step["blocking"] == 0 < step["sums"], step)


def halves(tutti, folder, report):
    """Gradients in 16 bits on their way: the bits of one rank for any number of them, half the bytes."""
    cases = {"plain": ({}, {}, (2, 3)), "more ranks than slots": ({"microbatch_size": 15}, {}, (3,)),
             "states": ({}, {"sharding": "states"}, (3,)), "rounds": ({}, {"sync": "multi_auto_sync"}, (2,)),
             "scaled": ({"precision": "amp_fp16"}, {}, (3,))}
    for what, (more, settings, sizes) in cases.items():
        run = changed(**SMALL | {"max_duration": "4ba", "distributed": {**WORLD, "reduce_dtype": "bf16", **settings}} | more)
        where = os.path.join(folder, what.replace(" ", "_"))
        for size in (1, *sizes):
            train(tutti, f"{where}{size}", size, run, report, ahead=size == 3)
        for size in sizes:
            text = difference(f"{where}1", f"{where}{size}")
            report.check(f"bf16, {what}: {size} ranks have the bits of one", not text, text)
    full = os.path.join(folder, "full")
    train(tutti, full, 2, changed(**SMALL | {"max_duration": "4ba"}), report)
    text = difference(full, os.path.join(folder, "plain2"))
    report.check("sums in 16 bits are others than in 32", "tensors differ" in text, text)
    bytes_of = [kept(one)["bytes"] for one in (full, os.path.join(folder, "plain2"))]
    report.check("and take half the bytes", abs(bytes_of[1] / bytes_of[0] - 0.5) < 0.05, bytes_of)


def rounds(tutti, folder, report):
    """Sums of each microbatch: the bits of one rank, as often as there are rounds, while each backward pass runs."""
    run = changed(device="cuda", distributed={**WORLD, "bucket_mib": 0.001}, max_duration="5ba", eval=[],
                  model={"name": "cnn", "channels": [8, 8]})
    train(tutti, os.path.join(folder, "whole"), 1, run, report)
    for size, ahead, more in ((2, False, {}), (3, True, {}), (3, False, {"sharding": "states"}), (8, False, {})):
        run["distributed"] = {**WORLD, "bucket_mib": 0.001, "sync": "multi_auto_sync", **more}
        where = os.path.join(folder, f"{size}{more.get('sharding', 'none')}")
        env = {r: {"TUTTI_CUDA_TRACE": os.path.join(where, f"cuda{r}")} for r in range(size)}
        train(tutti, where, size, run, report, env=env, ahead=ahead)
        text = difference(os.path.join(folder, "whole"), where)
        report.check(f"{size} ranks in rounds{', sharded states' * bool(more)}: the bits of one", not text, text)
    few = {**run, "microbatch_size": 15}
    for size in (1, 3):
        train(tutti, os.path.join(folder, f"few{size}"), size, few, report)
    text = difference(os.path.join(folder, "few1"), os.path.join(folder, "few3"))
    report.check("3 ranks for 2 microbatches: the bits of one", not text, text)
    once = os.path.join(folder, "once")
    run["distributed"] = {**WORLD, "bucket_mib": 0.001}
    train(tutti, once, 2, run, report)
    often = kept(os.path.join(folder, "2none"))["sums"]
    report.check("each of four rounds is summed", often == 4 * kept(once)["sums"] > 0, often)
    launches, graphs = beside(os.path.join(folder, "2none"))
    report.check("beside the backward pass", 0 < graphs < launches, f"{launches} launches, {graphs} of graphs")


def broken(tutti, folder, report):
    """One rank alone cannot compute a microbatch, in any round of the first batch or of the second one: all end, and hear why."""
    options = ["--plugin-path", os.path.join(os.environ["FIXTURES"], "ranker")]
    for sync in ("single_auto_sync", "multi_auto_sync"):
        for size, victim, call in ((2, 1, 1), (2, 0, 2), (2, 1, 3), (2, 1, 5), (2, 0, 6), (3, 2, 3), (3, 1, 4), (4, 0, 4), (4, 3, 2)):
            run = changed(**SMALL | {"microbatch_size": 5, "max_duration": "4ba", "distributed": {**WORLD, "sync": sync}})
            run["handlers"] = [{"on": "before_forward", "call": "ranker.fail_at", "args": [victim, call]}]
            if call % 2:  # with batch norm, whose buffers are summed beside
                run["model"] = {"name": "cnn", "channels": [4]}
            del run["train"]["metrics"]
            status, _, err = world(tutti, os.path.join(folder, f"{sync}{size}-{victim}-{call}"), size, run, options=options).end()
            report.check(f"{sync}: rank {victim} of {size} fails with its microbatch {call}: all end", status == [1] * size, f"{status} {err}")
            want = f"tutti: {f'[rank {victim}] ' * bool(victim)}ranker.fail_at on before_forward: this rank fails\n"
            report.check("rank 0 says once why", err == [want] + [""] * (size - 1), err)


def algorithms(tutti, folder, report):
    """Algorithms, each with others."""
    for some in ALGORITHMS:
        what = some[0]["name"]
        run = changed(device="cuda", distributed=WORLD, model={"name": "cnn", "channels": [4, 4]}, algorithms=some, eval=[], max_duration="4ba")
        run["train"]["batch_size"] = 12
        for size in (1, 2):
            train(tutti, os.path.join(folder, f"{what}{size}"), size, run, report)
        text = difference(os.path.join(folder, f"{what}1"), os.path.join(folder, f"{what}2"))
        report.check(f"{' and '.join(one['name'] for one in some)}: the bits of one rank", not text, text)


def of_world(**more):
    """A run of convolutions with the statistics of batches of 30 samples in slots of 4, the last one of 2."""
    run = changed(**{"device": "cuda", "max_duration": "6ba", "model": {"name": "cnn", "channels": [8, 8]}} | more)
    run["distributed"] = {**WORLD, "batch_norm": "world", **more.get("distributed", {})}
    if run["model"]["name"] != "cnn":  # which takes long on the stand-in: two slots
        run["train"]["batch_size"] = 2 * run["microbatch_size"]
    return run


def paused(folder, numbers):
    """How often rank 0's device has copied that many F64 numbers of a sum to the host, and between how many of two such copies
    that follow each other it was given graphs and no kernel else."""
    with open(os.path.join(folder, "cuda0"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    sums, between, work = 0, 0, None
    for line in lines:
        if line.startswith(f"copy {8 * numbers} bytes ") and "-> host" in line:
            between += bool(work) and all(one.startswith("launch graph") for one in work)
            sums, work = sums + 1, []
        elif line.startswith("launch ") and work is not None:
            work.append(line)
    return sums, between


def norm(tutti, folder, report):
    """Statistics of the whole batch, for which devices pause: the bits of one rank, whose slots run side by side, for two, three
    and five, with one slot each and with one that has none; with evaluations. Who is killed or stands still is named."""
    residual = {"name": "resnet_cifar", "depth": 8, "shortcut": "conv"}
    one_each = {"microbatch_size": 15, "max_duration": "6ba"}
    cases = (("fp32", {}, (2, 3, 5)), ("one_each", one_each, (2,)), ("bf16", {"precision": "amp_bf16", **one_each}, (2, 3)),
             ("fp16", {"precision": "amp_fp16", "max_duration": "2ba"}, (3,)),
             ("residual", {"model": residual, "recompute": "full", "max_duration": "1ba", "eval": []}, (2,)),
             ("states", {"max_duration": "2ba", "distributed": {"sharding": "states"}}, (2,)))
    for what, more, sizes in cases:
        for size in (1, *sizes):
            where = os.path.join(folder, f"{what}{size}")
            train(tutti, where, size, of_world(**more), report, ahead=size == 3,
                  env={0: {"TUTTI_CUDA_TRACE": os.path.join(where, "cuda0")}})
        for size in sizes:
            text = difference(os.path.join(folder, f"{what}1"), os.path.join(folder, f"{what}{size}"))
            report.check(f"{what}: {size} ranks have the bits of one", not text, text)
    for what, want in (("one_each2", (4 * 6, 3 * 3)), ("fp322", (4 * 4 * 6, 3))):
        found = paused(os.path.join(folder, what), 2 * 8 + 1)
        report.check(f"{what}: the device pauses at each sum, and graphs lie between", found[0] == want[0] and found[1] >= want[1],
                     f"{found}, {want}")
    train(tutti, os.path.join(folder, "fp32cpu"), 2, of_world(device="cpu"), report)
    skips = {"name": "stochastic_depth", "target_layer_name": "residual_block", "drop_rate": 0.7}
    skipping = of_world(model=residual, algorithms=[skips], eval=[], max_duration="3ba")
    train(tutti, os.path.join(folder, "skips2"), 2, skipping, report)
    train(tutti, os.path.join(folder, "skipscpu"), 2, {**skipping, "device": "cpu"}, report)
    for what in ("fp32", "skips"):  # where slots skip blocks they add nothing to a sum
        near = distance(os.path.join(folder, f"{what}cpu"), os.path.join(folder, f"{what}2"))
        report.check(f"{what}: weights and running statistics are near those of CPUs", near < 1e-5, f"{near:.2g}")
    for number, text in ((signal.SIGKILL, "has ended"), (signal.SIGSTOP, "has not come in 2 s; it was last seen at step")):
        run = of_world(max_duration="4000ep", eval=[], distributed={"timeout_s": 2})
        three = world(tutti, os.path.join(folder, f"signal{int(number)}"), 3, run)
        three.wait_for_batch(3)
        three.signal(1, number)
        ends(three, [0, 2], report, f"signal {int(number)}: named", [f"rank 1 (process {three.ranks[1].pid}) {text}"])


def near(tutti, folder, report):
    """Other kernels, so not the bits of CPUs, but their weights; which a run file with a device_comm may take too."""
    last = "runs/ranks/checkpoints/latest.safetensors"
    for device in ("cuda", "cpu"):
        train(tutti, os.path.join(folder, device), 2, changed(**SMALL | {"device": device}), report)
    paths = [os.path.join(folder, device, last) for device in ("cpu", "cuda")]
    done = subprocess.run([sys.executable, os.path.join(HERE, "../e2e/near_weights.py"), *paths, "1e-5"], capture_output=True,
                          text=True, check=False)
    report.check("weights are near those of CPUs", done.returncode == 0, done.stdout + done.stderr)
    text = "device_comm nccl is not used: the run computes on the CPU"
    report.check("a device_comm without use is told", text in messages(os.path.join(folder, "cpu")))


def scaled(tutti, folder, report):
    """A loss scale, of which each step's overflow is that of the sums, and 3 ranks for 2 slots."""
    run = changed(**SMALL | {"precision": "amp_fp16", "microbatch_size": 15})
    for size in (1, 3):
        train(tutti, os.path.join(folder, f"s{size}"), size, run, report)
    text = difference(os.path.join(folder, "s1"), os.path.join(folder, "s3"))
    report.check("with a loss scale and a rank without slots: the bits of one", not text, text)


def resumed(tutti, folder, report):
    """A run that 3 ranks have begun goes on with one."""
    for name, sizes in (("whole", (2,)), ("parts", (3, 1))):
        for k, size in enumerate(sizes):
            until = f"{k + 1 if len(sizes) > 1 else 2}ba"
            train(tutti, os.path.join(folder, name), size, changed(**SMALL), report,
                  options=["--resume", "auto", "--set", f"max_duration={until}"])
    text = difference(os.path.join(folder, "whole"), os.path.join(folder, "parts"))
    report.check("3 ranks, then one: the bits of 2", not text, text)


def ends(world_, others, report, what, texts):
    """The others end, with one of these texts each."""
    until = time.monotonic() + 40
    while any(world_.ranks[r].poll() is None for r in others) and time.monotonic() < until:
        time.sleep(0.05)
    for r, one in enumerate(world_.ranks):
        if r not in others:
            world_.signal(r, signal.SIGKILL)
            world_.signal(r, signal.SIGCONT)
        elif one.poll() is None:
            one.kill()
    status, _, err = world_.end()
    report.check(what, all(status[r] == 1 and any(text in err[r] for text in texts) for r in others), f"{status} {err}")


def lost(tutti, folder, report):
    """A rank that is killed, or stands still, is named by the other, wherever it was."""
    hangs = "has not come in 2 s; it was last seen at step"
    cases = ((signal.SIGKILL, 1, {}, "has ended"), (signal.SIGKILL, 0, {"sharding": "states"}, "has ended"),
             (signal.SIGKILL, 1, {"sync": "multi_auto_sync"}, "has ended"), (signal.SIGSTOP, 1, {}, hangs),
             (signal.SIGSTOP, 0, {}, hangs), (signal.SIGSTOP, 0, {"sharding": "states"}, hangs),
             (signal.SIGSTOP, 1, {"sync": "multi_auto_sync"}, hangs))
    for number, victim, more, text in cases:
        what = f"{''.join(more.values()) or 'plain'}, rank {victim}, signal {int(number)}"
        where = os.path.join(folder, what.replace(", ", "_").replace(" ", "_"))
        run = changed(**SMALL | {"max_duration": "4000ep", "distributed": {**WORLD, "timeout_s": 2, **more}})
        two = world(tutti, where, 2, run)
        two.wait_for_batch(1)
        two.signal(victim, number)
        ends(two, [1 - victim], report, f"{what}: named",
             [f"rank {victim} (process {two.ranks[victim].pid}) {text}"])


def stuck(tutti, folder, report):
    """What hangs or fails within NCCL ends in time, with step and bucket."""
    run = changed(**SMALL | {"max_duration": "4000ep", "distributed": {**WORLD, "timeout_s": 2}})
    rounds_ = {**run, "distributed": {**run["distributed"], "sync": "multi_auto_sync"}}
    failing = {1: {"TUTTI_NCCL_STANDIN": "fail_call=30,stall_call=30"}}
    why = ["remote process exited or there was a network error"]
    patient = {**rounds_, "distributed": {**rounds_["distributed"], "timeout_s": 13}}
    waits = world(tutti, os.path.join(folder, "waits"), 2, patient, env=failing)
    hangs = world(tutti, os.path.join(folder, "hangs"), 2, run, env={1: {"TUTTI_NCCL_STANDIN": "stall_call=13"}})
    ends(hangs, [0, 1], report, "an operation that does not end", ["nccl: all-to-all of step 1, summing gradients, bucket 2, "
                                                                   "has not ended in 2 s"])
    fails = world(tutti, os.path.join(folder, "fails"), 2, run, env={1: {"TUTTI_NCCL_STANDIN": "fail_call=4,stall_call=4"}})
    ends(fails, [1], report, "an error of NCCL's", [f"nccl: {what}: {why[0]}; this rank is at step 0, summing gradients, bucket"
                                                    for what in ("all-to-all", "all-gather")])
    stalls = world(tutti, os.path.join(folder, "hangs_in_rounds"), 2, rounds_, env={1: {"TUTTI_NCCL_STANDIN": "stall_call=31"}})
    ends(stalls, [0, 1], report, "in rounds, what hangs", ["has not ended in 2 s"])
    ends(world(tutti, os.path.join(folder, "fails_in_rounds"), 2, rounds_, env=failing), [1], report, "in rounds, what fails", why)
    # Who fails waits for the others for 10 s, and they for their devices for longer.
    ends(waits, [1], report, "what fails, where the others wait longer", why)


def refused(tutti, folder, report):
    """What cannot be is said before training."""
    def says(what, size, text, gpus=None, **more):
        run = changed(**SMALL | {"distributed": {**WORLD, **more}})
        ranks = world(tutti, os.path.join(folder, what.replace(" ", "_")), size, run, gpus=gpus)
        status, _, err = ranks.end()
        report.check(f"refused: {what}", all(status) and all(text in one for one in err[:1]), f"{status} {err}")

    says("a comm of processes", 2, "device_comm shared_memory has no tutti.device_collectives/1, want one that moves memory of "
         "devices, such as nccl", device_comm="shared_memory")
    says("sharded gradients", 2, "on which gradients are summed where sharding is none or states alone; want \"sharding\": \"states\", "
         "or \"device\": \"cpu\"", sharding="gradients")
    says("two ranks on a GPU", 2, "invalid usage: Duplicate GPU detected : rank", gpus=1)
    says("a rank without a GPU", 3, "[rank 2] there is no device 2, this machine has 2", gpus=2)
    says("no NCCL", 2, "nccl: NCCL is not installed: /nowhere/libnccl.so.2",
         device_comm={"name": "nccl", "library": "/nowhere/libnccl.so.2"})
    alone = {key: value for key, value in WORLD.items() if key != "device_comm"}
    status, _, err = world(tutti, os.path.join(folder, "alone"), 2, changed(**SMALL | {"distributed": alone})).end()
    text = 'nothing moves its gradients from rank to rank; want "device_comm": "nccl" of "distributed", or "device": "cpu"'
    report.check("refused: no device_comm", all(status) and text in err[0], f"{status} {err}")


if __name__ == "__main__":
    if not os.path.isdir(STANDIN):
        print("skipped: the stand-in is not built")
        sys.exit(77)
    sys.exit(main([bits, overlapped, divided, collectives, halves, rounds, broken, algorithms, norm, near, scaled, resumed, lost, stuck, refused]))
