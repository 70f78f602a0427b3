"""bits_test.py - loss, metrics, weights and states do not depend on how many ranks train: bits_test.py TUTTI [NAME]"""
# SPDX-License-Identifier: Apache-2.0
import errno
import json
import os
import re
import shutil
import subprocess
import sys

from ranks import World, changed, difference, final, main, messages, numbers, ranks_kept, write
from data_files import write_shards  # after ranks, which says where it lies

ALGORITHMS = [
    [{"name": "label_smoothing"}, {"name": "mixup"}, {"name": "ema", "half_life": "5ba"},
     {"name": "lookahead", "interval": 3}],
    [{"name": "selective_backprop", "start": 0.0, "end": 1.0}, {"name": "blurpool"}],
    [{"name": "sam"}],
    [{"name": "gradient_clipping", "clipping_type": "norm", "clipping_threshold": 0.5}, {"name": "cutmix"}],
    [{"name": "progressive_resizing", "finetune_fraction": 0.3}, {"name": "swa", "swa_start": "0.5dur"},
     {"name": "whitening"}],
    [{"name": "gradient_penalty"}, {"name": "layer_freezing"}, {"name": "ghost_batchnorm", "ghost_batch_size": 2}],
]


# Those that read or change the whole batch.
WHOLE = {"selective_backprop", "progressive_resizing", "whitening"}


def same(tutti, folder, report, what, run, sizes, options=()):
    """The run gives in every world what it gives in a world of one."""
    for size in (1, *sizes):
        where = os.path.join(folder, f"{what}-{size}".replace(" ", "_"))
        write(where, run)
        status, out, err = World(tutti, where, size, options).end()
        if any(status):
            report.check(f"{what}, {size} ranks", False, f"{status} {err}")
            return
        told = [rank for rank in range(size) if out[rank]]
        report.check(f"{what}, {size} ranks: the first one speaks", told == [0], f"{out}")
        if size > 1:
            text = difference(os.path.join(folder, f"{what}-1".replace(" ", "_")), where)
            report.check(f"{what}, {size} ranks: the bits of one", not text, text)


def plain(tutti, folder, report):
    """Batches of 30, 30, 30, 30 and 10 samples in slots of 4, on more and on fewer ranks than slots; the model has batch
    norm, whose statistics are those of all slots."""
    same(tutti, folder, report, "plain", changed(), (2, 3, 5, 8))
    same(tutti, folder, report, "more ranks than slots", changed(microbatch_size=15, max_duration="5ba"), (3,))


def precisions(tutti, folder, report):
    """Sixteen bits, with a loss scale."""
    for precision in ("amp_bf16", "amp_fp16"):
        same(tutti, folder, report, precision, changed(precision=precision, max_duration="6ba"), (3,))


def turn_choices(cache, other):
    """A cache of kernel choices with another choice in each row; whether there are any."""
    with open(os.path.join(cache, "tutti/kernels"), encoding="utf-8") as f:
        head, *rows = f.read().splitlines()
    rows = [row.replace("blocked", "direct") if row.endswith("blocked") else row.replace(row.split()[-1], "blocked")
            for row in rows if "\toneDNN" in row]
    os.makedirs(os.path.join(other, "tutti"))
    with open(os.path.join(other, "tutti/kernels"), "w", encoding="utf-8") as f:
        f.write("\n".join([head, *rows, ""]))
    return bool(rows)


def caches(tutti, folder, report):
    """Kernels are measured: all ranks take the choices of rank 0, whatever their own machines' caches have."""
    first, other, none = (os.path.join(folder, name) for name in ("first", "other", "none"))

    def trained(what, *of):
        """A run whose ranks have these caches."""
        where = os.path.join(folder, what)
        write(where, changed(max_duration="5ba"))
        env = {rank: {"TUTTI_TUNE": "1", "XDG_CACHE_HOME": cache} for rank, cache in enumerate(of)}
        status, _, err = World(tutti, where, len(of), env=env).end()
        report.check(f"kernels are chosen: {what}", not any(status), f"{status} {err}")
        return where

    one = trained("one", first)
    if not turn_choices(first, other):
        report.skip("ranks with other choices of kernels: this build has no oneDNN (Debian's package libdnnl-dev)")
        return
    turned = trained("turned", other)
    if not difference(one, turned):
        report.skip("ranks with other choices of kernels: on this CPU they have the same bits")
    for what, expected, *of in (("rank 1 has other choices", one, first, other), ("rank 1 has none", one, first, none),
                                ("rank 0 has the others", turned, other, first, none)):
        text = difference(expected, trained(what, *of))
        report.check(f"{what}: the bits of rank 0 alone", not text, text)


OF_CLASSES = [{"name": "accuracy"}, *({"name": name, "num_classes": 10} for name in (
    "f1_score", "precision", "recall", "confusion_matrix", "auroc", "average_precision", "jaccard_index", "cohen_kappa")),
              {"name": "calibration_error"}, {"name": "cross_entropy"}]
OF_NUMBERS = [{"name": name} for name in ("mean_squared_error", "mean_absolute_error", "r2_score", "pearson_corrcoef")]


def metrics(tutti, folder, report):
    """Sums of ranks give each metric what one process gives it."""
    of_classes = changed(max_duration="1ep")
    of_classes["train"]["metrics"] = of_classes["eval"][0]["metrics"] = OF_CLASSES
    of_numbers = changed(max_duration="1ep", model={"name": "mlp", "hidden": [8]}, loss="mse",
                         train={"dataset": {"name": "friedman", "samples": 130}, "batch_size": 30, "metrics": OF_NUMBERS},
                         eval=[{"label": "test", "dataset": {"name": "friedman", "samples": 40, "split": "test"},
                                "metrics": OF_NUMBERS, "interval": "1ep", "batch_size": 9}])
    for what, run, want in (("of classes", of_classes, OF_CLASSES), ("of numbers", of_numbers, OF_NUMBERS)):
        same(tutti, folder, report, what, run, (3,))
        logged = {name for (name, _) in numbers(os.path.join(folder, f"{what}-3".replace(" ", "_")))}
        lacks = [f"metrics/{part}/{metric['name']}" for metric in want for part in ("train", "test")
                 if not any(name.startswith(f"metrics/{part}/{metric['name']}") for name in logged)]
        report.check(f"metrics {what}: all of them are logged", not lacks, f"{lacks} of {sorted(logged)}")


