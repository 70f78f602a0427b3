"""kept_rows.py - what today's program makes of the runs that are kept, and how far that is from what was told then.

A row is a function of a `Kept`: it has the program read what is kept, and returns what it tells, as JSON. The same
functions, of the program of then, have filled `wanted.json`.
"""
# SPDX-License-Identifier: Apache-2.0
import csv
import hashlib
import itertools
import json
import math
import os
import pathlib
import re
import shutil
import struct

from campaign import Failed
from checkpoint import read
from kept_runs import WHERE, command, end_of, start, write_data
from kept_text import unpack
from kill_logs import READERS, jsonl, of_the_run, steps, submission

NEAR = 1e-3  # of numbers above 1, and of 1: other CPUs and kernels sum in another order
MAKES = r".*/\.lock|.*\.undone|saves/(\.kernels|(latest|ep\d+-ba\d+)[^/]*)|weights/latest.*|cache/.*"  # of files, a run that goes on
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
RECORDED = ("name", "command", "data", "run", "status", "limit", "batches", "samples", "epochs")
MIDDLE = {"shards": "saves/ep1-ba5.safetensors.index.json", "text": "saves/ep2-ba20.safetensors"}


class Kept:
    """One run of a set, written into a folder of its own for each row; `exact`: the same bits come of it here."""

    def __init__(self, program, case, kept, top, exact=True):  # pylint: disable=too-many-arguments
        self.program, self.case, self.kept, self.top, self.exact = program, case, kept, top, exact
        self.middle = MIDDLE.get(case, "saves/ep1-ba5.safetensors")

    def folder(self, name, moved=True):
        """The run as it was left: `moved` from where its record says, or not."""
        folder = self.top / name
        folder.mkdir()
        unpack(self.kept, folder)
        write_data(folder)
        if not moved:
            record = folder / "runs/old/record.json"
            record.write_text(record.read_text().replace(str(WHERE), str(folder)))
        return folder

    def tell(self, folder, *words, **more):
        """Standard output and error of a command that ends well."""
        done = start(self.program, folder, *words, **more)
        if done.returncode:
            raise Failed(f"{words[0]}: status {done.returncode}: {done.stderr[-500:]}")
        return done.stdout, done.stderr

    def refusal(self, folder, *words):
        """What it says that refuses."""
        done = start(self.program, folder, *words)
        if done.returncode not in (1, 2):
            raise Failed(f"{' '.join(words)}: status {done.returncode}, want a refusal: {done.stderr[-500:]}")
        return done.stderr


def computes_anywhere(program):
    """Whether it computes the bits of "deterministic": "anywhere" on this CPU."""
    return "instruction set: v3" in start(program, pathlib.Path.cwd(), "version", TUTTI_ISA="v3").stdout


def parts(text):
    """A text as the numbers with a point in it and what is around them."""
    return [NUMBER.sub("#", text), *map(float, NUMBER.findall(text))]


def differs(want, got, exact, at=""):
    """Where two values of JSON differ first, as text; "" where they do not: objects may have more today, and without
    `exact` numbers may be near."""
    if isinstance(want, dict) and isinstance(got, dict):
        lacks = sorted(want.keys() - got.keys())
        if lacks:
            return f"{at}: lacks {lacks[:9]}, has {sorted(got.keys() - want.keys())[:9]} more"
        return next(filter(None, (differs(want[k], got[k], exact, f"{at}.{k}") for k in want)), "")
    if isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)):
        if len(want) != len(got):
            return f"{at}: {len(got)} rows, want {len(want)}"
        return next(filter(None, (differs(*both, exact, f"{at}[{k}]") for k, both in enumerate(zip(want, got)))), "")
    if not exact and isinstance(want, str) and isinstance(got, str) and NUMBER.search(want):
        return differs(parts(want), parts(got), exact, at)
    if not exact and isinstance(want, float) and isinstance(got, (int, float)):
        return "" if math.isclose(want, got, rel_tol=NEAR, abs_tol=NEAR) else f"{at}: is {got}, want {want}"
    return "" if want == got else f"{at}: is {str(got)[:200]!r}, want {str(want)[:200]!r}"


def floats(end, exact):
    """The tensors with numbers in the place of bytes, where bits may differ."""
    def one(value):
        size, code = {"F32": (4, "f"), "F64": (8, "d"), "I64": (8, "q")}.get(value[0], (1, "B"))
        raw = bytes.fromhex(value[2])
        return [value[1], *struct.unpack(f"<{len(raw) // size}{code}", raw)]
    end = {name: value for name, value in end.items() if name != "callback.mlperf.mark"}  # a place behind lines of the source
    return end if exact else {name: value if name == "run.clock" else one(value) for name, value in end.items()}


def untimed(rows):
    """Without times, what traces have of each attempt, and what is said of how many ranks share."""
    return [{k: v for k, v in row.items() if not k.startswith("duration_")} for row in rows
            if not row.get("key", "").endswith("Event.INIT") and row.get("component") != "distributed"]


