"""How near a training step is to this machine: FLOPs at the measured peak or bytes at the triad, whichever takes longer."""
import json
import os
import subprocess
import tempfile

KINDS = ("products", "convolutions", "attention", "normalisation", "pointwise", "loss", "casts", "optimizer",
         "other", "between")
POINTWISE = {"abs", "add", "affine", "axpby", "clamp", "cmp", "copy", "div", "dropout", "erf", "exp", "gelu", "log",
             "max", "min", "mul", "neg", "pow", "relu", "rsqrt", "sigmoid", "silu", "sin", "cos", "softplus", "sqrt",
             "sub", "tanh", "where"}
LOSSES = ("cross_entropy", "ctc")
SLOTS = {"adamw": 2, "sgd": 1}  # of the optimizers that rows measure alone


def kind_of(name):
    """The kind of an operation, or of a group of fused ones, whose names are joined by +."""
    first = name.split("+")[0]
    for start, kind in (("matmul", "products"), ("conv2d", "convolutions"), ("sdpa", "attention")):
        if first.startswith(start):
            return kind
    if "_norm" in first:
        return "normalisation"
    if any(word in first for word in LOSSES):
        return "loss"
    if name == "cast":
        return "casts"
    return "pointwise" if "+" in name or first.removesuffix("_grad") in POINTWISE else "other"


class Machine:
    """What it does at best: FLOPs a second by dtype, bytes a second."""

    def __init__(self, text):
        lines = [line.split() for line in text.splitlines() if line.endswith("/s")]
        self.bytes = max(float(w[-2]) for w in lines if w[0] == "triad") * 1e9
        f32 = max(float(w[-2]) for w in lines if w[0] == "f32") * 1e9
        self.flops = {"f32": f32, "bf16": max([f32] + [1e9 * float(w[-2]) for w in lines if w[0] == "bf16"])}

    def seconds(self, flops, size, dtype):
        """The least time for so many FLOPs and bytes."""
        return max(flops / self.flops[dtype], size / self.bytes)

    def text(self):
        rates = ", ".join(f"{rate * 1e-9:,.0f} GFLOP/s in {dtype}" for dtype, rate in self.flops.items())
        return f"{rates}, {self.bytes * 1e-9:.1f} GB/s (triad)"


def measured_machine(tutti, threads):
    """By `tutti bench peak`, now."""
    said = subprocess.run([str(tutti), "bench", "peak"], text=True, capture_output=True, check=False, timeout=120,
                          env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    if said.returncode:
        raise ValueError(f"tutti bench peak: {(said.stderr.strip().splitlines() or ['says nothing'])[-1]}")
    return Machine(said.stdout)


def profile(command, batches):
    """What `tutti profile --json` says of the run of `command`."""
    words = [*command, "--batches", str(batches), "--set", "callbacks=[]", "--json"]
    with tempfile.TemporaryDirectory() as folder:  # for its time line
        said = subprocess.run(words, text=True, capture_output=True, check=False, timeout=900, cwd=folder)
    if said.returncode:
        raise ValueError(f"tutti profile: {(said.stderr.strip().splitlines() or ['says nothing'])[-1]}")
    return json.loads(said.stdout)


def update_bytes(weights, slots):
    """Of one update: gradients are read, weights and slots read and written."""
    return weights * (12 + 8 * slots)


def kinds(p, machine, dtype):
    """{kind: {"count", "ms", "bound_ms", "flops", "bytes"}} of a batch; `between` is time in no operation."""
    rows = {k: {"count": 0.0, "ms": 0.0, "bound_ms": 0.0, "flops": 0.0, "bytes": 0.0} for k in KINDS}
    for op in p["operations"]:
        row = rows[kind_of(op["name"])]
        for key in ("count", "ms", "flops", "bytes"):
            row[key] += op[key]
        row["bound_ms"] += 1e3 * machine.seconds(op["flops"], op["bytes"], dtype)
    update = rows["optimizer"]
    for plugin in p["plugins"]:
        if plugin["name"].startswith("update/"):
            update["count"] += plugin["count"]
            update["ms"] += plugin["ms"]
    update["bytes"] = update_bytes(p["trained"], p["slots"]) * update["count"]
    update["bound_ms"] = 1e3 * update["bytes"] / machine.bytes
    rows["between"]["ms"] = max(0.0, p["batch_ms"] - sum(row["ms"] for row in rows.values()))
    return rows


def waits(p):
    """The share of a step that waits for the loader."""
    loader = sum(e["ms"] for e in p["events"] if e["name"] == "dataloader")
    return loader / (loader + p["batch_ms"])


def of_row(command, machine, dtype, batches=8):
    """{"bound_ms", "waits", "kinds", "batch_ms"} of a run file's training step."""
    p = profile(command, batches)
    rows = kinds(p, machine, dtype)
    return {"bound_ms": sum(row["bound_ms"] for row in rows.values()), "waits": waits(p), "kinds": rows,
            "batch_ms": p["batch_ms"]}


def of_optimizer(row, machine):
    """The same of o_NAME_COUNT, one update of so many weights; it has no kinds."""
    _, name, count = row.split("_")
    return {"bound_ms": 1e3 * update_bytes(int(count), SLOTS[name]) / machine.bytes, "waits": None, "kinds": {},
            "batch_ms": None}


def table(row, dtype, found):
    """Where the time of a row's step goes by kind, longest first."""
    rows = sorted((r for r in found["kinds"].items() if r[1]["ms"]), key=lambda r: -r[1]["ms"])
    whole = found["batch_ms"]
    above = sum(max(0.0, r["ms"] - r["bound_ms"]) for _, r in rows)
    lines = [f"{row} {dtype}, {whole:.3g} ms a step with its profile:", "",
             "| kind | steps | time | of the step | bound | of the bound | above the bound | of all that is above |",
             "|---|---|---|---|---|---|---|---|"]
    for name, r in rows:
        more = max(0.0, r["ms"] - r["bound_ms"])
        lines.append(f"| {name} | {r['count']:.0f} | {r['ms']:.3f} ms | {100 * r['ms'] / whole:.1f} % "
                     f"| {r['bound_ms']:.3f} ms | {100 * r['bound_ms'] / r['ms']:.0f} % | {more:.3f} ms "
                     f"| {100 * more / above if above else 0:.1f} % |")
    ms, bound = sum(r["ms"] for _, r in rows), sum(r["bound_ms"] for _, r in rows)
    return "\n".join([*lines, f"| all | {sum(r['count'] for _, r in rows):.0f} | {ms:.3f} ms | {100 * ms / whole:.1f} % "
                      f"| {bound:.3f} ms | {100 * bound / ms:.0f} % | {above:.3f} ms | 100.0 % |"])
