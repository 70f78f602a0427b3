#!/usr/bin/env bash
# resume_test.sh - a run that was stopped and resumed ends with the very bytes of one that was not; also
# after SIGKILL at any moment and after SIGTERM.  Each algorithm by itself: algorithms_test.sh.
. "$(dirname "$0")/lib.sh"
unset TUTTI_TUNE # kernels are measured, anew after a resume too: a run keeps its own
export XDG_CACHE_HOME=$work/cache
small_run >plain.json
same "plain" plain.json
small_run '"algorithms": [{"name": "label_smoothing"}, {"name": "mixup"}, {"name": "ema", "half_life": "5ba"}, {"name": "gradient_clipping", "clipping_type": "norm", "clipping_threshold": 0.5}, {"name": "selective_backprop", "start": 0.0, "end": 1.0}]' >all.json
same "many algorithms" all.json
small_run '"microbatch_size": 20' >micro.json
same "microbatches" micro.json

# SIGKILL at any moment: whatever the last whole checkpoint is, the end is the same.
rm -rf k && mkdir k && small_run '"algorithms": [{"name": "ema", "half_life": "5ba"}]' >k/run.json
rm -rf a && mkdir a && cp k/run.json a
(cd a && "$TUTTI" train run.json >out.txt 2>&1)
for try in 1 2 3; do
  (cd k && exec "$TUTTI" train run.json --resume auto >out.txt 2>&1) &
  sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
  kill -KILL $! 2>/dev/null
  wait $! 2>/dev/null
done
(cd k && "$TUTTI" train run.json --resume auto >out.txt 2>&1)
check "killed and resumed" python3 "$e2e/same_weights.py" "$(latest a)" "$(latest k)"

# SIGTERM: the batch is finished, the run saved, the status 128 + 15.
rm -rf s && mkdir s && small_run '"loggers": [{"name": "jsonl", "flush_interval": 1}]' | sed 's/"interval": "1ba"/"interval": "100ep"/' >s/run.json
(cd s && exec "$TUTTI" train run.json --set max_duration=2000ep >out.txt 2>err.txt) &
for try in $(seq 1200); do grep -qs '"loss/train/total"' s/runs/small/log.jsonl && break; sleep 0.05; done
kill -TERM $!
wait $!
status=$?
check "SIGTERM ends with 143" test "$status" = 143
check "SIGTERM saves" test -e "$(latest s)"
check "SIGTERM says so" grep -q 'stopped by signal 15 after batch' s/err.txt
finish
