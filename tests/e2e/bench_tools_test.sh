#!/usr/bin/env bash
# bench_tools_test.sh - tools/bench on tiny models: the shape of its tables and their arithmetic, never a time.
. "$(dirname "$0")/lib.sh"
build="$(dirname "$TUTTI")"
bench=$SOURCE/tools/bench
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$bench
[ -e "$build/bench/pace/plugin.json" ] || skip_all "the plugins of tools/bench are not built"

check "kinds, bounds and exponents by hand" python3 - <<'PY'
import importlib.machinery
import importlib.util
import os
import roofline

for name, kind in {"matmul_act_grad": "products", "conv2d_grad_weight": "convolutions", "sdpa_packed": "attention",
                   "batch_norm_apply": "normalisation", "add+relu_grad": "pointwise", "gelu_grad": "pointwise",
                   "cast": "casts", "cast+mul": "pointwise", "softmax_cross_entropy_grad": "loss", "ctc": "loss",
                   "gather": "other", "sum_to": "other"}.items():
    assert roofline.kind_of(name) == kind, (name, roofline.kind_of(name))
m = roofline.Machine("2 threads\nf32   FMA of 512 bits 200.0 GFLOP/s\nbf16  vdpbf16ps 100.0 GFLOP/s\n"
                     "triad a = b + s c 20.0 GB/s\n")
assert m.flops == {"f32": 200e9, "bf16": 200e9} and m.bytes == 20e9, vars(m)
assert m.seconds(400e9, 20e9, "f32") == 2 and m.seconds(100e9, 20e9, "f32") == 1
p = {"batch_ms": 100.0, "trained": 1000000, "slots": 2,
     "operations": [{"name": "matmul", "count": 2, "ms": 40.0, "flops": 4e9, "bytes": 1e8},
                    {"name": "matmul_act", "count": 1, "ms": 20.0, "flops": 0.0, "bytes": 2e8},
                    {"name": "add", "count": 1, "ms": 10.0, "flops": 0.0, "bytes": 1e8}],
     "events": [{"name": "dataloader", "ms": 25.0}, {"name": "batch", "ms": 100.0}],
     "plugins": [{"name": "update/optimizer", "count": 1, "ms": 5.0}, {"name": "algorithm/ema", "count": 1, "ms": 3.0}]}
rows = roofline.kinds(p, m, "f32")
assert abs(rows["products"]["bound_ms"] - 30) < 1e-9 and rows["products"]["ms"] == 60, rows
assert abs(rows["pointwise"]["bound_ms"] - 5) < 1e-9 and abs(rows["optimizer"]["bound_ms"] - 1.4) < 1e-9, rows
assert abs(rows["between"]["ms"] - 25) < 1e-9 and roofline.waits(p) == 0.2, rows
lines = roofline.table("row", "f32", {"kinds": rows, "batch_ms": 100.0}).splitlines()
assert lines[4] == "| products | 3 | 60.000 ms | 60.0 % | 30.000 ms | 50 % | 30.000 ms | 47.2 % |", lines
assert lines[-1] == "| all | 5 | 100.000 ms | 100.0 % | 36.400 ms | 36 % | 63.600 ms | 100.0 % |", lines

path = os.environ["SOURCE"] + "/tools/bench/scale"
spec = importlib.util.spec_from_loader("scale", importlib.machinery.SourceFileLoader("scale", path))
scale = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scale)
assert abs(scale.slope([1, 2, 4, 8], [3, 12, 48, 192]) - 2) < 1e-12 and scale.slope([4], [1]) is None
points = [{"value": v, "step_ms": v ** 1.5, "bound_ms": v, "gflop": v, "plan_ms": 1.0, "memory_mb": v, "first_s": 0.0}
          for v in (1, 2, 4)]
found, marked = scale.exponents("batch", points)
assert abs(found["step_ms"] - 1.5) < 1e-9 and found["first_s"] is None and marked == ["step_ms"], (found, marked)
PY

check "both precisions of a row beside each other" python3 - <<'PY'
import precisions

