"""Training steps a second on the GPU, block by block in turn with PyTorch's."""
import importlib.machinery
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field

from machine import ROOT

BENCH = ROOT / "tools" / "bench"


@dataclass
class Row:
    """What is measured.  A step of a peer may be of another batch: rates are compared."""
    id: str               # its stage
    name: str
    row: str              # of tools/bench
    call: int             # of the three
    part: int             # of the time that is left
    batch: int
    each: int             # units in a sample
    unit: str
    changes: list = field(default_factory=list)
    same: str = ""        # the id of the row that this one is but for one thing, which `same` costs or saves
    device: dict = field(default_factory=dict)  # settings
    shape: str = ""       # of a peer's input behind its batch, as x1024
    words: str = ""
    settings: tuple = ()  # of peers
    smaller: tuple = ()   # batches of a peer that has no memory for this one


GPT2 = {"row": "b8_gpt2_124m", "batch": 64, "each": 1024, "unit": "tokens", "call": 2}
LONG = ["train.dataset.length=1024", "train.dataset.samples=1024"]
WIDE = ["model.vocab_size=50304"]
ROWS = [
    Row("gpt2", "GPT-2 124M, 64 x 1024", part=24, changes=LONG, shape="x1024", smaller=(32, 16),
        settings=("fused", "fused+compile"), **GPT2),
    Row("gpt2-50304", "vocabulary 50304", part=24, changes=[*LONG, *WIDE], same="gpt2", **GPT2),
    Row("gpt2-launches", "without graphs", part=24, changes=LONG, same="gpt2", device={"graphs": False}, **GPT2),
    Row("gpt2-unordered", "unordered sums", part=30, changes=LONG, same="gpt2", device={"unordered": True}, **GPT2),
    Row("resnet50", "ResNet-50, 256", "b6_resnet50", 3, 24, 256, 1, "images", ["train.dataset.samples=1024"],
        words="+nhwc", smaller=(128,), settings=("fused", "fused+compile")),
    Row("resnet20", "ResNet-20, 512", "b4_resnet20", 3, 20, 512, 1, "images", ["train.dataset.samples=4096"],
        words="+nhwc", settings=("fused", "fused+compile", "fused+compile+graphs")),
    Row("resnet20-launches", "without graphs", "b4_resnet20", 3, 16, 512, 1, "images", ["train.dataset.samples=4096"],
        same="resnet20", device={"graphs": False}),
]
SMALL = {"row": "b1_mlp_tiny", "call": 2, "part": 30, "batch": 32, "each": 1, "unit": "samples"}
TINY = [Row("mlp", "MLP", smaller=(16,), settings=("fused", "fused+compile"), **SMALL),
        Row("mlp-launches", "without graphs", same="mlp", device={"graphs": False}, **SMALL)]
NO_MEMORY = ("out of memory", "not enough memory", "can't allocate", "OutOfMemory", "invalid size")