def algorithms(tutti, folder, report):
    """Each algorithm with others."""
    for k, some in enumerate(ALGORITHMS):
        what, size = some[0]["name"], 2 + k % 2
        same(tutti, folder, report, what, changed(algorithms=some, max_duration="8ba"), (size,))
        said = [text for text in messages(os.path.join(folder, f"{what}-{size}")) if "reads whole batches" in text]
        good = len(said) == (what in WHOLE) and all(what in text for text in said)
        report.check(f"{what}: every rank loads {'whole batches' if what in WHOLE else 'its own rows'}", good, f"{said}")


ADAM = {"name": "adamw", "lr": 0.01}


def sharded_states(tutti, folder, report):
    """Sharded optimizer state gives the bits of whole state, whoever looks at gradients, and takes its shard of memory."""
    cases = {"plain": {}, "clipped": {"algorithms": [{"name": "gradient_clipping", "clipping_type": "norm",
                                                     "clipping_threshold": 0.5}]},
             "fp16": {"precision": "amp_fp16"}, "frozen": {"algorithms": [{"name": "layer_freezing", "freeze_start": 0.1,
                                                                          "freeze_level": 0.5}]}}
    for what, more in cases.items():
        run = changed(optimizer=ADAM, max_duration="3ep", **more)
        whole = os.path.join(folder, what)
        write(whole, run)
        World(tutti, whole, 1).end()
        run["distributed"]["sharding"] = "states"
        same(tutti, folder, report, f"sharded {what}", run, (2, 3))
        text = difference(whole, os.path.join(folder, f"sharded_{what}-3"))
        report.check(f"sharded states, {what}: the bits of whole state", not text, text)


