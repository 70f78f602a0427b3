"""The recipe cifar10_airbench whole on the GPU: accuracy of CIFAR-10's test pictures, and seconds."""
import json
import statistics

from machine import ROOT
from parity import train

RECIPE = ROOT / "host" / "recipes" / "cifar10_airbench.json"
SEEDS = (17, 18, 19)
LEAST = 0.88  # of the mean: pictures that had been JPEGs gave 0.903 to 0.910 on an H100
TINY = ["train.batch_size=4", "eval.0.batch_size=4", "max_duration=2ba", "model.widths=[8,8,8]", "model.views=one"]


def dataset(folder, split):
    """The run file's member for CIFAR-10 in `folder`; None where it is not there."""
    if (folder / split / "index.json").exists():
        return {"name": "mds", "path": str(folder / split), "classes": 10}
    if (folder / "data_batch_1.bin").exists() and (folder / "test_batch.bin").exists():
        return {"name": "cifar_bin", "path": str(folder), "split": split}
    return None


def complete(folder):
    return all(dataset(folder, split) for split in ("train", "test"))


def made_up(folder):
    """Files of CIFAR-10's form with eight pictures each, for a stand-in."""
    folder.mkdir(parents=True)
    for name in (*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"):
        (folder / name).write_bytes(b"".join(bytes([k]) + bytes((k * x + x // 32) % 256 for x in range(3072)) for k in range(8)))
    return folder


def pictures(m):
    """The folder with CIFAR-10: what --cifar names, else what came with the pack; None."""
    if m.args.standin and not m.args.cifar:
        return made_up(m.scratch / "cifar")
    return next((f for f in (m.args.cifar, m.build / "cifar") if f and complete(f)), None)


def result(log):
    """{"seconds", "accuracy"} of a run's log: of training, and of the test pictures behind it."""
    values = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        values.update(json.loads(line).get("values", {}))
    return {"seconds": 3600 * values["time/train"], "accuracy": values["metrics/test/accuracy"]}


def one(m, folder, seed):
    """A training; None where it went wrong."""
    log = m.scratch / f"airbench{seed}.jsonl"
    words = train(m, RECIPE, "cuda", "--quiet")
    for change in ["precision=amp_bf16", f"seed={seed}", f"name=airbench_{seed}",
                   f"loggers={json.dumps([{'name': 'jsonl', 'filename': str(log)}])}",
                   f"train.dataset={json.dumps(dataset(folder, 'train'))}",
                   f"eval.0.dataset={json.dumps(dataset(folder, 'test'))}", *(TINY if m.args.standin else [])]:
        words += ["--set", change]
    said = m.run(words, 120, TUTTI_TUNE="0" if m.args.standin else "1")
    if said.status:
        m.wrong(f"airbench, seed {seed}", (said.lines() or [f"ends with {said.status}"])[-1])
        return None
    found = {"seed": seed, **result(log)}
    m.say(f"airbench, seed {seed}: {100 * found['accuracy']:.1f} % of the test pictures after {found['seconds']:.1f} s")
    return found


def airbench(m):
    """Three seeds; the first has the choice of kernels in its seconds."""
    folder = pictures(m)
    if not folder:
        m.leave_out("airbench", "neither --cifar nor the pack has CIFAR-10; tools/gpu --pack --cifar FOLDER takes it along")
        return
    done = m.result["airbench"] = []
    for seed in SEEDS[:1] if m.args.standin else SEEDS:
        done += filter(None, [one(m, folder, seed)])
        m.save()
    if done and not m.args.standin:
        mean = statistics.fmean(r["accuracy"] for r in done)
        if mean < LEAST:
            m.wrong("airbench", f"{100 * mean:.1f} % of the test pictures in the mean, want {100 * LEAST:.0f} % at least")
