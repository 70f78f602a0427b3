#!/usr/bin/env bash
# report_test.sh - `tutti report`: one page that asks nothing of a network, whose numbers are those of the logs, whatever
# stands in names and messages; drawn by a browser where there is one.
. "$(dirname "$0")/lib.sh"
mkdir -p none
library=/usr/share/javascript/chart.js/chart.min.js
[ -e "$library" ] || echo 'var Chart = function () {};' >stand_in.js
[ -e "$library" ] || export TUTTI_CHART_JS=$work/stand_in.js

small_run '"loggers": [{"name": "jsonl", "log_traces": true}],
  "profiler": {"schedule": {"wait": 1, "warmup": 1, "active": 4, "repeat": 1}}' |
  sed 's/"workers": 2/"workers": 1/; s/"3ep"/"12ba"/' >run.json
check "a run" "$TUTTI" train run.json --quiet --set callbacks=[]
check "one with images and answers" "$TUTTI" train run.json --quiet --set name=shown --set 'model={"name": "cnn"}' --set 'loggers=[{"name": "jsonl"}]' \
  --set 'eval.0.metrics=[{"name": "confusion_matrix", "num_classes": 10}]' \
  --set 'callbacks=[{"name": "image_visualizer", "mode": "classification", "interval": "1ba"}, {"name": "eval_output_logging"}]'
check "one with algorithms" "$TUTTI" train run.json --quiet --set name=mixed --set callbacks=[] --set 'algorithms=[{"name": "mixup"}, {"name": "label_smoothing"}]'

# Runs made by hand: a name that would be markup, a log of 5000 values with gaps and a peak, texts, warnings.
python3 - <<'PY'
import json, math, os
evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
for name, folder, points in ((evil, "evil", 20), ("long", "long", 5000)):
    os.makedirs(f"made/{folder}")
    with open(f"made/{folder}/log.jsonl", "w") as log:
        def write(**line): log.write(json.dumps(line, separators=(",", ":")) + "\n")
        write(time=1000.0, kind="hyperparameters", values={"seed": 1})
        for k in range(points):
            value = 1e3 if k == 3333 else "NaN" if k == 40 else 2 * math.exp(-k / 900) + 0.1 * math.sin(k * 1.7)
            write(time=1000.0 + k / 10, kind="metrics", batch=k, epoch=0, values={"loss/train/total": value, "metrics/test/" + evil: k / points})
        write(time=2000.0, kind="message", level="warning", component="train", text="a warning: " + evil)
        for k in range(13):
            write(time=2000.5, kind="table", batch=100 * k, name=f"{evil}_step_{100 * k}", columns=["input", evil, "correct"],
                  data=[[evil, i, i % 5 > 0] for i in range(700)])
        write(time=2000.6, kind="images", batch=1200, name=evil, height=1, width=1, classes=[evil], predicted=[0], expected=[-1], images=[evil])
        write(time=2001.0, kind="message", level="info", component="generate", text="once upon a <b>time</b>")
    json.dump({"format": "tutti.record/1", "name": name, "status": "failed", "error": evil, "started": 1000, "ended": 2000.5,
               "run": {"name": name, "note": evil, "loggers": [{"name": "jsonl"}]}}, open(f"made/{folder}/record.json", "w"))
