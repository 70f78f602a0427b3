#!/usr/bin/env bash
# printed_test.sh - what a run prints at its start and its end, how much, and where in colour.
. "$(dirname "$0")/lib.sh"
python=${PYTHON:-python3}
small_run '"algorithms": [{"name": "mixup"}, {"name": "ema", "half_life": "5ba"}], "loggers": [{"name": "jsonl"}, {"name": "console"}]' |
  sed 's/"batch_size": 64/&, "metrics": [{"name": "accuracy"}]/' >run.json
"$TUTTI" train run.json --set max_duration=1ep >out.txt 2>err.txt
check "a run" test $? = 0
check "tells its name and length" test "$(head -1 out.txt)" = 'run small, 1ep'
has() { check "$1" grep -Eq "$2" "${3:-out.txt}"; }
has "the model and its parameters" '^  model       mlp, 25450 parameters in 4 weights$'
has "the device, threads and precision" '^  device      .+, 2 threads, fp32$'
has "the sizes of the data" '^  train       glyphs, 640 samples, 10 batches of 64$'
has "of each evaluation" '^  test        glyphs, 100 samples, 2 batches of 50$'
has "the optimizer" '^  optimizer   adamw$'
has "algorithms in their order" '^  algorithms  mixup, ema$'
has "the folder" "^  folder      $work/runs/small\$"
has "then what was trained" '^trained 10 batches, 640 samples, [0-9.]+ s$'
has "and the results" '^train loss: [0-9.]+$'
has "of training" '^train accuracy: [0-9.]+$'
has "and evaluations" '^test accuracy: [0-9.]+$'
has "the newest checkpoint" "^  checkpoint  $work/saves/ep0-ba10.safetensors\$"
has "and what lies in the folder" "^  folder      $work/runs/small: log.jsonl, record.json\$"
has "where a logger's file is" "^  jsonl       $work/runs/small/log.jsonl\$"
check "not of a logger on the terminal" sh -c "! grep -q '^  console' out.txt"
has "a logger on the terminal is heard" 'loss/train/total' err.txt
rm -rf saves runs
small_run '"loggers": [{"name": "tensorboard"}, {"name": "in_memory"}]' >elsewhere.json
"$TUTTI" train elsewhere.json --set max_duration=1ba >out.txt 2>err.txt
has "where files go that are not in the folder" '^  tensorboard tensorboard_logs/small$'
check "which are there" test -s "$(ls tensorboard_logs/small/events.*)"
check "a logger without files has no line" sh -c "! grep -q '^  in_memory' out.txt"
rm -rf saves runs

# What a logger keeps until its program reads, and removes when the run is closed.
small_run '"loggers": [{"name": "pipe", "queue_size": 1, "command": ["sh", "-c", "sleep 1; cat >got.txt"]}]' |
  sed 's/{"name": "checkpoint_saver".*}/{"name": "optimizer_monitor", "batch_log_interval": 1}/; s/"interval": "1ep"//' >slow.json
"$TUTTI" train slow.json --set max_duration=400ba >out.txt 2>err.txt
check "a slow reader gets more than a pipe holds" test "$(wc -c <got.txt)" -gt 100000
has "and files that are gone when the run is closed are not told of" "^  folder      $work/runs/small: pipe.output, record.json\$"
rm -rf saves runs

"$TUTTI" train run.json --set max_duration=1ep --quiet >out.txt 2>err.txt
check "--quiet leaves results alone" test "$(cut -d ' ' -f 1,2 out.txt)" = "$(printf 'trained 10\ntrain loss:\ntrain accuracy:\ntest accuracy:')"
check "and loggers on the terminal out" test ! -s err.txt
check "but not the others" test -s runs/small/log.jsonl
"$TUTTI" train run.json --resume auto --set max_duration=2ep --set seed=6 --quiet 2>err.txt >out.txt
has "warnings are printed" 'was written with other settings: seed was 5, is 6' err.txt
"$TUTTI" train run.json --resume auto --verbose --set max_duration=3ep >out.txt 2>err.txt
has "--verbose prints what loggers are told" "^tutti: train: resumed from $work/saves/ep1-ba20.safetensors at batch 20\$" err.txt

# A terminal has colours, unless somebody wants none.
terminal() { # <variables...>: what a run with a warning prints on a terminal
  "$python" - "$TUTTI" "$@" <<'PY'
import os, pty, sys
env = dict(os.environ, TERM="xterm")
env.pop("NO_COLOR", None)
env.update(word.split("=", 1) for word in sys.argv[2:])
read, write = pty.openpty()
pid = os.fork()
if pid == 0:
    os.dup2(write, 1)
    os.dup2(write, 2)
    os.close(read)
    os.execve(sys.argv[1], [sys.argv[1], "train", "run.json", "--resume", "auto", "--set", "seed=7", "--duration", "1ba"], env)
os.close(write)
text = b""
while True:
    try:
        some = os.read(read, 65536)
    except OSError: # all ends are closed
        break
    if not some:
        break
    text += some
os.waitpid(pid, 0)
sys.stdout.buffer.write(text)
PY
}
escape=$(printf '\033')
terminal >tty.txt
has "names are bold on a terminal" "$escape\\[1mmodel      $escape\\[0m" tty.txt
has "a warning is yellow" "$escape\\[33mtutti:$escape\\[0m train: .*seed was" tty.txt
terminal NO_COLOR=1 >tty.txt
has "with NO_COLOR the same is printed" '^  model       mlp' tty.txt
check "without colours" sh -c "! grep -q '$escape' tty.txt"
terminal TERM=dumb >tty.txt
check "as on a terminal that has none" sh -c "! grep -q '$escape' tty.txt"
check "a file has none" sh -c "! grep -q '$escape' out.txt err.txt"
finish