def ran(path):
    """The rows of traces as JSON, in order."""
    return untimed(map(json.loads, path.read_text(encoding="utf-8").splitlines()))


def logged(path):
    """The rows of log.jsonl, in order."""
    return untimed(jsonl(path))


def record(folder):
    return json.loads((folder / "runs/old/record.json").read_text(encoding="utf-8"))


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}


def submitted(path):
    """The lines of mlperf, in order, without the places in the source that wrote them."""
    return [[*row[:3], [pair for pair in row[3] if pair[0] not in ("file", "lineno")]] for row in submission(path)]


LOGS = READERS | {"runs/*/log.jsonl": logged, "runs/*/ran.jsonl": ran, "submission/results/*/*/*.txt": submitted}


# ---- rows ----

def taken_up(kept, name, said_of_it, prepare, may_be_there):
    """The run, killed behind some batch, goes on to its end with the logs of then. The last checkpoint's tensors."""
    whole, folder = kept.folder("whole"), kept.folder(name)
    path = folder / "runs/old/record.json"
    path.write_text(path.read_text().replace('"status": "finished"', '"status": "running"'))
    prepare(folder)
    words = [] if kept.exact else ["--accept-different-bits"]
    _, said = kept.tell(folder, command(kept.case), "run.json", "--resume", "auto", "--verbose", *words)
    if not re.search(said_of_it, said):
        raise Failed(f"it does not say {said_of_it!r}: {said}")
    if re.search("not the log|damaged|left out|does not say" + "|differ" * kept.exact, said):
        raise Failed(said)
    for pattern, reader in LOGS.items():
        for file in sorted(whole.glob(pattern)):
            part = file.relative_to(whole)
            want, got = reader(file), reader(folder / part)
            if not want:
                raise Failed(f"{part}: nothing is read of what is kept")
            wrong = differs(want, got, kept.exact)
            if wrong:
                raise Failed(f"{part}: {wrong}")
    lost, more = (sorted(a - b) for a, b in itertools.permutations([files(whole), files(folder)], 2))
    lost, more = [p for p in lost if (folder / p).parent.name != "saves"], [p for p in more if not re.fullmatch(may_be_there, p)]
    if lost or more:
        raise Failed(f"files are gone: {lost}; there are new ones: {more}")
    then, now = record(whole), record(folder)
    wrong = differs([then.get(k) for k in RECORDED] + [of_the_run(then["metrics"])],
                    [now.get(k) for k in RECORDED] + [of_the_run(now["metrics"])], kept.exact)
    if wrong or now["attempts"] != [{"status": "running", "batches": 8, "same_settings": True}]:
        raise Failed(f"record.json: {wrong or now['attempts']}")
    return end_of(folder)


def resume(kept):
    """As after a kill: the newest checkpoint is of the middle, and what came behind it is done again."""
    return taken_up(kept, "resume", "resumed from .* at batch 5", lambda folder: None, MAKES)


def begin_anew(kept):
    """As after a kill before the first checkpoint: the files that .own has are not in the way."""
    return taken_up(kept, "anew", "", lambda folder: shutil.rmtree(folder / "saves"), MAKES + "|mlruns/.*")


def evaluations(kept):
    """The metrics of its checkpoints: the one of the middle, and those of weights alone."""
    folder = kept.folder("eval")
    files = [kept.middle, *(str(p.relative_to(folder)) for p in sorted(folder.glob("weights/*.safetensors")))]
    return {name: kept.tell(folder, "eval", "run.json", "--checkpoint", name, "--quiet")[0] for name in files}


def predictions(kept):
    """The model's outputs."""
    folder = kept.folder("predict")
    kept.tell(folder, "predict", "run.json", "--checkpoint", kept.middle, "--output", "out.csv")
    return list(csv.reader((folder / "out.csv").read_text().splitlines()))


