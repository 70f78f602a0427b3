#!/usr/bin/env bash
# optimizers_test.sh - optimizers that keep less than a number a weight: memory, checkpoints, resume, frozen layers; the
# norm of all gradients.
. "$(dirname "$0")/lib.sh"

make() { # FOLDER OPTIMIZER [MEMBERS]
  mkdir -p "$1"
  echo "{\"model\": {\"name\": \"mlp\", \"hidden\": [256, 256]}, \"optimizer\": $2${3:+, $3}}" >members.json
  small_run | python3 "$e2e/small_run.py" members.json >"$1/run.json"
}
state() { # FOLDER: what the plan says of the optimizer's state
  "$TUTTI" plan "$1/run.json" --world 1 | grep -oP 'optimizer state \K[0-9.]+ [KM]iB'
}

# The weights are 256 x 256 and such; a matrix has a number a row and one a column, each from a multiple of 32 on.
make factors '{"name": "adafactor"}'
make full '{"name": "adam"}'
make muon '{"name": "muon", "lr": 0.01}'
check "two numbers a weight" test "$(state full | grep -c MiB)" = 1
check "and what rows and columns take" python3 - "$(state factors)" "$(state full)" "$(state muon)" <<'PY'
import sys
kib = [float(text.split()[0]) * {"KiB": 1, "MiB": 1024}[text.split()[1]] for text in sys.argv[1:]]
assert kib[0] < kib[1] / 50, kib
assert 0.45 < kib[2] / kib[1] < 0.55, kib
PY

check "trained" "$TUTTI" train factors/run.json --quiet --duration 1ep
check "a checkpoint has the shapes of torch's state" python3 - "$e2e" "$(latest factors)" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from checkpoint import read
shape = {name: value[1] for name, value in read(sys.argv[2]).items()}
weights = {name[len("model."):]: s for name, s in shape.items() if name.startswith("model.")}
want = {}
for path, s in weights.items():
    if len(s) > 1:
        want["optimizer.row_var." + path] = s[:-1] + [1]
        want["optimizer.col_var." + path] = s[:-2] + [1, s[-1]]
    else:
        want["optimizer.row_var." + path] = s
have = {name: s for name, s in shape.items() if name.startswith("optimizer.")}
assert any(len(s) > 1 for s in weights.values()) and have == want, (have, want)
PY

mixed='{"name": "muon", "lr": 0.01, "groups": [{"match": "*0*", "name": "adafactor"}, {"match": "*bias", "name": "sgd", "lr": 0.1}]}'
for optimizer in '{"name": "adafactor"}' "$mixed"; do
  make resumed "$optimizer"
  same "$optimizer" resumed/run.json
done

# A layer that is frozen at the end of the epoch takes its state with it and leaves that of the others.
saver='"callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ep"}], "max_duration": "1ep"'
make free "$mixed" "$saver"
make frozen "$mixed" "$saver"', "algorithms": [{"name": "layer_freezing", "freeze_start": 0.0, "freeze_level": 0.5}]'
check "a run without frozen layers" "$TUTTI" train free/run.json --quiet
check "a run with them" "$TUTTI" train frozen/run.json --quiet
check "what is trained on has its state" python3 - "$e2e" "$(latest free)" "$(latest frozen)" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from checkpoint import tensors
free, frozen = [{k: v for k, v in tensors(p).items() if k.startswith("optimizer.")} for p in sys.argv[2:]]
assert frozen and len(frozen) < len(free), (sorted(free), sorted(frozen))
assert all(frozen[k] == free[k] for k in frozen), [k for k in frozen if frozen[k] != free[k]]
PY
# Shortened by the optimizer, or by the algorithm, which divides by the norm and 1e-6.
clipping='"algorithms": [{"name": "gradient_clipping", "clipping_type": "norm", "clipping_threshold": 0.05}]'
make inside '{"name": "lamb", "lr": 0.01, "max_grad_norm": 0.05}' '"max_duration": "5ba", "eval": []'
make before '{"name": "lamb", "lr": 0.01, "max_grad_norm": 0}' '"max_duration": "5ba", "eval": [], '"$clipping"
make never '{"name": "lamb", "lr": 0.01, "max_grad_norm": 0}' '"max_duration": "5ba", "eval": []'
for run in inside before never; do check "$run" "$TUTTI" train $run/run.json --quiet; done
check "lamb shortens as gradient_clipping does" python3 "$e2e/near_weights.py" "$(latest inside)" "$(latest before)" 1e-3
check "which makes a difference" sh -c '! python3 "$1" "$2" "$3" 1e-3' - "$e2e/near_weights.py" "$(latest inside)" "$(latest never)"
finish
