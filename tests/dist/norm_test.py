"""norm_test.py - batch norm with the statistics of the whole batch, over any number of ranks: norm_test.py TUTTI [NAME]"""
# SPDX-License-Identifier: Apache-2.0
import array
import os
import subprocess
import sys

from ranks import World, changed, difference, final, main, ranks_kept, record_of, signal, write, write_npy


RESIDUAL = {"name": "resnet_cifar", "depth": 8, "shortcut": "conv"}


def of_world(**more):
    """The run with statistics of the whole batch."""
    run = changed(**more)
    run["distributed"]["batch_norm"] = "world"
    return run


def train(tutti, where, run, size, options=()):
    """Why the run failed; "" where it did not."""
    write(where, run)
    status, _, err = World(tutti, where, size, options).end()
    return f"{status} {err}" if any(status) else ""


def same(tutti, folder, report, what, run, sizes):
    """The run gives in every world what it gives in a world of one."""
    one = os.path.join(folder, f"{what}-1".replace(" ", "_"))
    text = train(tutti, one, run, 1)
    report.check(f"{what}, one rank: trains", not text, text)
    for size in sizes:
        where = os.path.join(folder, f"{what}-{size}".replace(" ", "_"))
        text = train(tutti, where, run, size) or difference(one, where)
        report.check(f"{what}, {size} ranks: the bits of one", not text, text)
    return one


def numbers_of(tensor):
    """A tensor of 32-bit floats as numbers."""
    return array.array("f", tensor[2])


def distance(a, b):
    """The largest difference of the weights and buffers of two runs, by the largest number of the tensor."""
    left, right = final(a), final(b)
    worst = 0.0
    for name in left:
        if not name.startswith("model.") or left[name][0] != "F32":
            continue
        x, y = numbers_of(left[name]), numbers_of(right[name])
        size = max(map(abs, x)) or 1.0
        worst = max(worst, max(abs(p - q) for p, q in zip(x, y)) / size)
    return worst


def worlds(tutti, folder, report):
    """Batches of 30, 30, 30, 30 and 10 samples in slots of 4, the last ones of 2: on fewer and more ranks than slots, with
    evaluations, in f32 and in 16 bits."""
    same(tutti, folder, report, "f32", of_world(), (2, 3, 5))
    for precision in ("amp_bf16", "amp_fp16"):
        same(tutti, folder, report, precision, of_world(precision=precision, max_duration="5ba"), (3,))
    smooth = of_world(max_duration="3ba", model=RESIDUAL, recompute="full",
                      algorithms=[{"name": "sam"}, {"name": "label_smoothing"}, {"name": "ema", "half_life": "5ba"}])
    same(tutti, folder, report, "residual layers and algorithms", smooth, (3,))
    states = of_world(max_duration="3ba", optimizer={"name": "adamw", "lr": 0.01})
    states["distributed"] |= {"sharding": "states", "reduce_dtype": "bf16", "buffers": "first"}
    same(tutti, folder, report, "sharded state", states, (2,))


def definition(tutti, folder, report):
    """Slots give what the batch gives as one microbatch, but for rounding of sums in another order; without it they do not."""
    for what, most, more in (("fp32", 2e-5, {"max_duration": "3ba"}), ("residual layers", 1e-5, {"model": RESIDUAL}),
                             ("bf16", 2e-2, {"precision": "amp_bf16"})):
        more = {"max_duration": "1ba", "eval": [], **more}
        whole, slots, others = (os.path.join(folder, f"{name}-{what}".replace(" ", "_")) for name in ("whole", "slots", "others"))
        text = train(tutti, whole, changed(microbatch_size=30, **more), 1) or train(tutti, slots, of_world(**more), 2) or \
            train(tutti, others, changed(**more), 2)
        near, far = (0.0, 0.0) if text else (distance(whole, slots), distance(whole, others))
        report.check(f"{what}: the weights and running statistics of one microbatch", not text and near < most,
                     f"{text} {near:.2g}")
        report.check(f"{what}: statistics of slots give others", far > 5 * near, f"{far:.2g}, {near:.2g}")


def resumed(tutti, folder, report):
    """3, 1 and 2 ranks in turn give the bits of one."""
    whole, turns = os.path.join(folder, "whole"), os.path.join(folder, "turns")
    text = train(tutti, whole, of_world(max_duration="6ba"), 1)
    for size, until in ((3, "2ba"), (1, "4ba"), (2, "6ba")):
        text = text or train(tutti, turns, of_world(max_duration=until), size, ["--resume", "auto"])
    text = text or difference(whole, turns)
    report.check("3, 1 and 2 ranks in turn: the bits of one", not text, text)