def onnx(kept):
    """Which weights of the checkpoint, by the run file that it keeps, stand in the ONNX file, in whichever order of axes."""
    folder = kept.folder("onnx")
    kept.tell(folder, "export", kept.middle, "--onnx", "out.onnx")
    data, found = (folder / "out.onnx").read_bytes(), {}
    for path in sorted(folder.glob(kept.middle.replace(".safetensors.index.json", "-*-of-*.safetensors"))):
        for name, (_, shape, raw) in read(path).items():
            if name.startswith("model."):
                n, size = (shape[0], len(raw) // shape[0] // 4) if len(shape) == 2 else (1, len(raw) // 4)
                transposed = b"".join(raw[4 * (row * size + k):][:4] for k in range(size) for row in range(n))
                found[name] = raw in data or transposed in data
    return found


def listed(kept):
    """What `tutti runs` says of it."""
    return json.loads(kept.tell(kept.folder("runs"), "runs", "--json")[0])


def page(kept):
    """What the page of `tutti report` has of its log, its traces and its record."""
    folder = kept.folder("report")
    (folder / "chart.js").write_text("var Chart = function () {};")
    kept.tell(folder, "report", "runs/old", "--page", "page.html", TUTTI_CHART_JS="chart.js")
    (data,) = re.findall(r'<script[^>]*id="data"[^>]*>(.*?)</script>', (folder / "page.html").read_text(encoding="utf-8"), re.S)
    (run,) = json.loads(data)["runs"]
    return {"name": run["name"], "memory": run["memory"], "series": {s["name"]: [s["x"], s["y"]] for s in run["series"]},
            "timeline": [[row.get("name"), row["ran"], row["asked"]] for row in run["timeline"]["rows"]]}


def repeated(kept):
    """The run once more, by its record alone: its losses."""
    folder = kept.folder("repeat", moved=False)
    for name in ("saves", "weights", "submission"):
        shutil.rmtree(folder / name)
    kept.tell(folder, "train", "--repeat", "runs/old")
    rows = map(json.loads, (folder / "runs/old-repeat/log.jsonl").read_text(encoding="utf-8").splitlines())
    return [[row["batch"], row["values"]["loss/train/total"]] for row in rows if "loss/train/total" in row.get("values", {})]


def in_mlflow(kept):
    """What MLflow's folder has of it, as its own store reads it."""
    return steps(kept.folder("mlflow") / "runs/old/mlflow.run")


def weights_alone(kept):
    """From weights alone no run goes on, which is told; one that begins with them evaluates them first of all."""
    folder = kept.folder("weights")
    name = "weights/ep1-ba8.safetensors"
    said = kept.refusal(folder, "train", "run.json", "--resume", name)
    told, _ = kept.tell(folder, "eval", "run.json", "--quiet", "--set", f"load_weights={name}")
    return ["has weights alone" in said, told]


def locked(kept):
    """The sums of plugins and the policy, as they were written; libraries of today have other sums, which take the place."""
    folder = kept.folder("locked")
    plugins = re.search("  (/.*)/mlp/mlp.so", kept.tell(folder, "plugins", "lock")[0])[1]
    text = (folder / "plugins.lock").read_text().replace("/usr/lib/tutti/plugins", plugins)
    sums = {name: hashlib.sha256(pathlib.Path(name).read_bytes()).hexdigest() for name in re.findall(r"/.*", text)}
    now = re.sub(r"^[0-9a-f]{64}(  )(/.*)", lambda m: sums[m[2]] + m[1] + m[2], text, flags=re.M)
    other = re.sub(r"^[0-9a-f]{64}", "0" * 64, text, flags=re.M)
    for by in (("--plugin-lock", "plugins.lock"), ("--plugin-policy", "policy.json")):
        os.chmod(folder / by[1], 0o644)
        words = ("eval", "run.json", "--checkpoint", kept.middle, "--quiet", *by)
        lacks = now.replace("/mlp/mlp.so", "/mlp/none.so")
        for content, why in ((other, "plugins.lock pins 0{64}"), (lacks, "mlp.so: not pinned in")):
            (folder / "plugins.lock").write_text(content)
            said = kept.refusal(folder, *words)
            if not re.search(why, said):
                raise Failed(f"{' '.join(by)}: it does not say {why!r}: {said[:300]}")
        (folder / "plugins.lock").write_text(now)
        kept.tell(folder, *words)
    return [name.removeprefix(plugins) for name in sums]


def generated(kept):
    """The texts that the language model goes on with: the likeliest, and draws."""
    folder = kept.folder("generate")
    def go(*words):
        words = ("generate", kept.middle, "--prompt", "7 and", "--max-tokens", "12", "--json", *words)
        told = json.loads(kept.tell(folder, *words)[0])
        return [told["tokens"], told["text"], told["ended_by"]]
    return [go(), go("--temperature", "1.5", "--seed", "3")]


ALL = {"resume": resume, "eval": evaluations, "predict": predictions, "export": onnx, "runs": listed, "report": page}
ROWS = {"train": ALL | {"anew": begin_anew, "repeat": repeated, "mlflow": in_mlflow, "weights": weights_alone, "lock": locked},
        "engine": ALL, "shards": ALL, "text": {"generate": generated, "runs": listed}}

SAME = {"anew": "resume"}  # rows that come to what another does: null stands for it
READ = {"export", "runs", "report", "mlflow", "lock"}  # nothing is computed: what is told is as it was


def tell(kept, name):
    """What today's program tells in that row, as JSON gives it back."""
    return json.loads(json.dumps(ROWS[kept.case][name](kept)))


def check(kept, name):
    """What is wrong in that row, as text."""
    wanted = json.loads((kept.kept / "wanted.json").read_text(encoding="utf-8"))
    want = wanted[SAME[name]] if wanted[name] is None else wanted[name]
    if name not in ROWS.get(kept.case, {}):
        return "no row of that name is there"
    try:
        got = tell(kept, name)
    except (Failed, LookupError, ValueError, OSError, StopIteration) as why:
        return f"{type(why).__name__}: {why}"
    if name == "resume" or name in SAME:
        want, got = floats(want, kept.exact), floats(got, kept.exact)
    return differs(want, got, kept.exact or name in READ)
