# lib.sh - what the end-to-end tests share: a folder of their own, and checks that say what failed.
set -uo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
skips=0
[ -x /usr/bin/python3 ] && PATH=/usr/bin:$PATH # wrappers around a Python take five times as long to start
export TUTTI_TUNE=0 # what is measured depends on the machine
export TUTTI_CONFIG_PATH=$work/no_config # nor do this machine's policies and keys count
e2e=$SOURCE/tests/e2e
SANITIZE=${SANITIZE:-} # what the program is built with, as in -fsanitize=

# check <what> <command...>: the command succeeds.  What it prints is check.out afterwards; where it prints nothing, that
# of the one before stays, which it may have read.
check() {
  local what=$1 status
  shift
  "$@" >check.new 2>&1
  status=$?
  if [ -s check.new ] || [ ! -e check.out ]; then mv check.new check.out; fi
  if [ $status -eq 0 ]; then
    echo "ok: $what"
  else
    echo "FAILED: $what: $*"
    if [ "$(wc -l <check.out)" -le 60 ]; then cat check.out; else head -20 check.out && echo ... && tail -40 check.out; fi
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

# The newest checkpoint of a run of small_run in folder $1.
latest() { ls "$1"/saves/*latest* 2>/dev/null | head -1; }

# same <what> <run file>: a run, and a second one that takes it up after batch 13, end with the same bytes.
same() {
  local what=$1
  rm -rf a b && mkdir a b
  sed 's/"keep": 2/"keep": -1/; s/"interval": "1ba"/"interval": "13ba"/' "$2" | tee a/run.json >b/run.json
  (cd a && "$TUTTI" train run.json >out.txt 2>&1) || { echo "FAILED: $what"; cat a/out.txt; failures=$((failures + 1)); return; }
  (cd b && XDG_CACHE_HOME=$work/other_cache "$TUTTI" train run.json --resume "$(ls ../a/saves/*-ba13.*)" >out.txt 2>&1) || { echo "FAILED: $what"; cat b/out.txt; failures=$((failures + 1)); return; }
  check "$what: resumed equals uninterrupted" python3 "$e2e/same_weights.py" "$(latest a)" "$(latest b)"
}

# skip <why>: a part of the test cannot be tried here; the test counts as skipped.
skip() {
  echo "skipped: $1"
  skips=$((skips + 1))
}

# Ends the test: 1 if a check failed, else 77 (skipped, for ctest) if a part was skipped, else 0.
finish() {
  [ "$failures" -eq 0 ] || exit 1
  [ "$skips" -eq 0 ] || exit 77
  exit 0
}

# skip_all <why>: nothing of the test can be tried here.
skip_all() {
  skip "$1"
  finish
}

# This build reads tokenizer.json.
reads_tokenizers() {
  echo "a text" >probe.txt
  case $("$TUTTI" data inspect probe.txt --set vocabulary=tokenizer --set tokenizer_file=/dev/null --set length=1 2>&1) in
  *'reads no tokenizer.json'*) return 1 ;;
  esac
}

# Skips the whole test where it does not.
wants_tokenizers() { reads_tokenizers || skip_all "built without PCRE2 10.40 or utf8proc"; }

# Skips the whole test in a build that fetches nothing.
wants_curl() {
  case $("$TUTTI" export http://127.0.0.1:1/none --onnx none.onnx 2>&1) in
  *'without libcurl'*) skip_all "built without libcurl 7.88" ;;
  esac
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
