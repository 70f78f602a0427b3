# lib.sh - what the end-to-end tests share: a folder of their own, and checks that say what failed.
set -uo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

# check <what> <command...>: the command succeeds.
check() {
  local what=$1
  shift
  if "$@" >check.out 2>&1; then
    echo "ok: $what"
  else
    echo "FAILED: $what: $*"
    head -20 check.out
    failures=$((failures + 1))
  fi
}

# says <what> <status> <expected stderr> <command...>: exit status and the whole of stderr.
says() {
  local what=$1 status=$2 expected=$3
  shift 3
  "$@" >says.out 2>says.err
  local got=$?
  local text
  text=$(sed "s|$work/||g" says.err)
  if [ "$got" = "$status" ] && [ "$text" = "$expected" ]; then
    echo "ok: $what"
  else
    echo "FAILED: $what: status $got, want $status; stderr:"
    echo "$text"
    echo "want:"
    echo "$expected"
    failures=$((failures + 1))
  fi
}

finish() {
  [ "$failures" -eq 0 ] || exit 1
}

# A small run; the arguments are members that replace or extend it: '"algorithms": [...]'.
small_run() {
  cat <<JSON
{
  "name": "small",
  "seed": 5,
  "model": {"name": "mlp", "hidden": [32], "dropout": 0.1},
  "train": {
    "dataset": {"name": "glyphs", "samples": 640},
    "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}],
    "batch_size": 64, "workers": 2
  },
  "eval": [{
    "label": "test",
    "dataset": {"name": "glyphs", "samples": 100, "split": "test"},
    "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}],
    "batch_size": 50, "metrics": [{"name": "accuracy"}]
  }],
  "optimizer": {"name": "adamw", "lr": 0.01},
  "schedulers": [{"name": "cosine_annealing"}],
  "max_duration": "3ep",
  "threads": 2,
  "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ba", "keep": 2}]
  ${1:+, $1}
}
JSON
}