PY
runs="runs/small runs/mixed made/evil made/long runs/shown"
check "a report" "$TUTTI" report $runs --page all.html
check "is one page whose numbers are those of the logs" python3 "$e2e/report_page.py" all.html $runs
check "nothing half written" test ! -e all.html.part
check "algorithms, step times, texts and warnings are in it" python3 -c "
import json, re
runs = json.loads(re.search(r'id=\"data\">(.*?)</script>', open('all.html').read(), re.S)[1])['runs']
assert {r['algorithm'] for r in runs[1]['timeline']['rows']} == {'mixup', 'label_smoothing'}
assert all(r['ran'] == 12 for r in runs[1]['timeline']['rows'] if r['event'] == 'before_loss' and r['algorithm'] == 'label_smoothing')
assert any(p['name'].startswith('event/') and p['self'] > 0 for p in runs[0]['profile'])
assert [m['level'] for m in runs[2]['messages']] == ['warning', 'info']
assert {m['name'] for m in runs[4]['media']} == {'Images/Train', 'Images/Eval', 'confusion_matrix/test', 'test'}
memory = runs[4]['memory']
assert all(memory[k] > 0 for k in ('weights', 'gradients', 'results', 'peak')), memory
assert sum(m['bytes'] for m in memory['modules']) == memory['peak'] and memory['modules'][0]['name'].startswith('body.'), memory"
check "the runs of a folder" eval '"$TUTTI" report made && python3 "$e2e/report_page.py" report.html made/evil made/long'
says "a folder without runs" 2 'tutti: none: has no runs' "$TUTTI" report none
TUTTI_CHART_JS=$work/nowhere.js says "without the library" 1 'tutti: nowhere.js: No such file or directory' "$TUTTI" report made
says "a place where nobody may write" 1 'tutti: the page cannot be written: no/report.html.part: No such file or directory' "$TUTTI" report made --page no/report.html

[ -e "$library" ] || skip "no libjs-chart.js here"
browser=$(command -v chromium || command -v chromium-browser || true)
[ -n "$browser" ] || skip "no chromium here"
if [ -e "$library" ] && [ -n "$browser" ]; then
  # The page as the browser has it once its scripts have run.
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
    --window-size=1400,3000 --virtual-time-budget=8000 --dump-dom "file://$work/all.html" >dom.html 2>browser.txt
  check "the browser has run the page to its end" grep -q 'data-ready="true"' dom.html
  check "and drawn charts" grep -q '<canvas tabindex="0" role="img" aria-describedby="chart-keys" aria-label="loss/train/total over the batch[^>]*width: [1-9]' dom.html
  check "with tables beside them" grep -q '<summary>Table of loss/train/total</summary>' dom.html
  check "names are text" eval '! grep -q "<img src=\"\?x" dom.html && grep -q "&lt;img src=x onerror=alert(1)&gt;" dom.html'
  check "images have their classes, in words too" grep -Eq '<img src="data:image/png;base64,[A-Za-z0-9+/=]+" alt="Sample 0, (right: class [0-9]|wrong: class [0-9], it is class [0-9])"' dom.html
  check "the confusion matrix has heads and cells" grep -q '<caption>Rows are targets, columns predictions.</caption>' dom.html
  check "answers say which are wrong" grep -q '<td class="bad">✗ wrong</td>' dom.html
  check "memory has its parts" grep -q '<th scope="row">results of forward and backward pass</th>' dom.html
  check "algorithms have lanes" grep -q 'label_smoothing at before_loss: ran 12 of 12 times' dom.html
  mkdir seen
  check "keyboards, screen readers and eyes get all of it" python3 "$e2e/report_keys.py" "$browser" all.html seen
  # Twenty runs of 100,000 batches, which share one log.
  mkdir -p many
  awk 'BEGIN { print "{\"time\":1000,\"kind\":\"hyperparameters\",\"values\":{\"seed\":1}}"; for (k = 0; k < 100000; k++)
    printf "{\"time\":%g,\"kind\":\"metrics\",\"batch\":%d,\"epoch\":0,\"values\":{\"loss/train/total\":%.6g}}\n", 1000 + k / 10, k, 2 * exp(-k / 20000) + rand() / 5 }' >many/log
  for k in $(seq 20); do
    mkdir "many/r$k"
    ln many/log "many/r$k/log.jsonl"
    printf '{"format":"tutti.record/1","name":"r%d","status":"completed","started":1000,"ended":11000,"run":{"name":"r%d","loggers":[{"name":"jsonl"}]}}' "$k" "$k" >"many/r$k/record.json"
  done
  check "a report of many long runs" "$TUTTI" report many --page many.html
  check "is of moderate size" test "$(stat -c %s many.html)" -lt 8000000
  check "and draws no more than can be seen" python3 "$e2e/report_many.py" "$browser" many.html seen 20
fi
finish
