#!/usr/bin/env bash
# logged_media_test.sh - tables and images in a real run: what they show, whom they reach, whom they pass by.
. "$(dirname "$0")/lib.sh"

small_run '"loggers": [{"name": "jsonl"}, {"name": "console"}, {"name": "file"}]' |
  sed 's/"callbacks": \[/"callbacks": [{"name": "eval_output_logging"}, /' >run.json
check "a run with tables" "$TUTTI" train run.json --set max_duration=2ep
check "a table an evaluation, with the answers that its accuracy counts" python3 - <<'PY'
import json
rows = [json.loads(line) for line in open("runs/small/log.jsonl")]
tables = [r for r in rows if r["kind"] == "table"]
accuracy = [r["values"]["metrics/test/accuracy"] for r in rows if "metrics/test/accuracy" in r.get("values", {})]
assert [t["name"] for t in tables] == ["test_step_10", "test_step_20"], tables
assert tables[0]["columns"] == ["outputs", "labels", "correct", "run_name"], tables[0]["columns"]
for t, a in zip(tables, accuracy, strict=True):
    right = [r[2] for r in t["data"]]
    assert len(right) == 100 and abs(sum(right) / 100 - a) < 1e-6, (sum(right), a)
    assert all((r[0] == r[1]) == r[2] and r[3] == "small" for r in t["data"])
said = [r["text"] for r in rows if "tables are logged" in r.get("text", "")]
assert said == ["tables are logged; they pass by what takes none: console"], said
lines = [line for line in open("runs/small/log.txt") if line.startswith("[table]: ")]
split = json.loads(lines[1].split(": ", 2)[2])
assert split == {"columns": tables[1]["columns"], "data": tables[1]["data"]}, lines[1][:300]
PY
rm -r saves
says "nobody takes them" 0 "tutti: train: tables are logged, and no logger of the run takes them" \
  "$TUTTI" train run.json --quiet --set max_duration=2ep --set 'loggers=[]' --set name=alone
rm -r saves runs
small_run '"loggers": [{"name": "jsonl"}], "microbatch_size": 16, "distributed": {"comm": {"name": "shared_memory", "mailbox_mib": 1}, "join_timeout_s": 60, "timeout_s": 60}' |
  sed 's/"callbacks": \[/"callbacks": [{"name": "eval_output_logging", "print_only_incorrect": true}, /; s/"threads": 2/"threads": 1/; s/"batch_size": 50/"batch_size": 8/' >world.json
export TUTTI_WORLD_SIZE=2 TUTTI_JOB=$work
TUTTI_RANK=1 "$TUTTI" train world.json --quiet --set max_duration=1ep >one.out 2>&1 &
check "process 0 of two" env TUTTI_RANK=0 "$TUTTI" train world.json --quiet --set max_duration=1ep
check "process 1 of two" wait $!
unset TUTTI_WORLD_SIZE TUTTI_JOB
check "all their wrong answers are in one table" python3 - <<'PY'
import json
rows = [json.loads(line) for line in open("runs/small/log.jsonl")]
(table,) = [r for r in rows if r["kind"] == "table"]
(accuracy,) = [r["values"]["metrics/test/accuracy"] for r in rows if "metrics/test/accuracy" in r.get("values", {})]
assert abs(1 - len(table["data"]) / 100 - accuracy) < 1e-6, (len(table["data"]), accuracy)
assert not any(r[2] for r in table["data"])
PY

# ---- images ----
pictures() { # pictures <folder>: a line "TAG WIDTHxHEIGHT" for each in its event files
  python3 - "$1" <<'PY'
import glob, re, struct, sys
data = b"".join(open(f, "rb").read() for f in sorted(glob.glob(sys.argv[1] + "/events*")))
for m in re.finditer(rb"\n.(Images/[A-Za-z_/]+)\"", data):
    at = data.index(b"\x89PNG", m.end())
    print(m[1].decode(), "%dx%d" % struct.unpack(">II", data[at + 16:at + 24]))
PY
}
rm -r saves
small_run '"loggers": [{"name": "tensorboard"}, {"name": "jsonl"}, {"name": "file"}]' |
  sed 's/"callbacks": \[/"callbacks": [{"name": "eval_output_logging"}, {"name": "image_visualizer", "interval": "15ba", "num_images": 10, "mode": "classification"}, /; s/"mlp", "hidden": \[32\], "dropout": 0.1/"cnn"/; s/"small"/"pictures"/' >run.json