def load_bench():
    """tools/bench/run, which has no ending .py."""
    sys.path.insert(0, str(BENCH))
    loader = importlib.machinery.SourceFileLoader("bench_run", str(BENCH / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", loader))
    loader.exec_module(module)
    return module


bench = load_bench()


def rows(m):
    """The table's."""
    return TINY if m.args.standin else ROWS


class Measured:
    """A program that has been warmed up, and the seconds of a step in its blocks."""

    def __init__(self, m, program, batch):
        self.m, self.program, self.batch = m, program, batch
        self.times = []
        m.running.append(program.process)

    def warm(self, limit):
        """First steps, with all that is planned, compiled and tuned in them; how many are a block."""
        self.first = self.program.steps(1, limit)
        step = self.program.steps(2 if self.m.args.standin else 10, max(10, limit))
        self.count = 2 if self.m.args.standin else max(2, int(1.0 / max(step, 1e-6)))

    def block(self):
        self.times.append(self.program.steps(self.count, 60))

    def rate(self, each):
        """Units a second, by the median block."""
        return self.batch * each / statistics.median(self.times)

    def end(self):
        self.program.end()


def device(row):
    """The run's member."""
    return json.dumps({"name": "cuda", **row.device})


def own(m, row):
    """Tutti, with as large a part of a batch at once as there is memory for."""
    why = "no time"
    for micro in (None, row.batch // 2, row.batch // 4):
        command = [m.build / "tutti", "train", BENCH / "rows" / f"{row.row}.json", "--quiet",
                   "--set", f"device={device(row)}", "--plugin-path", m.build / "bench", "--set", "precision=amp_bf16",
                   "--set", f"train.batch_size={row.batch}", "--set", "train.resident=true"]
        for change in [*row.changes, *([f"microbatch_size={micro}"] if micro else [])]:
            command += ["--set", change]
        tune = "0" if m.args.standin else "1"
        p = Measured(m, bench.Program(command, **{**m.env, "TUTTI_TUNE": tune}), row.batch)
        try:
            p.warm(max(20, m.left() * 0.6))
            if micro:
                m.say(f"{row.name}: there is no memory for more than {micro} samples at once")
            return p, micro
        except bench.Failed as failure:
            p.end()
            why = str(failure)
            if "microbatch_size" not in why and not any(w in why for w in NO_MEMORY):
                break
    raise bench.Failed(why)


def peer(m, row, setting, batch):
    """PyTorch in one setting, warm; Failed where it cannot."""
    where = "" if m.args.standin else "cuda+"
    words = f"{where}{setting}{row.words}+batch{batch}{row.shape}"
    p = Measured(m, bench.Program([m.python, BENCH / "peers" / "torch_peer.py", row.row, "bf16", words, "4"]), batch)
    try:
        said = p.program.line(90)
        if said[0] != "ready":
            raise bench.Failed(" ".join(said[1:]))
        p.warm(max(20, m.left() * 0.85))
        return p
    except bench.Failed:
        p.end()
        raise


def fits(m):
    """Whether the GPU has room for what runs there now: PyTorch slows down long before it fails."""
    used = m.memory_used()
    return used is None or used < 0.92 * m.result["memory_mib"]


def start_peer(m, row, setting, ours):
    """(peer, ours or None): a peer that fits, alone if it must be, at a smaller batch if it must be."""
    why = None
    for batch in (row.batch, *row.smaller):
        for alone in (False, True):
            if alone and ours:
                ours.end()
                ours = None
            try:
                p = peer(m, row, setting, batch)
                if fits(m) or alone or not ours:
                    return p, ours
                p.end()
            except bench.Failed as failure:
                why = failure
                if not any(w in str(failure) for w in NO_MEMORY):
                    raise
    raise why


def compare(m, row, setting, ours, found):
    """Blocks in turn with a peer.  ours, or None if it had to make room."""
    theirs, ours = start_peer(m, row, setting, ours)
    try:
        end = time.monotonic() + (0 if m.args.standin else min(15.0, m.left() / 2))
        before = list(ours.times) if ours else []
        if ours:
            ours.times = []
        while not theirs.times or time.monotonic() < end:
            if ours:
                ours.block()
            theirs.block()
        rate = theirs.rate(row.each)
        found["peers"][setting] = {
            "version": m.result.get("torch"), "batch": theirs.batch, "step_s": statistics.median(theirs.times),
            "per_second": rate, "first_step_s": theirs.first, "in_turn": ours is not None,
            "ratio": (ours.rate(row.each) if ours else found["per_second"]) / rate}
        if ours:
            ours.times += before
    finally:
        theirs.end()
    return ours


def measure(m, row):
    """A row of the table."""
    ours = None
    try:
        ours, micro = own(m, row)
        end = time.monotonic() + (0 if m.args.standin else min(6, m.left() / 3))
        card = {}
        with m.watched(card):
            while not ours.times or time.monotonic() < end:
                ours.block()
        found = {"id": row.id, "name": row.name, "same": row.same, "unit": row.unit, "batch": row.batch,
                 "microbatch": micro, "first_step_s": ours.first, "per_second": ours.rate(row.each),
                 "memory_mib": m.memory_used(), "step_s": statistics.median(ours.times), "peers": {}, **card}
        keep(m, found)
        m.say(f"{row.id}: {1e3 * found['step_s']:.2f} ms a step, {found['per_second']:.0f} {row.unit} a second"
              f"{'' if found['memory_mib'] is None else ', ' + str(found['memory_mib']) + ' MiB of the GPU'}"
              f", the first step after {found['first_step_s']:.1f} s"
              + (f", {card['watts']:.0f} W at {card['sm_mhz']:.0f} MHz" if card else ""))
        m.save()
    except bench.Failed as why:
        m.wrong(row.id, str(why))
    finally:
        if ours:
            ours.end()


def keep(m, found):
    """In the place of what an earlier call measured."""
    others = [b for b in m.result.get("bench", []) if b["id"] != found["id"]]
    m.result["bench"] = [*others, found]


def share(setting):
    """Of the time for peers: compiling takes most of a minute where it was not done before."""
    return 3 if "compile" in setting else 1


def peers(m, row):
    """PyTorch in each of its settings beside a row, blocks in turn; compiled code stays in its caches from row to
    row."""
    if not m.python:
        m.say(f"{row.id}: there is no Python with torch to measure beside it")
        return
    end = m.stage_end
    for at, setting in enumerate(row.settings):
        m.stage_end = time.monotonic() + (end - time.monotonic()) * share(setting) / sum(map(share, row.settings[at:]))
        if m.left() < 15 and not m.args.standin:
            m.say(f"{row.id}: no time left for PyTorch {setting}")
            continue
        beside(m, row, setting)
        m.save()
    m.stage_end = end


def beside(m, row, setting):
    ours = None
    try:
        ours, micro = own(m, row)
        ours.block()
        found = next((b for b in m.result.get("bench", []) if b["id"] == row.id), None)
        if not found:
            found = {"id": row.id, "name": row.name, "same": row.same, "unit": row.unit, "batch": row.batch,
                     "microbatch": micro, "first_step_s": ours.first, "per_second": ours.rate(row.each),
                     "memory_mib": m.memory_used(), "step_s": statistics.median(ours.times), "peers": {}}
            keep(m, found)
        ours = compare(m, row, setting, ours, found)
    except (bench.Failed, subprocess.SubprocessError) as why:
        m.say(f"{row.id}: PyTorch {setting}: {str(why)[:300]}")
    finally:
        if ours and ours.program.process.poll() is None:
            ours.end()


def table(m):
    heads = [("fused", "to eager"), ("fused+compile", "to compiled"), ("fused+compile+graphs", "with graphs")]
    m.say(f"\n{'on ' + m.result['gpu']:<28}{'ms a step':>10}{'a second':>12}"
          + "".join(f"{h:>13}" for _, h in heads))
    for b in m.result.get("bench", []):
        ratios = [b["peers"].get(setting) for setting, _ in heads]
        m.say(f"{b['name']:<28}{1e3 * b['step_s']:>10.2f}{b['per_second']:>12.0f}" + "".join(
            f"{'-' if not r else format(r['ratio'], '.2f') + ('' if r['in_turn'] else ' *'):>13}" for r in ratios))
    m.say("ratios are Tutti's rate over PyTorch's, by blocks in turn; * one after the other, for want of memory; "
          "16 bits, F32 without TF32")
    for name, p in m.result.get("parity", {}).items():
        m.say(f"{name:<28}weights differ by {p['weights']}, losses by {p['losses']:.2g}")
    for what in m.result["wrong"]:
        m.say(f"WRONG {what[:160]}")


KINDS = 12  # of a row's launches that are findings


def find(m):
    """What rows say of each other and of their peers, and launches of themselves, as findings."""
    found = []

    def add(lost_ms, text):
        found.append({"lost_ms": lost_ms if lost_ms > 0 else None, "text": text})
    bench_of = {b["id"]: b for b in m.result.get("bench", [])}
    for b in bench_of.values():
        other = bench_of.get(b["same"])
        if other:
            add(1e3 * (other["step_s"] - b["step_s"]), f"{other['id']}: {1e3 * other['step_s']:.2f} ms a step, "
                f"{b['name']} {1e3 * b['step_s']:.2f}")
        for setting, p in b["peers"].items():
            add(1e3 * b["step_s"] * (1 - p["ratio"]), f"{b['id']}: {p['ratio']:.2f} times the rate of PyTorch {setting}")
    for row, kinds in m.result.get("kinds", {}).items():
        for one in kinds[:KINDS]:
            add(one["ms"], f"{row}: {one['count']:.4g} launches of {one['kind']} a step")
    return found


def page(m):
    """findings.txt: what is wrong, then what costs most."""
    found = sorted([*m.result["findings"], *find(m)], key=lambda f: -(f["lost_ms"] or 0.0))
    lines = [f"WRONG {what[:300]}" for what in m.result["wrong"]]
    lines += [f"{'' if f['lost_ms'] is None else format(f['lost_ms'], '.2f') + ' ms':>12}  {f['text']}" for f in found]
    (m.args.output / "findings.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    m.say("\nfindings, by milliseconds of a step")
    for line in lines[:40]:
        m.say(line)
