#!/usr/bin/env bash
# out_of_memory_test.sh - a limit of memory that is really exceeded: what oom_observer writes of it.
. "$(dirname "$0")/lib.sh"
[ -z "$SANITIZE" ] || skip_all "memory that ends: the shadow memory of -fsanitize=$SANITIZE is larger than any limit"

small_run | sed 's/"mlp", "hidden": \[32\], "dropout": 0.1/"cnn"/; s/"callbacks": \[/"callbacks": [{"name": "oom_observer"}, /' >run.json
limited() { (ulimit -v 1500000 && exec "$TUTTI" train run.json --quiet --set max_duration=1ba --set eval=[] "$@"); }
limited --set train.dataset.samples=16000 --set train.batch_size=16000 >out.txt 2>err.txt
check "a plan of more than the limit ends the run" test $? = 1
check "whose sentence is told" grep -Eq '^tutti: .*(no memory for an arena of [0-9]+ bytes|needs .* are available)' err.txt
check "and where its plan is" grep -Eq '^tutti: oom_observer: memory is out; .*runs/small/torch_traces has what was to lie in it$' err.txt
check "the plan that did not fit is written" python3 - <<'PY'
import json
s = json.load(open("runs/small/torch_traces/rank0_oom_snapshot.json"))
assert s["planned"] and s["device"] == "cpu" and s["text"] in open("err.txt").read(), s["text"]
assert s["wanted_bytes"] >= s["arena_bytes"] >= s["peak_bytes"] > 1500000 * 1024, s["wanted_bytes"]
assert s["places"] == len(s["results"]) and any(r["op"] == "conv2d" or "conv" in r["op"] for r in s["results"])
assert sum(r["bytes"] for r in s["results"]) >= s["peak_bytes"]
PY
check "as a picture too" grep -q '<rect' runs/small/torch_traces/rank0_oom_segment_plot.html
rm -r runs
limited --set train.dataset.samples=64 >out.txt 2>err.txt
check "a run that fits writes nothing" test $? = 0 -a -z "$(ls runs/small/torch_traces)"
finish