check "a run with images" "$TUTTI" train run.json --quiet
pictures tensorboard_logs/pictures >got.txt
check "of training at batches 0 and 15, of each of three evaluations" diff - got.txt <<'TXT'
Images/Train 224x56
Images/Eval 224x56
Images/Train 224x56
Images/Eval 224x56
Images/Eval 224x56
TXT
check "they pass by what takes none" grep -q '"images are logged; they pass by what takes none: file"' runs/pictures/log.jsonl
check "the log has the same ones with the classes that the accuracy counts" python3 - <<'PY'
import base64, json, struct
rows = [json.loads(line) for line in open("runs/pictures/log.jsonl")]
shown = [r for r in rows if r["kind"] == "images"]
assert [(r["name"], r["batch"]) for r in shown] == [
    ("Images/Train", 0), ("Images/Eval", 10), ("Images/Train", 15), ("Images/Eval", 20), ("Images/Eval", 30)]
for r in shown:
    files = [base64.b64decode(text, validate=True) for text in r["images"]]
    assert len(files) == len(r["predicted"]) == len(r["expected"]) == 10
    assert all(f[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", f[16:24]) == (28, 28) for f in files)
    assert all(0 <= c < 10 for c in r["predicted"] + r["expected"]), r
table = [r for r in rows if r["kind"] == "table"][-1]
first = [row[:2] for row in table["data"][:10]]
assert first == [list(pair) for pair in zip(shown[-1]["predicted"], shown[-1]["expected"])], first
PY
cat >segments.json <<'JSON'
{"name": "segments", "model": {"name": "unet", "width": 4, "depth": 2}, "train": {"dataset": {"name": "shapes", "samples": 16}, "transforms": [{"name": "to_float"}], "batch_size": 8},
 "eval": [{"label": "test", "dataset": {"name": "shapes", "samples": 8, "split": "test"}, "transforms": [{"name": "to_float"}], "batch_size": 8}],
 "optimizer": {"name": "sgd", "lr": 0.05}, "max_duration": "1ep", "threads": 2, "loggers": [{"name": "tensorboard", "histogram_interval": 2, "graph": true}],
 "callbacks": [{"name": "image_visualizer", "mode": "segmentation", "num_images": 2}]}
JSON
check "a run with masks" "$TUTTI" train segments.json --quiet
pictures tensorboard_logs/segments | cut -d' ' -f1 >got.txt
check "beside their images" diff - got.txt <<'TXT'
Images/Train
Images/Train/prediction
Images/Train/ground_truth
Images/Eval
Images/Eval/prediction
Images/Eval/ground_truth
TXT
check "a histogram of each weight that is trained and of its gradient, at batch 2" python3 - <<'PY'
import glob, re
data = b"".join(open(f, "rb").read() for f in glob.glob("tensorboard_logs/segments/events*"))
tags = {kind: re.findall(rb"\n[\x00-\x7f]" + kind + rb"/([a-z0-9_.]+)", data) for kind in (b"param", b"grad")}
assert tags[b"param"] == tags[b"grad"] and len(set(tags[b"grad"])) == len(tags[b"grad"]) > 10, tags
PY
check "the graph of the model: operations below their modules, of what was read before" python3 - <<'PY'
import glob
data = b"".join(open(f, "rb").read() for f in glob.glob("tensorboard_logs/segments/events*"))
names = (b"inputs/input", b"inc/double_conv/0/weight", b"inc/double_conv/0/conv2d_0")
nodes = [bytes([10, len(n)]) + n for n in names]  # field 1
places = [data.index(n) for n in nodes]
assert places == sorted(places) and all(data.count(n) == 1 for n in nodes), places
for n in nodes[:2]:  # the convolution's inputs, field 3
    assert data.index(bytes([26]) + n[1:]) > places[2], n
PY
finish