def waits(tutti, folder, report):
    """A step waits once for each layer of batch norm, forward and backward; `tutti explain` and `tutti plan` say so."""
    layers = 3
    run = of_world(max_duration="4ba", callbacks=[], eval=[])
    results = {}
    for size, want in ((1, 0), (2, 2 * layers), (5, 2 * layers)):
        where = os.path.join(folder, f"{size}")
        text = train(tutti, where, run, size)
        step = {} if text else ranks_kept(where)["last_step"]
        report.check(f"{size} ranks: a step waits {want} times", not text and step["blocking"] == want, f"{text} {step}")
        results[size] = 0 if text else record_of(where)["memory"]["results"]
    report.check("results of eight microbatches are in memory, of four, of two",
                 results[1] == 2 * results[2] == 4 * results[5] > 0, f"{results}")
    for command, want in ((["explain", "run.json"], "batch_norm is world, whose statistics wait for all ranks\n"),
                          (["plan", "run.json", "--world", "4"], f"a step waits {2 * layers} times for all ranks")):
        out = subprocess.run([tutti, *command], cwd=folder + "/1", capture_output=True, text=True, check=False)
        report.check(f"tutti {command[0]} says so", want in out.stdout, f"{out.stdout} {out.stderr}")


def refusals(tutti, folder, report):
    """What cannot be had with it is refused in one sentence."""
    mixed = [{"name": "mixup"}]
    cases = {"in rounds": ({}, {"sharding": "gradients"}, 2, "is \"gradients\", whose microbatches come one after"),
             "each one": ({}, {"sync": "multi_auto_sync"}, 2, "is \"multi_auto_sync\", whose microbatches come one after"),
             "parts": ({"algorithms": [{"name": "ghost_batchnorm", "ghost_batch_size": 2}]}, {}, 2,
                       "normalises parts of a microbatch, as ghost_batchnorm does"),
             "penalty": ({"algorithms": [{"name": "gradient_penalty"}]}, {}, 2, "no gradients of gradients"),
             "events": ({"algorithms": mixed}, {}, 3, "a plugin hears before_forward, and a rank has several microbatches, "
                        "which run side by side; want 8 ranks, not 3")}
    for what, (more, settings, size, want) in cases.items():
        run = of_world(max_duration="2ba", **more)
        run["distributed"] |= settings
        text = train(tutti, os.path.join(folder, what.replace(" ", "_")), run, size)
        report.check(f"{what}: refused", want in text.replace("\\", ""), text)
    run = of_world(max_duration="2ba", microbatch_size=15, algorithms=mixed)
    text = train(tutti, os.path.join(folder, "one_each"), run, 2)
    report.check("events, a microbatch a rank: trains", not text, text)


def stopped(tutti, folder, report):
    """A rank that cannot go on between two sums is named; the others do not wait for it."""
    targets = [k % 7 / 7 for k in range(16 * 10)]
    targets[95] = float("nan")  # of sample 9
    for name, shape, data in (("x", (16, 8, 8, 1), [k % 17 / 17 for k in range(16 * 64)]), ("y", (16, 10), targets)):
        write_npy(os.path.join(folder, f"{name}.npy"), "<f4", shape, array.array("f", data).tobytes())
    run = of_world(max_duration="1ba", eval=[], microbatch_size=4, loss="mse", model={"name": "cnn", "num_classes": 10},
                   train={"dataset": {"name": "npy", "inputs": "../x.npy", "targets": "../y.npy"}, "batch_size": 16,
                          "shuffle": False})
    for size, rank in ((2, 1), (4, 2)):
        where = os.path.join(folder, f"{size}")
        write(where, run)
        status, _, err = World(tutti, where, size).end()
        want = [f"tutti: [rank {rank}] the loss of batch 0 is NaN: the batch's target is not finite\n"] + [""] * (size - 1)
        report.check(f"{size} ranks: rank {rank} is named, by the first one alone", all(status) and err == want,
                     f"{status} {err}")


def killed(tutti, folder, report):
    """A rank that is killed in the midst of a step is named, and the run goes on with others to the bits of one."""
    run = of_world(max_duration="30ba", eval=[])
    whole, where = os.path.join(folder, "whole"), os.path.join(folder, "killed")
    text = train(tutti, whole, run, 1)
    write(where, run)
    world = World(tutti, where, 3)
    world.wait_for_batch(3)
    world.signal(1, signal.SIGKILL)
    status, _, err = world.end()
    report.check("killed: named", any("rank 1" in line for line in (err[0], err[2])) and all(status), f"{status} {err}")
    text = text or train(tutti, where, run, 2, ["--resume", "auto"]) or difference(whole, where)
    report.check("2 ranks go on from what was saved: the bits of one", not text, text)


if __name__ == "__main__":
    sys.exit(main([worlds, definition, resumed, waits, refusals, stopped, killed]))
