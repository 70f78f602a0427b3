"""Training steps a second on the GPU, block by block in turn with PyTorch's."""
import importlib.machinery
import importlib.util
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
    name: str
    row: str
    part: int             # of the time that is left
    batch: int
    each: int             # units in a sample
    unit: str
    changes: list = field(default_factory=list)
    shape: str = ""       # of a peer's input behind its batch, as x1024
    words: str = ""
    settings: tuple = ("fused", "fused+compile")
    smaller: tuple = ()   # batches of a peer that has no memory for this one


ROWS = [
    Row("GPT-2 124M, 64 x 1024", "b8_gpt2_124m", 30, 64, 1024, "tokens",
        ["train.dataset.length=1024", "train.dataset.samples=1024"], "x1024", smaller=(32, 16)),
    Row("ResNet-50, 256", "b6_resnet50", 22, 256, 1, "images", ["train.dataset.samples=1024"],
        words="+nhwc", smaller=(128,)),
    Row("ResNet-20, 512", "b4_resnet20", 14, 512, 1, "images", ["train.dataset.samples=4096"],
        words="+nhwc", settings=("fused", "fused+compile", "fused+compile+graphs")),
]
TINY = [Row("MLP", "b1_mlp_tiny", 30, 32, 1, "samples", smaller=(16,))]
NO_MEMORY = ("out of memory", "not enough memory", "can't allocate", "OutOfMemory", "invalid size")


def load_bench():
    """tools/bench/run, which has no ending .py."""
    sys.path.insert(0, str(BENCH))
    loader = importlib.machinery.SourceFileLoader("bench_run", str(BENCH / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", loader))
    loader.exec_module(module)
    return module


bench = load_bench()


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


def own(m, row):
    """Tutti, with as large a part of a batch at once as there is memory for."""
    why = "no time"
    for micro in (None, row.batch // 2, row.batch // 4):
        command = [m.build / "tutti", "train", BENCH / "rows" / f"{row.row}.json", "--quiet", "--device", "cuda",
                   "--plugin-path", m.build / "bench", "--set", "precision=amp_bf16",
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
        p.warm(max(20, m.left() * 0.7))
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
        end = time.monotonic() + (0 if m.args.standin else 4)
        while not ours.times or time.monotonic() < end:
            ours.block()
        found = {"name": row.name, "unit": row.unit, "batch": row.batch, "microbatch": micro,
                 "first_step_s": ours.first, "per_second": ours.rate(row.each), "memory_mib": m.memory_used(),
                 "step_s": statistics.median(ours.times), "peers": {}}
        m.result.setdefault("bench", []).append(found)
        m.say(f"{row.name}: {1e3 * found['step_s']:.2f} ms a step, {found['per_second']:.0f} {row.unit} a second"
              f"{'' if found['memory_mib'] is None else ', ' + str(found['memory_mib']) + ' MiB of the GPU'}")
        m.save()
        for setting in row.settings if m.python else ():
            if m.left() < 15 and not m.args.standin:
                m.say(f"{row.name}: no time left for PyTorch {setting}")
                continue
            try:
                if not ours and m.left() > 60:
                    ours, _ = own(m, row)
                ours = compare(m, row, setting, ours, found)
            except (bench.Failed, subprocess.SubprocessError) as why:
                m.say(f"{row.name}: PyTorch {setting}: {str(why)[:300]}")
                ours = ours if ours and ours.program.process.poll() is None else None
            m.save()
        if ours and ours.times:
            found.update(per_second=ours.rate(row.each), step_s=statistics.median(ours.times))
    except bench.Failed as why:
        m.wrong(row.name, str(why))
    finally:
        if ours:
            ours.end()


def table(m):
    heads = [("fused", "to eager"), ("fused+compile", "to compiled"), ("fused+compile+graphs", "with graphs")]
    m.say(f"\n{'on ' + m.result['gpu']:<28}{'ms a step':>10}{'a second':>12}"
          + "".join(f"{h:>13}" for _, h in heads))
    for b in m.result.get("bench", []):
        ratios = [b["peers"].get(setting) for setting, _ in heads]
        m.say(f"{b['name']:<28}{1e3 * b['step_s']:>10.2f}{b['per_second']:>12.0f}" + "".join(
            f"{'-' if not r else format(r['ratio'], '.2f') + ('' if r['in_turn'] else ' *'):>13}" for r in ratios))
    m.say("ratios are Tutti's rate over PyTorch's, by blocks in turn; * one after the other, for want of memory")
    for name, p in m.result.get("parity", {}).items():
        m.say(f"{name:<28}weights differ by {p['weights']}, losses by {p['losses']:.2g}")
    for what in m.result["wrong"]:
        m.say(f"WRONG {what[:160]}")