def row(name, dtype, ours, peer=None, against="torch"):
    return {"row": name, "dtype": dtype, "ours_ms": ours, "against": against if peer else "", **({"peer_ms": peer} if peer else {})}
rows = [row("b1", "f32", 3.0, 6.0), row("b1", "f32", 3.0, 12.0, "Composer"), row("b1", "bf16", 2.0, 8.0),
        row("b1", "bf16", 4.0, 10.0, "Composer"), row("b2", "f32", 5.0), row("b2", "bf16", 2.5), row("b3", "f32", 1.0, 2.0),
        row("t_b1", "f32 cold", 9.0, 9.0), row("b4", "f32", 1.0, 2.0), row("b4", "bf16", 0.5)]
found = precisions.compared(rows)
assert found == [
    {"row": "b1", "against": "torch", "ours_best": "bf16", "f32_over_bf16": 1.5, "peer_best": "f32", "best_with_best": 3.0},
    {"row": "b1", "against": "Composer", "ours_best": "f32", "f32_over_bf16": 0.75, "peer_best": "bf16",
     "best_with_best": 10.0 / 3.0},
    {"row": "b2", "against": "", "ours_best": "bf16", "f32_over_bf16": 2.0}], found
assert precisions.table(found).splitlines()[2:] == [
    "| b1 | 1.50 | 3.00 | bf16 | f32 |", "| b1, Composer | 0.75 | 3.33 | f32 | bf16 |", "| b2 | 2.00 |  | bf16 |  |"], found
assert precisions.compared([]) == []
PY

small="--pairs 1 --seconds 0.01 --build $build --threads 2 --python $work/no_python"
check "rows without torch" python3 "$bench/run" b1_mlp_tiny o_sgd_1024000 t_b4_resnet20 --roofline --dtype f32 $small --json table.json
mv check.out table.txt
check "their table" python3 - <<'PY'
import json
text = open("table.txt").read()
assert text.count("torch is not installed for ") == 1 and "Traceback" not in text, text
rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith(("| row |", "| b1", "| o_", "| t_"))]
assert [row[0].strip() for row in rows] == ["row", "b1_mlp_tiny", "o_sgd_1024000", "t_b4_resnet20", "t_b4_resnet20"], text
assert [row[1].strip() for row in rows[3:]] == ["f32 cold", "f32 warm"] and all(len(row) == 11 for row in rows), rows
assert all(row[4].strip().endswith(" ms") and not row[2].strip() for row in rows[1:]), rows
mlp, sgd, *first = json.load(open("table.json"))["rows"]
found = mlp["roofline"]
assert abs(mlp["of_bound"] - found["bound_ms"] / mlp["ours_ms"]) < 1e-12 and 0 <= found["waits"] < 1, mlp
# Two for every product of weights of 64 x 64, 64 x 64 and 64 x 10: forward, of weights, of inputs but the first.
flops = 2 * 32 * (2 * 64 * 64 + 3 * 64 * 64 + 3 * 64 * 10)
assert found["kinds"]["products"]["flops"] == flops, (found["kinds"], flops)
assert abs(sum(k["ms"] for k in found["kinds"].values()) - found["batch_ms"]) < 1e-6, found
assert found["kinds"]["optimizer"]["bytes"] == 20 * (2 * 64 * 64 + 64 * 10 + 64 + 64 + 10), found["kinds"]
assert "roofline" in sgd and all("roofline" not in row for row in first), first
assert "| kind | steps | time |" in text and "| products | 8 |" in text, text
PY
cat >peer <<'PY'
#!/usr/bin/env python3
"""A peer whose steps take 10 ms each, as it says."""
import sys
if sys.argv[1] != "-c":
    print("ready 9.9", 1024, flush=True)
    for line in sys.stdin:
        print(int(line) * 10000000, 3072, flush=True)
PY
chmod +x peer
check "rows beside a peer" python3 "$bench/run" b1_mlp_tiny t_b4_resnet20 --pairs 2 --seconds 0.02 --build "$build" \
  --threads 2 --python "$work/peer" --settings fused --json peer.json
