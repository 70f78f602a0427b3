"""schema_test.py - the schemas and the host agree on run files and engine files: schema_test.py TUTTI."""
# SPDX-License-Identifier: Apache-2.0
import copy
import glob
import json
import os
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: python3 has no jsonschema 4")
    sys.exit(77)

GOOD = {
    "name": "all",
    "seed": 5,
    "model": {"name": "mlp", "hidden": [8]},
    "loss": {"name": "smooth_l1", "beta": 0.5, "reduction": "sum"},
    "train": {
        "dataset": {"name": "glyphs", "samples": 64},
        "transforms": [{"name": "normalize", "mean": [0.1], "std": [0.3]}],
        "metrics": [{"name": "accuracy"}],
        "batch_size": 16, "subset_num_batches": 2, "workers": 1, "prefetch": 2,
        "shuffle": True, "drop_last": True, "resident": "auto", "x-note": "mine",
        "sampler": {"name": "class_balanced", "column": "target", "replacement": True, "samples": 32},
    },
    "eval": [{"dataset": {"name": "glyphs", "samples": 16}, "label": "test", "interval": "1ep", "microbatch_size": "auto", "generate": {"max_new_tokens": 8, "stop": "\n"},
              "transforms": [{"name": "normalize", "mean": [0.1], "std": [0.3]}]}],
    "optimizer": {"name": "sgd", "lr": 0.1, "groups": [{"match": "*.bias", "weight_decay": 0, "frozen": False}, {"match": "embed*", "name": "adamw", "lr": 0.1}]},
    "schedulers": [{"name": "constant"}],
    "algorithms": [{"name": "mixup", "id": "mix"}],
    "callbacks": [{"name": "lr_monitor"}],
    "loggers": [{"name": "console"}],
    "passes": [],
    "order": "upstream",
    "traces": [{"file": "traces.txt", "format": "lines", "all": False}],
    "profiler": {"schedule": {"wait": 1, "repeat": 0}, "folder": "t", "sys_prof_memory": True},
    "handlers": [{"on": ["batch_end", {"event": "started", "once": [1]}], "every": 2, "after": 0,
                  "call": "demo.note", "args": ["loss/train/total", 0.5], "on_error": "ignore", "rank": 0}],
    "max_duration": "1h30m",
    "iteration_length": "2ep",
    "step_schedulers_every_batch": False,
    "precision": "fp32",
    "recompute": "full",
    "on_nonfinite": "warn",
    "deterministic": "anywhere",
    "device": "cpu",
    "distributed": {"comm": {"name": "shared_memory", "mailbox_mib": 2}, "device_comm": {"name": "nccl", "library": "libnccl.so.2"}, "join_timeout_s": 10, "timeout_s": 20.5,
                    "bucket_mib": 2, "reduce_dtype": "bf16", "sync": "multi_auto_sync", "buffers": "first", "batch_norm": "slot"},
    "threads": 1,
    "watchdog_s": 2.5,
    "microbatch_size": 8,
    "scale_schedule_ratio": 0.5,
    "load_weights": "weights.safetensors", "load_strict": False, "load_ignore_keys": ["model.fc", "optimizer.*"],
    "load_exclude_algorithms": ["blurpool"], "save_on": ["hup", "usr1", "usr2"],
    "x-anything": {"goes": 1},
}