def collectives(tutti, folder, report):
    """A step waits for sums of gradients alone: what ranks tell each other goes beside them, and so do gathers of weights,
    unless a plugin may read weights between steps."""
    busy = {"clipped": {"algorithms": [{"name": "gradient_clipping", "clipping_type": "norm", "clipping_threshold": 0.5}]},
            "fp16": {"precision": "amp_fp16"}, "bf16": {"precision": "amp_bf16"}}
    for size, sharding, what in ((1, "none", ""), (2, "none", ""), (3, "none", ""), (2, "states", ""), (3, "states", ""), (9, "states", ""),
                                 (3, "gradients", ""), (2, "weights", ""), (3, "none", "clipped"), (2, "none", "fp16"),
                                 (2, "states", "fp16"), (3, "gradients", "bf16"), (2, "states", "clipped")):
        run = changed(max_duration="4ba", callbacks=[], eval=[], **busy.get(what, {}))
        run["distributed"]["sharding"] = sharding
        where = os.path.join(folder, f"{sharding}-{size}-{what}")
        write(where, run)
        status, _, err = World(tutti, where, size).end()
        step = {} if any(status) else ranks_kept(where)["last_step"]
        rounds = -(-8 // size) if sharding in ("gradients", "weights") else 1
        buckets = step.get("sums", 0) // rounds - 1  # the last sum is of buffers
        updates = buckets if sharding in ("states", "gradients") else 0  # weights, a bucket at a time
        waits = updates if what == "clipped" else 0
        report.check(f"{size} ranks, sharding {sharding} {what}: one record a step, {waits} gathers of weights block",
                     not any(status) and step["records"] == (size > 1) and step["blocking"] == waits and
                     (sharding == "weights" or step["gathers"] == updates - waits) and
                     (step["sums"] > rounds) == (size > 1) and step["sums"] % rounds == 0, f"{status} {err} {step}")
        sent = planned(tutti, where, size, ["sent by a rank in a step:"], "sent by a rank")
        report.check(f"and {sent / 2**10:.1f} KiB are sent, as tutti plan has it", size == 1 or sent > 0 and
                     abs(step.get("bytes", 0) - sent) < 0.05 * sent, f"{step}")


def machines(tutti, folder, report):
    """Ranks of a machine sum first, then machines: the bits of one rank wherever ranks are, and of two ranks a machine
    a third of the bytes cross."""
    run = changed(max_duration="4ba", eval=[])
    whole = os.path.join(folder, "whole")
    write(whole, run)
    World(tutti, whole, 1).end()
    summed = sum(len(tensor[2]) for name, tensor in final(whole).items() if name.startswith("model."))  # bytes
    for size, together, sharding in ((4, 2, "none"), (3, 2, "none"), (5, 2, "none"), (4, 3, "states"), (5, 3, "gradients"),
                                     (4, 2, "weights"), (4, 1, "none")):
        run["distributed"]["sharding"] = sharding
        run["distributed"]["comm"]["machine_ranks"] = together
        where = os.path.join(folder, f"{size}-{together}-{sharding}")
        write(where, run)
        status, _, err = World(tutti, where, size).end()
        text = f"{status} {err}" if any(status) else difference(whole, where)
        what = f"{size} ranks, {together} a machine, sharding {sharding}"
        report.check(f"{what}: the bits of one", not text, text)
        kept = {} if any(status) else ranks_kept(where)
        report.check(f"{what}: machines are counted", kept.get("machines") == -(-size // together), f"{kept}")
        if size == 4 and sharding == "none":  # to two or three other ranks, a quarter each, and of the sums as much
            crossed = kept["last_step"]["bytes_between_machines"] if kept else 0
            want = {2: 2 * summed / 4, 1: 6 * summed / 4}[together]
            report.check(f"{what}: {want:.0f} bytes cross", abs(crossed - want) < 0.05 * want, f"{crossed} {kept}")


def halves(tutti, folder, report):
    """Gradients in 16 bits on their way: the bits of one process for any number of ranks and machines, half the bytes."""
    cases = {"plain": ({}, {}, (2, 3, 4)), "more ranks than slots": ({"microbatch_size": 15}, {}, (3,)),
             "no batch norm": ({"model": {"name": "mlp", "hidden": [16]}}, {}, (3,)),
             "states": ({}, {"sharding": "states"}, (3,)), "gradients": ({}, {"sharding": "gradients"}, (2, 3)),
             "weights": ({}, {"sharding": "weights"}, (3,)), "fp16": ({"precision": "amp_fp16"}, {}, (3,)),
             "machines": ({}, {"comm": {"name": "shared_memory", "mailbox_mib": 1, "machine_ranks": 2}}, (3, 4)),
             "clipped": ({"algorithms": [{"name": "gradient_clipping", "clipping_type": "norm", "clipping_threshold": 0.5}]},
                         {"sharding": "gradients"}, (2,))}
    for what, (more, settings, sizes) in cases.items():
        run = changed(max_duration="5ba", **more)
        run["distributed"] |= {"reduce_dtype": "bf16", **settings}
        same(tutti, folder, report, f"bf16 {what}", run, sizes)
    full = os.path.join(folder, "f32")
    write(full, changed(max_duration="5ba"))
    World(tutti, full, 4).end()
    text = difference(full, os.path.join(folder, "bf16_plain-4"))
    report.check("sums in 16 bits are others than in 32", "tensors differ" in text, text)
    bytes_of = [ranks_kept(os.path.join(folder, name))["last_step"]["bytes"] for name in ("f32", "bf16_plain-4", "bf16_machines-4")]
    report.check("and take half the bytes", abs(bytes_of[1] / bytes_of[0] - 0.5) < 0.05, f"{bytes_of}")
    text = difference(os.path.join(folder, "bf16_plain-1"), os.path.join(folder, "bf16_weights-3"))
    report.check("sharded, the bits of whole gradients", not text, text)


def listens(tutti, folder, report, whole):
    """Where a callback hears after_backward, sums begin behind the pass, which explain says: the bits are the same."""
    shutil.copytree(os.path.join(os.environ["FIXTURES"], "observer"), os.path.join(folder, "plugins"))
    manifest = os.path.join(folder, "plugins/observer/plugin.json")
    with open(manifest, encoding="utf-8") as f:
        text = f.read().replace('"batch_start", ', '"batch_start", "after_backward", ')
    with open(manifest, "w", encoding="utf-8") as f:
        f.write(text)
    run = changed(max_duration="4ba", eval=[])
    run["callbacks"].append({"name": "observer", "training": False})
    write(folder, run)
    options = ["--plugin-path", os.path.join(folder, "plugins")]
    status, _, err = World(tutti, folder, 3, options).end()
    differs = f"{status} {err}" if any(status) else difference(whole, folder)
    step = {} if any(status) else ranks_kept(folder)["last_step"]
    report.check("one hears after_backward: the bits of one", not differs, differs)
    report.check("and sums begin behind the backward pass", step.get("overlapped") == 0 < step.get("sums", 0), f"{step}")
    out = subprocess.run([tutti, "explain", "run.json", *options], cwd=folder, capture_output=True, text=True, check=False).stdout
    want = "gradients: summed over the ranks when the last backward pass is over: observer hears after_backward\n"
    report.check("explain says who", want in out, out)


def syncs(tutti, folder, report):
    """Sums behind the last microbatch, behind its pass, or of each one: the same bits, as often as the setting says."""
    want = {"single_auto_sync": "while the last backward pass runs", "multi_auto_sync": "while each backward pass runs",
            "forced_sync": "when the last backward pass is over: sync is forced_sync"}
    whole, sums = os.path.join(folder, "whole"), {}
    run = changed(max_duration="4ba", eval=[])
    write(whole, run)
    World(tutti, whole, 1).end()
    for sync, text in want.items():
        for sharding in ("none", "states", "weights") if sync != "single_auto_sync" else ("none",):
            run["distributed"] |= {"sync": sync, "sharding": sharding}
            where = os.path.join(folder, f"{sync}-{sharding}")
            write(where, run)
            status, _, err = World(tutti, where, 3).end()
            differs = f"{status} {err}" if any(status) else difference(whole, where)
            report.check(f"{sync}, sharding {sharding}: the bits of one", not differs, differs)
            said = messages(where)
            report.check("and nobody is said to read gradients", not any("may read gradients" in line for line in said), f"{said}")
            step = {} if any(status) else ranks_kept(where)["last_step"]
            sums[sync, sharding] = step.get("sums", 0)
            early = step.get("overlapped", -1)
            report.check("sums begin while the backward pass runs" if sync != "forced_sync" else "sums begin behind the backward pass",
                         0 < early <= step["sums"] if sync != "forced_sync" else early == 0, f"{step}")
        run["distributed"]["sharding"] = "none"
        write(folder, run)
        out = subprocess.run([tutti, "explain", "run.json"], cwd=folder, capture_output=True, text=True, check=False).stdout
        report.check(f"explain says when: {text}", f"gradients: summed over the ranks {text}\n" in out, out)
    single = sums["single_auto_sync", "none"]
    listens(tutti, os.path.join(folder, "listens"), report, whole)
    report.check("each of three rounds of microbatches is summed", sums["multi_auto_sync", "none"] == 3 * single > 0 and
                 sums["forced_sync", "none"] == single, f"{sums}")


def buckets(tutti, folder, report):
    """Where the run file does not say how large buckets are, a model of 1 MiB has some, whose sums begin while the backward pass
    runs; they fit gradients that become fewer, except where shards are there: the bits of one bucket."""
    frozen = [{"name": "layer_freezing", "freeze_start": 0.25, "freeze_level": 1.0}]
    for what, algorithms, sharding in (("plain", [], "none"), ("frozen", frozen, "none"), ("frozen", frozen, "states")):
        steps = []
        for mib in (4, None):
            run = changed(max_duration="2ep", eval=[], model={"name": "mlp", "hidden": [256, 256]}, algorithms=algorithms)
            run["distributed"] |= {"bucket_mib": mib, "sharding": sharding}
            if mib is None:
                del run["distributed"]["bucket_mib"]
            where = os.path.join(folder, f"{what}-{sharding}-{mib}")
            write(where, run)
            status, _, err = World(tutti, where, 3).end()
            report.check(f"{what}, {sharding}, bucket_mib {mib}: it trains", not any(status), f"{status} {err}")
            steps.append(ranks_kept(where)["last_step"])
        text = difference(os.path.join(folder, f"{what}-{sharding}-4"), where)
        report.check("the bits of one bucket", not text, text)
        few, many = steps
        report.check("in several buckets, some of them early", few["sums"] < many["sums"] and few["overlapped"] < many["overlapped"],
                     f"{few}, {many}")


def buffers(tutti, folder, report):
    """Running statistics of the first microbatch alone: the bits of one for any number of ranks, and those of a run whose
    batch has nothing else."""
    run = changed(max_duration="4ba")
    run["distributed"]["buffers"] = "first"
    same(tutti, folder, report, "first", run, (2, 3))
    run["distributed"]["sharding"] = "gradients"
    same(tutti, folder, report, "first sharded", run, (3,))
    text = difference(os.path.join(folder, "first-1"), os.path.join(folder, "first_sharded-3"))
    report.check("sharded, the same", not text, text)
    statistics = {}
    for rule, size, batch in (("first", 2, 30), ("average", 2, 30), ("average", 1, 4)):
        run = changed(max_duration="1ba", eval=[])
        run["train"] |= {"batch_size": batch, "shuffle": False}
        run["distributed"]["buffers"] = rule
        where = os.path.join(folder, f"{rule}-{size}-{batch}")
        write(where, run)
        World(tutti, where, size).end()
        statistics[rule, batch] = {name: tensor for name, tensor in final(where).items() if "running" in name}
    report.check("those of the first microbatch", statistics["first", 30] == statistics["average", 4] and statistics["average", 4],
                 f"{list(statistics['average', 4])}")
    report.check("the mean of all is another", statistics["first", 30] != statistics["average", 30])


SHARDED = {"plain": ({}, ""),
           "more ranks than slots": ({"microbatch_size": 15}, ""),
           "bf16": ({"precision": "amp_bf16"}, ""),
           "fp16": ({"precision": "amp_fp16"}, "the loss scale"),
           "clipped": ({"algorithms": [{"name": "gradient_clipping", "clipping_type": "norm", "clipping_threshold": 0.5}]},
                       "gradient_clipping"),
           "frozen": ({"algorithms": [{"name": "layer_freezing", "freeze_start": 0.1, "freeze_level": 0.5}]}, "layer_freezing"),
           "sam": ({"algorithms": [{"name": "sam"}]}, "sam"),
           "mixed": ({"algorithms": [{"name": "mixup"}, {"name": "blurpool"}, {"name": "label_smoothing"}]}, ""),
           "chosen rows": ({"algorithms": [{"name": "selective_backprop", "start": 0.0, "end": 1.0}]}, ""),
           "penalty": ({"algorithms": [{"name": "gradient_penalty"}]}, "")}


def sharded_gradients(tutti, folder, report):
    """Sharded gradients, whose slots come in rounds, give the bits of whole gradients in every world; who reads them gets
    all of them, which is said."""
    for what, (more, reader) in {**SHARDED, "deep bf16": ({"model": WIDE, "precision": "amp_bf16"}, "")}.items():
        run = changed(optimizer=ADAM, max_duration="7ba", **more)
        if "deep" in what:  # with weights that stay packed from slot to slot, and are gathered beside the first one
            run["distributed"]["bucket_mib"] = 0.25
        whole = os.path.join(folder, what.replace(" ", "_"))
        write(whole, run)
        World(tutti, whole, 1).end()
        run["distributed"]["sharding"] = "gradients"
        for size in (1, 2, 3, 4) if what == "plain" else (3,):
            where = os.path.join(folder, f"{what}-{size}".replace(" ", "_"))
            write(where, run)
            status, _, err = World(tutti, where, size).end()
            text = f"{status} {err}" if any(status) else difference(whole, where)
            report.check(f"gradients in {size} shards, {what}: the bits of whole ones", not text, text)
            said = [text for text in messages(where) if "gradients" in text]
            want = "" if size == 1 else f"{reader} may read gradients, so every rank keeps all of them, as without " \
                "\"sharding\": \"gradients\"" if reader else "bytes of gradients are on this rank"
            report.check(f"{what}, {size} ranks: {want or 'nothing'} is said once", len(said) == bool(want) and
                         all(text.endswith(want) for text in said), f"{said}")


SELDOM = [{"name": "checkpoint_saver", "interval": "7ba"}]


def sharded_weights(tutti, folder, report):
    """Sharded weights, gathered where they are read, give the bits of whole ones in every world, also where nothing between
    batches makes them whole."""
    for what, (more, reader) in {**SHARDED, "deep": ({"model": WIDE}, ""),
                                 "deep bf16": ({"model": WIDE, "precision": "amp_bf16"}, "")}.items():
        run = changed(optimizer=ADAM, max_duration="7ba", callbacks=SELDOM, **more)
        run["eval"][0]["interval"] = "7ba"
        if "deep" in what:
            run["distributed"]["bucket_mib"] = 0.25
        whole = os.path.join(folder, what.replace(" ", "_"))
        write(whole, run)
        World(tutti, whole, 1).end()
        run["distributed"]["sharding"] = "weights"
        for size in (2, 3, 4) if what in ("plain", "deep") else (3,):
            where = os.path.join(folder, f"{what}-{size}".replace(" ", "_"))
            write(where, run)
            status, _, err = World(tutti, where, size).end()
            text = f"{status} {err}" if any(status) else difference(whole, where)
            report.check(f"weights in {size} shards, {what}: the bits of whole ones", not text, text)
            said = [text for text in messages(where) if "may read gradients" in text]
            report.check(f"{what}, {size} ranks: who reads is said", len(said) == bool(reader) and
                         all(text.startswith(reader) and text.endswith('"sharding": "weights"') for text in said), f"{said}")


def uneven_weights(tutti, folder, report):
    """Plans of smaller last microbatches, whose steps come in another order, keep the order of gathers and sums; the last batch of
    an epoch has another size again."""
    with open(os.path.join(folder, "corpus.txt"), "w", encoding="utf-8") as f:
        f.write("".join(f"the quick brown fox {k * k} jumps over the lazy dog. " for k in range(400)))
    llama = {"name": "llama", "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 2, "hidden_size": 32,
             "intermediate_size": 64}
    text = {"dataset": {"name": "text", "path": "../corpus.txt", "length": 32}, "workers": 1, "drop_last": False}
    for what, batch, microbatch, more in (("cnn", 9, 8, {"model": {"name": "cnn", "channels": [16, 32, 64]}}),
                                          ("llama", 65, 32, {"model": llama, "train": text})):
        run = changed(microbatch_size=microbatch, optimizer=ADAM, max_duration="2ep", eval=[], callbacks=SELDOM, **more)
        run["train"]["batch_size"] = batch
        if what == "cnn":
            run["train"]["dataset"]["samples"] = 33
        run["distributed"].update(sharding="weights", bucket_mib=0.001)
        same(tutti, folder, report, what, run, (2, 3))


def late_reader(tutti, folder, report):
    """Who wants gradients without having said so gets one sentence where they are sharded, and gets them elsewhere."""
    options = ["--plugin-path", os.path.join(os.environ["FIXTURES"], "observer")]
    text = "gradients are divided among the processes since nobody asked for them; want a plugin that asks for " \
           "tutti.weights/1 when it opens, or \"sharding\": \"none\" of \"distributed\""
    for sharding, more, size in (("gradients", [], 2), ("states", [], 2), ("gradients", [], 1), ("none", [], 2),
                                 ("gradients", [{"name": "lr_monitor"}], 2)):
        run = changed(max_duration="2ba")
        run["callbacks"] += [{"name": "observer", "spans": True}, *more]
        run["distributed"]["sharding"] = sharding
        where = os.path.join(folder, f"{sharding}-{len(more)}-{size}")
        write(where, run)
        status, _, err = World(tutti, where, size, options).end()
        refused = size > 1 and not more and sharding != "none"
        report.check(f"a late reader, {sharding} on {size} ranks, {len(more)} others: {'refused' if refused else 'served'}",
                     all(status) and text in err[0] if refused else not any(status), f"{status} {err}")


def late_weights(tutti, folder, report):
    """Who wants weights between two steps without having said so gets one sentence where others have updated them, and gets
    them elsewhere; a logger, which one process alone has, gets a forward pass."""
    options = ["--plugin-path", os.path.join(os.environ["FIXTURES"], "late")]
    for sharding, service, early, more in (
            ("states", "tutti.module/1", False, {}), ("gradients", "tutti.module/1", False, {}), ("weights", "tutti.module/1", False, {}),
            ("none", "tutti.module/1", False, {}), ("states", "tutti.export/1", False, {}), ("weights", "tutti.export/1", False, {}),
            ("states", "tutti.export/1", True, {}), ("none", "tutti.export/1", False, {}),
            ("states", "tutti.weights/1", False, {"precision": "amp_fp16"}), ("states", "tutti.weights/1", True, {})):
        run = changed(max_duration="2ba", eval=[], callbacks=[{"name": "late", "service": service, "early": early}], **more)
        run["distributed"]["sharding"] = sharding
        where = os.path.join(folder, f"{sharding}-{service.replace('/', '-')}-{early}")
        write(where, run)
        status, _, err = World(tutti, where, 2, options).end()
        refused = sharding != "none" and not early
        asks = service if service == "tutti.export/1" else "tutti.weights/1"
        text = "weights are divided among the processes since nobody asked for them; want a plugin that asks for " \
               f"{asks} when it opens, or \"sharding\": \"none\" of \"distributed\""
        report.check(f"a late {service}, {sharding}, asked for early {early}: {'refused' if refused else 'served'}",
                     all(status) and text in err[0] if refused else not any(status), f"{status} {err}")
    for sharding in ("states", "gradients"):  # each rank has all buffers
        run = changed(max_duration="2ba", eval=[], callbacks=[{"name": "late", "service": "tutti.module/1", "layer": "batch_norm2d", "weight": "running_mean"}])
        run["distributed"]["sharding"] = sharding
        where = os.path.join(folder, f"{sharding}-buffer")
        write(where, run)
        status, _, err = World(tutti, where, 2, options).end()
        report.check(f"a late buffer, {sharding}: served", not any(status), f"{status} {err}")
    for sharding, batch in (("states", 3), ("states", 1), ("weights", 3), ("weights", 1)):  # of four, from 0
        run = changed(max_duration="1ep", eval=[], callbacks=[])
        run["loggers"].append({"name": "late", "batch": batch})
        run["distributed"] |= {"sharding": sharding, "timeout_s": 20}
        where = os.path.join(folder, f"{sharding}-{batch}")
        write(where, run)
        status, _, err = World(tutti, where, 2, options).end()
        refused = "want a logger that asks for tutti.train/1 when it opens" in err[0]
        report.check(f"{sharding}: a logger that asks at batch {batch} is {'refused' if batch == 3 else 'served'} behind the last one",
                     all(status) and refused if batch == 3 else not any(status), f"{status} {err}")
    for sharding in ("states", "gradients", "weights"):
        whole, where = (os.path.join(folder, f"{sharding}-{name}") for name in ("whole", "logger"))
        run = changed(eval=[])
        write(whole, run)
        World(tutti, whole, 1).end()
        run["loggers"].append({"name": "late"})
        run["distributed"] |= {"sharding": sharding, "timeout_s": 20}
        write(where, run)
        status, _, err = World(tutti, where, 2, options).end()
        text = f"{status} {err}" if any(status) else difference(whole, where)
        report.check(f"{sharding}: a logger runs the model forward, and the bits are those of one process", not text, text)


def late_activations(tutti, folder, report):
    """Who asks for activations only once weights are sharded gets one sentence, elsewhere the activations; one that asks
    when it opens gets those of whole weights."""
    options = ["--plugin-path", os.path.join(os.environ["FIXTURES"], "observer")]
    text = "weights are divided among the processes since nobody asked for them; want a plugin that asks for " \
           "tutti.activations/1 when it opens, or \"sharding\": \"gradients\" of \"distributed\""
    for sharding in ("gradients", "weights"):
        run = changed(max_duration="2ba", eval=[], callbacks=[{"name": "observer", "training": False, "activations": True}])
        run["distributed"]["sharding"] = sharding
        where = os.path.join(folder, sharding)
        write(where, run)
        status, _, err = World(tutti, where, 2, options).end()
        report.check(f"late activations, {sharding}: {'refused' if sharding == 'weights' else 'served'}",
                     all(status) and text in err[0] if sharding == "weights" else not any(status), f"{status} {err}")
    kept = []
    for sharding in ("none", "weights"):
        run = changed(max_duration="3ba", eval=[])
        run["callbacks"].append({"name": "activation_monitor", "interval": "1ba"})
        run["distributed"]["sharding"] = sharding
        where = os.path.join(folder, f"early-{sharding}")
        write(where, run)
        World(tutti, where, 3).end()
        with open(os.path.join(where, "runs/ranks/log.jsonl"), encoding="utf-8") as f:
            kept.append([(row["batch"], name, value) for row in map(json.loads, f) if row["kind"] == "metrics"
                         for name, value in row["values"].items() if name.startswith("activations/")])
    report.check("activations are those of whole weights", kept[0] == kept[1] != [], f"{kept[0][:3]} {kept[1][:3]}")


WIDE = {"name": "mlp", "hidden": [256] * 8}
DEEP = {"name": "mlp", "hidden": [512] * 64}
BROAD = {"name": "mlp", "hidden": [1024] * 32}
NARROW = {"name": "mlp", "hidden": [4] * 32}  # as many layers, next to no weights
DEEP_LAYER = 4 * 512 * 512  # bytes of a layer's weights


def peaks(world, batches):
    """The most memory in bytes of each rank while some batches go on, the first two over."""
    world.wait_for_loss(2)
    for process in world.ranks:
        with open(f"/proc/{process.pid}/clear_refs", "w", encoding="ascii") as f:
            f.write("5")  # the peak begins anew
    world.wait_for_loss(world.last_loss() + batches)
    found = []
    for process in world.ranks:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
            found += [1024 * int(line.split()[1]) for line in f if line.startswith("VmHWM:")]
        process.terminate()
    world.end()
    return found


def is_near(saved, formula):
    """Within 5 %, and a layer that is on its way between ranks, which no forecast has."""
    return formula > 0 and abs(saved - formula) < 0.05 * formula + DEEP_LAYER


def planned(tutti, where, size, names, head="memory of a rank"):
    """The bytes that `tutti plan --world` has for a rank under these names, in the line that begins so."""
    plan = subprocess.run([tutti, "plan", "run.json", "--world", str(size)], cwd=where, capture_output=True, text=True, check=False).stdout
    line = next((line for line in plan.splitlines() if line.startswith(head)), "nothing: 0 B: ?")
    return sum(scaled(line, name) for name in names)


def states_memory(tutti, folder, report):
    """A rank of W keeps a W-th of the optimizer's state: what a process has less, and has in all beside what it has with
    narrow layers, is as tutti plan has it."""
    for size in (2, 4):
        have, want = {}, {}
        for what, sharding, model in (("bare", "states", NARROW), ("none", "none", BROAD), ("states", "states", BROAD)):
            where = os.path.join(folder, f"{what}-{size}")
            run = changed(optimizer=ADAM, max_duration="1000ba", model=model, callbacks=[], eval=[])
            run["train"]["batch_size"] = 4 * size
            run["distributed"].update(sharding=sharding, bucket_mib=0.25)
            write(where, run)
            want[what] = planned(tutti, where, size, ("optimizer state",))
            have[what] = max(peaks(World(tutti, where, size), 2))
            if what != "bare":
                own, whole = have[what] - have["bare"], planned(tutti, where, size, ("memory of a rank:",))
                report.check(f"a rank of {size}, sharding {sharding}, takes {own / 2**20:.1f} MiB, as the formula has it",
                             whole > 0 and abs(own - whole) < 0.05 * whole, f"{whole / 2**20:.1f} MiB")
        saved, formula = have["none"] - have["states"], want["none"] - want["states"]
        report.check(f"a rank of {size} has {formula / 2**20:.1f} MiB less of states, as the formula has it",
                     formula > 0 and abs(saved - formula) < 0.05 * formula, f"{saved / 2**20:.1f} MiB, of {have}, {want}")


def shards_memory(tutti, folder, report):
    """A rank of W keeps a W-th of the gradients, while it computes them too: what that saves is as tutti plan has it."""
    for size, slots in ((4, 4), (2, 8)):
        have, want = {}, {}
        for sharding in ("states", "gradients", "weights"):
            where = os.path.join(folder, f"{sharding}-{size}-{slots}")
            run = changed(optimizer={"name": "sgd", "lr": 0.01}, max_duration="1000ba", model=DEEP, callbacks=[], eval=[])
            run["train"]["batch_size"] = 4 * slots
            run["distributed"].update(sharding=sharding, bucket_mib=0.25)
            write(where, run)
            want[sharding] = planned(tutti, where, size, ("weights", "gradients", "sums of slots"))
            have[sharding] = max(peaks(World(tutti, where, size), 4))
            said = [text for text in messages(where) if "of gradients are on this rank" in text]
            report.check(f"{sharding}, {slots} slots on {size} ranks: shards are told", len(said) == (sharding != "states"),
                         f"{said}")
        saved, formula = have["states"] - have["gradients"], want["states"] - want["gradients"]
        report.check(f"{slots} slots on {size} ranks save {formula / 2**20:.1f} MiB, as the formula has it",
                     is_near(saved, formula), f"{saved / 2**20:.1f} MiB, of {have}, {want}")
        saved, formula = have["gradients"] - have["weights"], want["gradients"] - want["weights"]
        report.check(f"{slots} slots on {size} ranks: sharded weights save {formula / 2**20:.1f} MiB, as the formula has it",
                     is_near(saved, formula), f"{saved / 2**20:.1f} MiB, of {have}, {want}")
        here, whole = (int(said[0].split()[k]) for k in (0, 2)) if said else (0, 0)
        waiting = {4: 0, 8: 2}[slots]  # sums between rounds
        report.check(f"{slots} slots on {size} ranks: what is there behind a batch is a shard",
                     whole > 0 and abs(here - whole * (1 + waiting) / size) < 0.05 * here, f"{said}")


def scaled(line, name):
    """Bytes that a line of a forecast has behind a name."""
    found = re.search(name + r" ([0-9.]+) ([KMG]i)?B", line)
    return float(found[1]) * 1024 ** " KMG".index((found[2] or " ")[0]) if found else 0.0


def shards_resume(tutti, folder, report):
    """Sharded state is saved and taken up again by any number of ranks, sharded or whole."""
    run = changed(optimizer=ADAM, max_duration="4ep")
    whole, parts = os.path.join(folder, "whole"), os.path.join(folder, "parts")
    write(whole, run)
    write(parts, run)
    World(tutti, whole, 1).end()
    for size, until, sharding in ((3, "1ep", "gradients"), (1, "2ep", "none"), (4, "3ep", "weights"), (2, "4ep", "gradients")):
        options = ["--resume", "auto", "--set", f"max_duration={until}", "--set", f"distributed.sharding={sharding}"]
        status, _, err = World(tutti, parts, size, options).end()
        report.check(f"{size} ranks go on with {sharding}", not any(status), f"{status} {err}")
    text = difference(whole, parts)
    report.check("and all end with the bits of one", not text, text)


def memory(tutti, folder, report):
    """A rank of W keeps a W-th of the state: two numbers a weight with Adam."""
    for size in (2, 3):
        where = os.path.join(folder, str(size))
        run = changed(optimizer=ADAM, max_duration="1ba", model={"name": "mlp", "hidden": [256, 256]})
        run["distributed"].update(sharding="states", bucket_mib=1)
        write(where, run)
        World(tutti, where, size).end()
        said = [text for text in messages(where) if "of optimizer state" in text]
        weights = sum(len(tensor[2]) for name, tensor in final(where).items() if name.startswith("model."))
        have = int(said[0].split()[0]) if said else 0
        want = 2 * weights / size
        report.check(f"{size} ranks keep a shard of the state each", abs(have - want) < 0.05 * want, f"{said}, want {want}")


WEIGHT_BY_WEIGHT = [{"name": "lamb", "lr": 0.01}, {"name": "lars", "lr": 0.5, "momentum": 0.9, "weight_decay": 0.001},
                    {"name": "adafactor"}, {"name": "muon", "lr": 0.01}]


def whole_weights(tutti, folder, report):
    """Optimizers that look at a whole weight give the same bits in every world, and refuse one that cuts weights."""
    for optimizer in WEIGHT_BY_WEIGHT:
        run = changed(optimizer=optimizer, max_duration="6ba")
        same(tutti, folder, report, optimizer["name"], run, (3,))
        for sharding in ("states", "gradients"):
            run["distributed"]["sharding"] = sharding
            cut = os.path.join(folder, f"{optimizer['name']}-{sharding}")
            write(cut, run)
            status, _, err = World(tutti, cut, 2).end()
            text = f"optimizer {optimizer['name']} updates whole weights, which \"sharding\": \"{sharding}\" of " \
                   "\"distributed\" cuts among the processes; want \"sharding\": \"none\""
            report.check(f"{optimizer['name']}: {sharding} cuts weights and is refused", all(status) and text in err[0],
                         f"{status} {err}")


GROUPS = {"name": "muon", "lr": 0.01, "groups": [{"match": "*norm*", "frozen": True}, {"match": "*bias", "name": "sgd", "lr": 0.05},
                                                   {"match": "*conv*", "name": "adafactor", "lr": 0.02}]}


def groups_resume(tutti, folder, report):
    """Groups with other optimizers, or frozen, go on at any number of ranks with the bits of one."""
    run = changed(optimizer=GROUPS, max_duration="3ep")
    whole, parts = os.path.join(folder, "whole"), os.path.join(folder, "parts")
    write(whole, run)
    write(parts, run)
    World(tutti, whole, 1).end()
    for size, until in ((2, "1ep"), (1, "2ep"), (3, "3ep")):
        status, _, err = World(tutti, parts, size, ["--resume", "auto", "--set", f"max_duration={until}"]).end()
        report.check(f"{size} ranks go on with groups", not any(status), f"{status} {err}")
    text = difference(whole, parts)
    report.check("and all end with the bits of one", not text, text)
    state = {name.split(".")[1] for name in final(whole) if name.startswith("optimizer.")}
    report.check("each weight has the state of its optimizer", state == {"momentum_buffer", "row_var", "col_var"},
                 f"{state}")


def explained(tutti, folder, report):
    """tutti explain says who may make every rank load whole batches, and when gradients are summed."""
    for algorithm, ends in (
            ("selective_backprop", ("reads a batch: selective_backprop (after_dataloader)", "while the last backward pass runs")),
            ("gradient_penalty", ("those of its own slots", "when the last backward pass is over: gradient_penalty adds to them"))):
        write(folder, changed(algorithms=[{"name": algorithm}, {"name": "mixup"}]))
        out = subprocess.run([tutti, "explain", "run.json"], cwd=folder, capture_output=True, text=True, check=False).stdout
        lines = [line for line in out.splitlines() if line.startswith(("rows of a batch:", "gradients:"))]
        good = len(lines) == 2 and all(line.endswith(end) for line, end in zip(lines, ends))
        report.check(f"explain says what {algorithm} needs of the ranks", good, out)
    for more, want in ([], "its shard of them"), ([{"name": "sam"}], "all of them, which sam may read"):
        run = changed(algorithms=more)
        run["distributed"]["sharding"] = "gradients"
        write(folder, run)
        out = subprocess.run([tutti, "explain", "run.json"], cwd=folder, capture_output=True, text=True, check=False).stdout
        report.check(f"and how much of the gradients a rank keeps: {want}", f"gradients on a rank: {want}\n" in out, out)
    for more, want in (({}, "while the next forward pass runs"), ({"algorithms": [{"name": "sam"}]}, "when the update is over: sam may read them"),
                       ({"callbacks": [{"name": "export_for_inference", "save_path": "x.onnx"}]},
                        "when the update is over: export_for_inference may read them"),
                       ({"algorithms": [{"name": "gradient_penalty"}]}, "when the update is over: gradient_penalty adds to the gradients"),
                       ({"handlers": [{"on": "epoch_end", "call": "ranker.where", "rank": 0}]},
                        "when the update is over: a handler of one rank may read them"),
                       ({"batch_norm": "world"}, "when the update is over: batch_norm is world")):
        run = changed(**{key: value for key, value in more.items() if key != "batch_norm"})
        run["distributed"] |= {"sharding": "states", "batch_norm": more.get("batch_norm", "slot")}
        write(folder, run)
        out = subprocess.run([tutti, "explain", "run.json", "--plugin-path", os.path.join(os.environ["FIXTURES"], "ranker")], cwd=folder,
                             capture_output=True, text=True, check=False).stdout
        report.check(f"and when updated weights are gathered: {want}", f"weights: gathered over the ranks {want}\n" in out, out)


def observers(tutti, folder, report):
    """A callback that reads columns, outputs and losses sees all of them on every rank, whoever computes."""
    options = ["--plugin-path", os.path.join(os.environ["FIXTURES"], "observer")]
    for training in (True, False):
        run = changed(max_duration="2ep")
        run["callbacks"].append({"name": "observer", "training": training})
        same(tutti, folder, report, f"observer training {training}", run, (3,), options)
        said = [text for text in messages(os.path.join(folder, f"observer_training_{training}-3")) if "observer reads" in text]
        report.check(f"which is said once where it is so: {training}", len(said) == training, f"{said}")


def predictions(tutti, folder, report):
    """Ranks predict batches in turn; rank 0 writes what one process writes, and plugins see all outputs on every rank."""
    run = changed(max_duration="2ba")
    trained = os.path.join(folder, "trained")
    write(trained, run)
    World(tutti, trained, 1).end()
    weights = os.path.join(trained, "runs/ranks/checkpoints/latest.safetensors")
    alone = {key: value for key, value in run.items() if key != "distributed"}
    alone["callbacks"] = run["callbacks"] = [{"name": "observer"}]
    options = ["--checkpoint", weights, "--output", "out.csv", "--plugin-path", os.path.join(os.environ["FIXTURES"], "observer")]
    files, notes = {}, {}
    for size in (0, 1, 2, 3, 5, 7):  # 0: without "distributed"; there are 5 batches of 9 and 4
        where = os.path.join(folder, str(size))
        run["distributed"]["sharding"] = "weights" if size == 3 else "none"
        write(where, run if size else alone)
        os.environ["OBSERVER_NOTES"] = os.path.join(where, "notes")
        status, out, err = World(tutti, where, max(1, size), options, command="predict").end()
        del os.environ["OBSERVER_NOTES"]
        report.check(f"{size} ranks predict, and one says so", not any(status) and out[0] == "40 predictions\n" and not any(out[1:]),
                     f"{status} {out} {err}")
        for kept, name in (files, "out.csv"), (notes, "notes"):
            path = os.path.join(where, name)
            with open(path, encoding="utf-8") if os.path.exists(path) else open(os.devnull, encoding="utf-8") as f:
                kept[size] = f.read()
        report.check(f"{size} ranks: the file of one process", files[size] == files[0] != "", f"{len(files[size])} bytes")
        report.check(f"{size} ranks: a plugin sees what it sees in one process", notes[size] == notes[0] * max(1, size) != "", f"{notes}")
    full = os.path.join(folder, "full")
    write(full, run)
    options[3] = "/dev/full/out.csv"
    status, _, err = World(tutti, full, 2, options, command="predict").end()
    report.check("a file that cannot be made ends all ranks", all(status) and "/dev/full/out.csv" in err[0], f"{status} {err}")


def full_disk(tutti, folder, report):
    """Rank 0's disk is full midway through predictions, or behind the last: one sentence, all end, and nothing stays."""
    library = os.path.join(os.path.dirname(tutti), "tests/campaigns/faults/io_faults.so")
    if not os.path.exists(library):
        report.skip("a disk that is full: this build has no io_faults (x86-64 alone has it)")
        return
    run = changed(max_duration="1ba")
    run["eval"][0]["dataset"]["samples"] = 400  # some 40 KB of text
    trained = os.path.join(folder, "trained")
    write(trained, run)
    World(tutti, trained, 1).end()
    options = ["--checkpoint", os.path.join(trained, "runs/ranks/checkpoints/latest.safetensors"), "--output"]
    for size, samples, name in ((1, 400, "out.csv"), (2, 400, "out.csv"), (3, 400, "out.npy"), (5, 400, "out.jsonl"),
                                (2, 9, "out.csv"), (3, 20, "out.npy")):  # the last two fit into the buffer until the file is closed
        where = os.path.join(folder, f"{size}-{samples}")
        write(where, run)
        limited = [*options, name, "--set", f"eval.0.dataset.samples={samples}"]
        full = {"LD_PRELOAD": library, "OMP_WAIT_POLICY": "passive",  # the program does not start itself again
                "TUTTI_FAULTS": f"each {errno.ENOSPC} write /{name}.part",
                "TUTTI_FAULTS_FILE": os.path.join(folder, "faults.txt")}
        status, out, err = World(tutti, where, size, limited, command="predict", env={0: full}).end(60)
        ends = all(status) if samples == 400 else status[0] != 0
        report.check(f"{size} ranks, {samples} rows: a full disk ends all ranks", ends and set(status) <= {0, 1} and not any(out), f"{status} {out}")
        report.check("rank 0 says so in one sentence, nobody else",
                     err[0] == f"tutti: {name}: No space left on device\n" and not any(err[1:]), f"{err}")
        report.check("and nothing stays", sorted(os.listdir(where)) == ["run.json"], f"{os.listdir(where)}")


def own_order(tutti, folder, report):
    """A data set that gives the order of its epochs, and parts of them, gives batches the same samples in every world."""
    where = os.path.join(folder, "set")
    write_shards(where, [31, 40, 12, 40])
    run = changed(max_duration="3ep", eval=[], model={"name": "mlp", "hidden": [16]})
    run["train"] = {"dataset": {"name": "mds", "path": where, "classes": 10, "shuffle_algo": "py1br", "shuffle_block_size": 50,
                                "num_canonical_nodes": 3, "repeat": [0.8]}, "batch_size": 30, "drop_last": False}
    same(tutti, folder, report, "own order", run, (3,))


def samplers(tutti, folder, report):
    """Draws by class are those of one process."""
    run = changed(max_duration="2ep", eval=[], model={"name": "mlp", "hidden": [16]})
    run["train"] |= {"sampler": {"name": "class_balanced", "samples": 90}}
    same(tutti, folder, report, "sampler", run, (3,))


if __name__ == "__main__":
    sys.exit(main([plain, precisions, caches, metrics, algorithms, collectives, machines, halves, syncs, buckets, buffers, sharded_states, shards_resume, memory, sharded_gradients, sharded_weights, uneven_weights, late_reader, late_weights, late_activations, states_memory, shards_memory, whole_weights, groups_resume, explained, observers, predictions,
                   full_disk, own_order, samplers]))