mv check.out peer.txt
check "their ratios" python3 - <<'PY'
import json
text = open("peer.txt").read()
assert "not installed" not in text and "of the bound" not in text, text
out = json.load(open("peer.json"))
step, composer, half, composer_half, *first = out["rows"]
assert abs(step["peer_ms"] - 10) < 1e-9 and step["peer"] == "torch 9.9" and step["setting"] == "fused", step
assert step["low"] <= step["ratio"] <= step["high"] and step["peer_growth_mb"] == 2 and step["pairs"] == 2, step
assert (composer["against"], half["dtype"], composer_half["against"]) == ("Composer", "bf16", "Composer"), out
assert [row["dtype"] for row in first] == ["f32 cold", "f32 warm"], first
assert all(row["ratio"] > 0 and row["peer_ms"] > 0 for row in first), first
line = next(line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| b1"))
assert len(line) == 9 and line[2].strip() == f"{step['ratio']:.2f}" and line[8].strip() == "torch 9.9 fused", line
plain, other = out["precisions"]
assert (plain["row"], plain["against"], other["against"]) == ("b1_mlp_tiny", "torch", "Composer"), out["precisions"]
assert plain["f32_over_bf16"] == step["ours_ms"] / half["ours_ms"], (plain, step, half)
assert text.count("| row | our f32 over our bf16 | best with best | our best | the peer's best |") == 1, text
PY
check "a row of llm.c where a folder of it is named" python3 - <<'PY'
import os
import pathlib
from jobs import all_jobs
here = pathlib.Path(os.environ["SOURCE"]) / "tools" / "bench"
assert not [j for j in all_jobs(here, None, None) if j.llmc]
assert [(j.row, j.dtype) for j in all_jobs(here, None, here) if j.llmc] == [("b8_gpt2_124m", "f32")]
PY
check "a bound for every step but a second peer's of the same row" python3 - <<'PY'
import os
import pathlib
from jobs import all_jobs
here = pathlib.Path(os.environ["SOURCE"]) / "tools" / "bench"
bounded = {(j.name, j.kind, j.against) for j in all_jobs(here, None, here) if j.bounded}
assert ("b10_resnet20_recipe", "bf16", "Composer") in bounded and ("b10_gpt_recipe", "f32", "torch") in bounded, bounded
assert ("b1_mlp_tiny", "f32", "torch") in bounded and ("b1_mlp_tiny", "f32", "Composer") not in bounded, bounded
assert not [b for b in bounded if b[0].startswith(("t_", "p_")) or b[2] == "llm.c"], bounded
PY
check "rows of another row's run file: files, and a plan by itself" python3 - <<'PY'
import importlib.machinery
import importlib.util
import os
import pathlib
import types
import samples_files
from jobs import VARIANTS, all_jobs
path = os.environ["SOURCE"] + "/tools/bench/run"
spec = importlib.util.spec_from_loader("run", importlib.machinery.SourceFileLoader("run", path))
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)
build = pathlib.Path(os.environ["TUTTI"]).parent
args = types.SimpleNamespace(build=build, threads=2, files=os.getcwd(), made=set(), pairs=2)
jobs = [j for j in all_jobs(run.HERE, None, None) if j.variant]
assert {j.name for j in jobs} == set(VARIANTS) and [j.kind for j in jobs if j.plan] == ["f32"], jobs
for kind in {j.files for j in jobs if j.files}:
    samples_files.make(kind, args.files, 256, build / "tutti")
rows = {(j.name, j.dtype): run.arena_mb(args, j) for j in jobs}
base = {(j.row, j.dtype): run.arena_mb(args, j) for j in all_jobs(run.HERE, None, None) if j.name in ("b4_resnet20", "b7_gpt")}
for dtype in ("f32", "bf16"):
    assert rows["d_b4_resnet20_mds", dtype] == base["b4_resnet20", dtype], (rows, base)
    assert rows["d_b7_gpt_tokens", dtype] == base["b7_gpt", dtype], (rows, base)