# What a schema and the host both see: a path, and the value there instead (None: nothing).
CHANGES = [
    ("watchdog_s", -1), ("watchdog_s", "5"), ("watchdog_s", 1e7), ("name", "a/b"), ("name", ""), ("name", 3), ("seed", -1), ("seed", 1.5), ("seed", "1"),
    ("model", None), ("model", []), ("model.name", None), ("model.name", 1), ("model.id", ""),
    ("train", None), ("train", "x"), ("train.dataset", None), ("train.dataset", "glyphs"),
    ("train.transforms", {}), ("train.metrics", "accuracy"), ("train.batch_size", 0),
    ("train.batch_size", 16777217), ("train.batch_size", "16"), ("train.workers", 0),
    ("train.workers", 257), ("train.prefetch", 0), ("train.shuffle", 1), ("train.drop_last", "no"),
    ("train.resident", "yes"), ("train.resident", 1), ("eval.0.resident", "no"),
    ("train.sampler", "weighted"), ("train.sampler.name", "by_weight"), ("train.sampler.name", None), ("train.sampler.samples", 0),
    ("train.sampler.replacement", 1), ("train.sampler.column", ""), ("train.sampler.weight", "x"), ("eval.0.sampler", {"name": "by_length"}),
    ("train.shuffle", {}), ("train.shuffle", {"lanes": 0}), ("train.shuffle", {"lanes": "2"}), ("train.shuffle", {"lanes": 2, "window": 0}),
    ("train.shuffle", {"window": 2}), ("train.shuffle", {"lanes": 2, "windows": 2}), ("eval.0.shuffle", {"lanes": 1}),
    ("eval.0.generate", 8), ("eval.0.generate", {}), ("eval.0.generate.stop", ""),
    ("eval.0.generate.max_new_tokens", 0), ("eval.0.generate.beams", 2), ("train.generate", {"max_new_tokens": 8}),
    ("train.subset_num_batches", -2), ("train.label", "x"), ("train.interval", "1ep"),
    ("train.batchsize", 16), ("eval", {}), ("eval.0.interval", 1.5), ("eval.0.interval", "1"),
    ("eval.0.label", ""), ("eval.0.dataset", None), ("eval.0.lable", "x"),
    ("loss", {}), ("loss", []), ("loss", {"beta": 1}), ("loss", ""),
    ("optimizer", None), ("optimizer", [{"name": "sgd"}]), ("optimizer.groups", {}),
    ("optimizer.groups.0.match", None), ("schedulers", {}), ("algorithms", "mixup"),
    ("callbacks", [{}]), ("loggers", [1]), ("passes", {}), ("order", "backwards"),
    ("traces", {}), ("traces.0.file", None), ("traces.0.format", "xml"), ("traces.0.all", 1),
    ("traces.0.fil", "x"), ("profiler", True), ("profiler.schedule", 4),
    ("profiler.schedule.active", 0), ("profiler.schedule.wait", -1), ("profiler.schedul", {}),
    ("profiler.folder", ""), ("profiler.num_traces_to_keep", -2), ("profiler.overwrite", 1),
    ("handlers", {}), ("handlers.0.on", None), ("handlers.0.on", []), ("handlers.0.call", None),
    ("handlers.0.every", 0), ("handlers.0.after", -1), ("handlers.0.on.1.once", [0]),
    ("handlers.0.args", "x"), ("handlers.0.on_error", "halt"), ("handlers.0.rank", -1), ("handlers.0.rank", "0"), ("handlers.0.evry", 1),
    ("max_duration", None),
    ("max_duration", "3"), ("max_duration", ""), ("max_duration", "0.5dur"),
    ("max_duration", 1.5), ("iteration_length", "2ba"), ("iteration_length", 0),
    ("iteration_length", True), ("step_schedulers_every_batch", 1),
    ("distributed", {}), ("distributed", "shared_memory"), ("distributed.comm", 3), ("distributed.device_comm", 3), ("distributed.timeout_s", -1),
    ("distributed.join_timeout_s", "10"), ("distributed.bucket_mib", 0), ("distributed.reduce_dtype", "f16"), ("distributed.sync", "never"), ("distributed.buffers", "all"), ("distributed.rank", 1),
    ("device", {}), ("device", {"name": 3}), ("device", {"name": "cpu", "graphs": True}),
    ("device", {"name": "cuda", "index": -1}), ("device", {"name": "cuda", "graph": True}),
    ("device", {"name": "cuda", "graphs": 1}), ("device", {"name": "cuda", "tf32": "yes"}),
    ("device", {"name": "cuda", "unordered": None}), ("device", {"name": "cuda", "require": "cudnn"}),
    ("device", {"name": "cuda", "memory_limit": 0}),
    ("device", {"name": "cuda", "memory_limit": "8"}), ("device", {"name": "cuda", "memory_limit": 2000000}),
    ("max_duration", "3m5"), ("precision", "fp8"), ("recompute", "some"), ("on_nonfinite", "stay"), ("deterministic", "perhaps"), ("device", 1), ("threads", -1),
    ("threads", 5000), ("microbatch_size", -1), ("microbatch_size", "all"), ("scale_schedule_ratio", 0),
    ("scale_schedule_ratio", "1"), ("load_weights", ""), ("load_weights", 1),
    ("load_strict", "no"), ("load_ignore_keys", "model.fc"), ("load_ignore_keys", [""]), ("load_exclude_algorithms", [1]),
    ("save_on", ["term"]), ("save_on", "hup"), ("max_duration", -1), ("sed", 1),
    ("max_duration", "-1ep"), ("max_duration", "-20sec"), ("eval.0.interval", -1), ("eval.0.interval", "-1ep"),
    ("eval.0.interval", "-0.5dur"), ("eval.0.interval", "-10ba"), ("iteration_length", "-2ep"), ("iteration_length", "0tok"),
    ("iteration_length", -1),
]


# An engine file: what it shares with a run file is tried above, and only referred to by its schema.
ENGINE = {key: value for key, value in GOOD.items()
          if key not in ("max_duration", "iteration_length", "scale_schedule_ratio")}
ENGINE = copy.deepcopy(ENGINE) | {"process": "supervised", "max_epochs": 2, "epoch_length": 3,
                                  "deterministic": True, "seed": None, "data": None, "max_iters": None}
