"""when_test.py - explain names the events at which match can answer 1, and "when" in manifests hides nothing that
acts: when_test.py TUTTI."""
# SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

TUTTI = sys.argv[1]
SHIPPED = os.path.join(os.path.dirname(TUTTI), "lib", "tutti", "plugins")
EVENTS = """init before_load after_load fit_start iteration_start epoch_start before_dataloader after_dataloader batch_start
 before_train_batch before_forward after_forward before_loss after_loss before_backward after_backward after_train_batch
 batch_end batch_checkpoint epoch_end epoch_checkpoint iteration_end iteration_checkpoint eval_before_all eval_start
 eval_batch_start eval_before_forward eval_after_forward eval_batch_end eval_end eval_after_all fit_end""".split()

IMAGES = {"dataset": {"name": "glyphs", "samples": 32}, "batch_size": 16, "workers": 1,
          "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}]}
TEXT = {"dataset": {"name": "text", "path": "corpus.txt", "length": 16, "stride": 16}, "batch_size": 8, "workers": 1,
        "transforms": [], "subset_num_batches": 2}
RESNET = {"model": {"name": "resnet_cifar"}, "train": IMAGES}
CNN = {"model": {"name": "cnn", "channels": [4, 8]}, "train": IMAGES}
GPT = {"model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16}, "train": TEXT}
BERT = {"model": {"name": "bert", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16,
                  "intermediate_size": 16}, "train": TEXT}

UNET = {"model": {"name": "unet", "width": 4, "depth": 1},
        "train": {"dataset": {"name": "shapes", "samples": 16}, "batch_size": 8, "workers": 1,
                  "transforms": [{"name": "normalize", "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}]}}

SAVER = {"name": "checkpoint_saver", "folder": "saves", "filename": "ba{batch}.safetensors"}
# Two savers, so that a checkpoint is due within an epoch and at the end of one.
SAVERS = [dict(SAVER, interval="1ep"), dict(SAVER, interval="3ba", id="other", folder="others")]
SWA = {"name": "swa", "swa_start": "0dur"}
LOADED = "../real0/saves/ba4.safetensors"  # of the first of these runs
LOADED_AT = ["before_load", "after_load", "fit_start", "iteration_start", "epoch_start", "batch_start", "batch_end", "epoch_end",
             "iteration_end", "eval_start", "predict_start"]


def stopper(name, label, **more):
    return dict({"name": name, "monitor": "accuracy", "dataloader_label": label}, **more)


RUNS = [
    dict(CNN, algorithms=[
        {"name": "ema"}, {"name": "mixup"}, {"name": "label_smoothing"}, {"name": "low_precision_groupnorm"},
        {"name": "selective_backprop", "start": 0, "end": 1}, {"name": "gradient_clipping", "clipping_type": "norm",
                                                               "clipping_threshold": 1.0}, {"name": "focal_loss"},
        {"name": "whitening"}, {"name": "lookahead", "interval": 2}],
        callbacks=SAVERS + [stopper("early_stopper", "test"), stopper("threshold_stopper", "train", threshold=2),
                            {"name": "optimizer_monitor", "batch_log_interval": 1}],
        loggers=[{"name": "console"}]),
    dict(CNN, algorithms=[
        {"name": "ema", "half_life": "1ep"}, {"name": "mixup", "interpolate_loss": True},
        {"name": "low_precision_groupnorm", "apply_at": "before_load"},
        {"name": "selective_backprop", "start": 0, "end": 1, "keep": 1}, {"name": "layer_freezing"},
        {"name": "gyro_dropout"}, {"name": "cutout", "length": 0.5}],
        callbacks=SAVERS + [stopper("early_stopper", "train"),
                            stopper("threshold_stopper", "train", threshold=2, stop_on_batch=True),
                            {"name": "optimizer_monitor", "batch_log_interval": 1, "log_optimizer_metrics": False}],
        loggers=[{"name": "console", "log_interval": "1ep"}]),
    dict(CNN, algorithms=[
        {"name": "ema", "half_life": None, "smoothing": 0.5}, {"name": "cutmix"},
        {"name": "low_precision_groupnorm", "apply_at": "after_load"},
        {"name": "selective_backprop", "start": 0, "end": 1, "interrupt": 1}, {"name": "colout"}, {"name": "blurpool"}],
        callbacks=SAVERS + [dict(SAVER, interval="0ep", id="never", folder="never"), stopper("early_stopper", "train", patience="9ba"),
                   stopper("threshold_stopper", "test", threshold=2, stop_on_batch=True)],
        loggers=[{"name": "console"}]),
    dict(CNN, algorithms=[
        {"name": "ema", "half_life": None, "smoothing": 0.5, "update_interval": "1ep"}, {"name": "channels_last"},
        {"name": "cutmix", "interpolate_loss": True}, {"name": "progressive_resizing"}, {"name": "weight_standardization"}],
        callbacks=SAVERS + [dict(SAVER, interval="1iter", id="third", folder="thirds")],
        loggers=[{"name": "console"}], iteration_length="1ep"),
    dict(RESNET, algorithms=[
        SWA, {"name": "stochastic_depth", "target_layer_name": "basic_block"}, {"name": "squeeze_excite"}],
        callbacks=SAVERS, loggers=[]),
    dict(RESNET, algorithms=[
        dict(SWA, schedule_swa_lr=True), {"name": "sam"}, {"name": "ghost_batchnorm", "ghost_batch_size": 8},
        {"name": "stochastic_depth", "target_layer_name": "basic_block", "drop_warmup": "0.5dur"}],
        callbacks=SAVERS, loggers=[]),
    dict(RESNET, algorithms=[
        dict(SWA, update_interval="1ba"), {"name": "factorize"}, {"name": "gradient_penalty"},
        {"name": "stochastic_depth", "target_layer_name": "basic_block", "stochastic_method": "sample"}],
        callbacks=SAVERS, loggers=[]),
    dict(GPT, algorithms=[{"name": "alibi", "max_sequence_length": 16}, {"name": "low_precision_layernorm"}],
         callbacks=[{"name": "generate", "interval": "0ba"}], loggers=[]),
    dict(GPT, algorithms=[
        {"name": "alibi", "max_sequence_length": 16, "train_sequence_length_scaling": 1.0},
        {"name": "low_precision_layernorm", "apply_at": "before_load"},
        {"name": "seq_length_warmup", "max_seq_length": 16}],
        callbacks=[{"name": "generate", "interval": "1ep", "max_new_tokens": 2, "prompts": ["a"]}], loggers=[]),
    dict(BERT, algorithms=[
        {"name": "gated_linear_units"}, {"name": "low_precision_layernorm", "apply_at": "after_load"}],
        callbacks=[{"name": "generate", "interval": "1iter", "max_new_tokens": 2, "prompts": ["a"]}], loggers=[],
        iteration_length="1ep"),
    dict(CNN, algorithms=[], callbacks=[{"name": "image_visualizer", "interval": "1ba"}] + [
        {"name": "load_checkpoint", "id": f"at_{event}", "event": event, "load_path": LOADED, "load_weights_only": True}
        for event in LOADED_AT], loggers=[]),
    dict(UNET, algorithms=[], callbacks=[{"name": "image_visualizer", "interval": "1ba", "mode": "segmentation"}], loggers=[]),
    dict(CNN, algorithms=[], callbacks=[{"name": "image_visualizer", "interval": "1ba", "mode": "classification"}], loggers=[]),
    dict(GPT, algorithms=[{"name": "lora", "merge": True, "also_train": ["*"]}], callbacks=[], loggers=[]),
    dict(GPT, algorithms=[{"name": "lora", "save_adapter": "adapter"}], callbacks=[], loggers=[]),
]


def write(path, value):
    with open(path, "w", encoding="utf-8") as out:
        json.dump(value, out)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def call(*words):
    done = subprocess.run([TUTTI, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"tutti {' '.join(words)}: {done.stderr}")
    return done


def bare_plugins(folder):
    """Copies of the shipped plugins without conditions; algorithms are asked at all events.  Returns the algorithms with
    conditions, which need a run, and all conditional events; an algorithm without any needs no run here."""
    names, conditional = set(), set()
    os.umask(0o022)
    for path in glob.glob(f"{SHIPPED}/*/plugin.json"):
        manifest = read(path)
        hears = [o for o in manifest["objects"] if o["kind"] in ("algorithm", "callback", "logger")]
        if not hears:
            continue
        for one in hears:
            for event in one.get("events", []):
                if isinstance(event, dict) and "when" in event:
                    conditional.add((one["name"], event["name"]))
                    names |= {one["name"]} if one["kind"] == "algorithm" else set()
            if one["kind"] == "algorithm":
                one["events"] = EVENTS
            elif "events" in one:  # some hear none
                one["events"] = [e["name"] if isinstance(e, dict) else e for e in one["events"]]
        to = os.path.join(folder, os.path.basename(os.path.dirname(path)))
        shutil.copytree(os.path.dirname(path), to)
        write(os.path.join(to, "plugin.json"), manifest)
    if not conditional:
        sys.exit(f"{SHIPPED}: no plugins with conditions")
    return names, conditional


def run_file(run):
    run = dict({"name": "when", "seed": 3, "threads": 1, "device": "cpu", "max_duration": "2ep", "schedulers": [],
                "optimizer": {"name": "sgd", "lr": 0.01}, "passes": []}, **run)
    run["eval"] = [dict(run["train"], label="test", interval="1ep", metrics=[])]
    if run["train"] is IMAGES:
        run["train"] = dict(IMAGES, metrics=[{"name": "accuracy"}])
        run["eval"][0]["metrics"] = [{"name": "accuracy"}]
    run["traces"] = [{"file": "ran.jsonl", "format": "json", "all": False}]
    run["loggers"] = run["loggers"] + [{"name": "jsonl"}]
    return run


def told(run):
    """What explain says: events by algorithm, and (object, event) that are heard and left out by conditions."""
    objects = {one.get("id", one["name"]): one["name"] for kind in ("algorithms", "callbacks", "loggers") for one in run[kind]}
    answer = json.loads(call("explain", "run.json", "--json").stdout)
    events, heard = {}, set()
    for event, places in answer["events"].items():
        for place in places:
            heard.add((objects.get(place["name"]), event))
            if place["kind"] == "algorithm":
                events.setdefault(place["name"], set()).add(event)
    return events, heard, {(objects.get(o["name"]), o["event"]) for o in answer["left_out"]}


def ran():
    """The events at which match answered 1, by algorithm."""
    events = {}
    for path in glob.glob("runs/when/**/ran.jsonl", recursive=True):
        for line in open(path, encoding="utf-8"):
            name, event = json.loads(line)["key"].rsplit("/", 1)
            events.setdefault(name, set()).add(event.replace("Event.", "").lower())
    return events


def left(err):
    """What a run leaves that others can see: files, what the console printed, what was logged."""
    files = sorted(os.path.relpath(os.path.join(d, f)) for d, _, fs in os.walk(".") for f in fs if "saves" in d or "others" in d
                   or "thirds" in d)
    lines = [json.loads(line.replace(os.getcwd(), "@")) for path in glob.glob("runs/when/**/log.jsonl", recursive=True)
             for line in open(path, encoding="utf-8")]
    logged = [{key: line[key] for key in line if key != "time"} for line in lines]
    lines = err.replace(os.getcwd(), "@").splitlines()
    return files, [line for line in lines if " is hidden by version " not in line], logged


def train(folder, run, *more):
    os.mkdir(folder)
    os.chdir(folder)
    write("run.json", run)
    with open("corpus.txt", "w", encoding="utf-8") as out:
        out.write("all that is told here is told once more. " * 40)
    err = call("train", "run.json", *more).stderr
    result = ran(), left(err)
    os.chdir("..")
    return result


def main():
    failures = 0
    os.environ["TUTTI_TUNE"] = "0"
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        os.environ["TUTTI_CONFIG_PATH"] = os.path.join(work, "no_config")
        names, conditional = bare_plugins(os.path.join(work, "bare"))
        seen, heard, left_out = set(), set(), set()
        for number, run in enumerate(RUNS):
            run = run_file(run)
            asked, bare = train(f"bare{number}", run, "--plugin-path", os.path.join(work, "bare"))
            _, real = train(f"real{number}", run)
            os.chdir(f"real{number}")
            events, now_heard, now_left_out = told(run)
            os.chdir("..")
            heard |= now_heard
            left_out |= now_left_out
            for name in (a["name"] for a in run["algorithms"]):
                seen.add(name)
                if events.get(name, set()) != asked.get(name, set()):
                    failures += 1
                    print(f"run {number}: {name}: explain says {sorted(events.get(name, []))}, "
                          f"match answered 1 at {sorted(asked.get(name, []))}")
            for what, a, b in zip(("files", "the console", "what was logged"), real, bare):
                if a != b:
                    failures += 1
                    differ = [(x, y) for x, y in zip(a, b) if x != y] or (len(a), len(b))
                    print(f"run {number}: {what} differs without conditions: {differ[:3]}")
        for what, missing in (("algorithms with conditions that no run has", names - seen),
                              ("conditional events never heard", conditional - heard),
                              ("conditional events never left out", conditional - left_out)):
            if missing:
                failures += 1
                print(f"{what}: {sorted(missing)}")
        os.chdir("/")
    print(f"{len(RUNS)} runs, {len(names)} algorithms with conditions, {len(conditional)} conditional events, "
          f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