job, = (j for j in jobs if j.plan)
r = run.measure(args, job, 60)
assert (r["row"], r["dtype"], r["pairs"], r["arena_mb"]) == ("p_gpt2_xl", "f32", 2, rows["p_gpt2_xl", "f32"]), r
assert len(run.text(r, True).split("|")) == 13 and r["ours_ms"] > 0, r
PY
python3 "$bench/run" b1_mlp_tiny --llmc "$work/nowhere" $small >llmc.out 2>llmc.err
check "a folder without llm.c is one sentence" test $? = 2 -a "$(tail -1 llmc.err)" = \
  "run: error: --llmc $work/nowhere: there is no train_gpt2; want a checkout of llm.c where it is built"

check "an axis" python3 "$bench/scale" gpt --axis batch --values 1 2 4 --seconds 0.01 --build "$build" --threads 1 --json scale.json \
  --set model.n_layer=1 --set model.n_embd=32 --set model.n_head=1 --set train.dataset.length=16
mv check.out scale.txt
check "its table" python3 - <<'PY'
import json
rows = [line.split("|")[1:-1] for line in open("scale.txt") if line.startswith("| ")]
assert [row[0].strip() for row in rows] == ["batch", "1", "2", "4", "exponent"] and {len(r) for r in rows} == {8}, rows
assert rows[-1][4].strip() == "1.00", rows[-1]
table, = json.load(open("scale.json"))
flops = [p["gflop"] for p in table["points"]]
assert abs(flops[1] - 2 * flops[0]) < 1e-12 and abs(flops[2] - 4 * flops[0]) < 1e-12, flops
assert all(p["step_ms"] > 0 and p["memory_mb"] > 1 and p["first_s"] > 0 for p in table["points"]), table
PY
says "an axis that is none" 2 "$(python3 "$bench/scale" --axis depht 2>&1 >/dev/null | head -n -1)
scale: error: no axis depht; there are batch, depth, sequence, side, threads, width" python3 "$bench/scale" --axis depht

check "a build beside itself" python3 "$bench/builds" "$build" b1_mlp_tiny --after "$build" --pairs 3 --seconds 0.02 --threads 1 \
  --dtype f32 bf16 --json builds.json
check "its table" python3 - <<'PY'
import json
table = json.load(open("builds.json"))
assert [(r["row"], r["dtype"]) for r in table] == [("b1_mlp_tiny", "f32"), ("b1_mlp_tiny", "bf16")], table
for r in table:
    assert 0 < r["low"] <= r["ratio"] <= r["high"] and r["before_ms"] > 0 < r["after_ms"], r
PY
says "no such row" 1 "builds: error: no row b1; there are $(cd "$bench/rows" && ls -v ./*.json | sed 's/^..//; s/.json$//' | paste -sd, | sed 's/,/, /g')" \
  python3 "$bench/builds" "$build" b1
says "no such build" 1 "builds: error: nowhere: there is no tutti; want the folder of a build" python3 "$bench/builds" "$work/nowhere"

check "loaders" python3 "$bench/loader" tokens mds tar --samples 256 --pairs 1 --workers 1 2 --build "$build"
mv check.out loader.txt
check "their table" python3 - <<'PY'
rows = [[cell.strip().replace(",", "") for cell in line.split("|")[1:-1]] for line in open("loader.txt")][2:]
assert [row[:2] for row in rows] == [[name, n] for name in ("tokens", "mds", "tar") for n in ("1", "2")], rows
for row in rows:
    a_second, mb = float(row[4]), float(row[6])
    size = 64 * 64 * 3 + 4 if row[0] == "tar" else 2 * 256 * 4  # input and target
    assert abs(mb - 1e-6 * size * a_second) < 0.1 + 1e-2 * mb, row
PY
python3 "$bench/loader" cifar --python "$work/no_python" --build "$build" >cifar.txt
check "a row without torchvision is one sentence" test $? = 1 -a "$(tail -1 cifar.txt)" = \
  "| cifar | torchvision, which makes this row's files, is not installed for $work/no_python |"
finish