del ENGINE["eval"][0]["interval"]
ENGINE["eval"][0] |= {"on": ["epoch_completed", {"event": "iteration_completed", "once": 2}], "every": 2}

ENGINE_CHANGES = [
    ("process", None), ("process", 1), ("process", {}), ("process", {"call": "demo.mark", "arg": []}),
    ("process", {"call": "demo.mark", "args": "x"}), ("process", ""), ("max_epochs", 0), ("max_epochs", "2"),
    ("max_iters", 3), ("epoch_length", 0), ("epoch_length", 1.5), ("deterministic", 1), ("seed", -1),
    ("data", {"dataset": {"name": "glyphs"}}), ("data", []), ("eval.0.shuffle", {"lanes": 1}), ("model", None), ("optimizer", None), ("train", None),
    ("eval.0.interval", "1ep"), ("eval.0.on", []), ("eval.0.on", 3), ("eval.0.every", 0), ("eval.0.once", "x"),
    ("eval.0.call", "demo.mark"), ("max_duration", "1ep"), ("iteration_length", "1ep"),
    ("scale_schedule_ratio", 0.5), ("max_epoch", 1),
]

# Other engine files that are right.
ENGINES = [
    {"process": {"call": "demo.mark", "args": []}, "epoch_length": 3, "max_iters": 5, "x-a": 1},
    {"process": "demo.mark", "data": {"dataset": {"name": "glyphs"}}, "callbacks": [{"name": "speed_monitor"}]},
]


def changed(path, value, good=GOOD):
    run = copy.deepcopy(good)
    *parents, last = [int(p) if p.isdigit() else p for p in path.split(".")]
    at = run
    for key in parents:
        at = at[key]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return run


def validator_with(schema, other):
    """A validator of a schema that refers to another; how depends on the version of jsonschema."""
    try:
        from referencing import Registry, Resource
    except ImportError:
        from jsonschema import RefResolver
        return Draft202012Validator(schema, resolver=RefResolver(schema["$id"], schema, store={other["$id"]: other}))
    registry = Registry().with_resource(other["$id"], Resource.from_contents(other))
    return Draft202012Validator(schema, registry=registry)


def main():
    tutti = sys.argv[1]
    with open("sdk/schema/run.schema.json", encoding="utf-8") as f:
        schema = json.load(f)
    with open("sdk/schema/engine.schema.json", encoding="utf-8") as f:
        engine = json.load(f)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator.check_schema(engine)
    validators = {False: Draft202012Validator(schema), True: validator_with(engine, schema)}
    checked = failed = 0

    def check(name, run, path, want=None):
        nonlocal checked, failed
        validator = validators["process" in run]
        status = subprocess.run([tutti, "validate", path], capture_output=True, text=True,
                                check=False)
        faults = [f"{e.json_path}: {e.message}" for e in validator.iter_errors(run)]
        host = status.returncode == 0
        checked += 1
        if host == bool(faults) or (want is not None and host != want):
            failed += 1
            print(f"{name}: host {'accepts' if host else status.stderr}; schema {faults or 'accepts'}")

    for path in sorted(glob.glob("host/recipes/*.json") + glob.glob("tools/bench/rows/*.json")):
        with open(path, encoding="utf-8") as f:
            run = json.load(f)
        faults = [e.message for e in validators["process" in run].iter_errors(run)]
        checked += 1
        if faults:
            failed += 1
            print(f"{path}: {faults}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.json")

        def written(run):
            with open(path, "w", encoding="utf-8") as f:
                json.dump(run, f)
            return path

        check("the whole", GOOD, written(GOOD), True)
        auto = changed("microbatch_size", "auto")
        check("microbatch_size = auto", auto, written(auto), True)
        lanes = changed("train.sampler", None, changed("train.shuffle", {"lanes": 2, "window": 3, "x-why": "shards"}))
        check("shuffle in lanes", lanes, written(lanes), True)
        for device in ({"name": "cpu"}, {"name": "cuda"}, {"name": "cuda", "index": 3, "memory_limit": 7.5,
                       "graphs": False, "tf32": True, "unordered": True, "require": "libraries", "x-note": 1}):
            run = changed("device", device)
            check(f"device = {device!r}", run, written(run), True)
        for where, value in CHANGES:
            run = changed(where, value)
            check(f"{where} = {value!r}", run, written(run), False)
        check("the whole engine", ENGINE, written(ENGINE), True)
        for run in ENGINES:
            check(run["process"], run, written(run), True)
        for where, value in ENGINE_CHANGES:
            run = changed(where, value, ENGINE)
            if "process" in run:
                check(f"engine: {where} = {value!r}", run, written(run), False)
        for key in (schema["properties"].keys() ^ GOOD.keys()) | (engine["properties"].keys() ^ ENGINE.keys()):
            if not key.startswith("x-"):
                failed += 1
                print(f"{key}: not both in the schema and in the run that is tried")
    print(f"{checked - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
