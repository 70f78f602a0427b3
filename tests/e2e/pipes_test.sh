#!/usr/bin/env bash
# pipes_test.sh - a named pipe that stands where a file is wanted is told as that; nobody waits for who writes to it.
. "$(dirname "$0")/lib.sh"
mkfifo pipe
soon() { timeout -k 5 300 "$@"; }

small_run '"loggers": [{"name": "jsonl"}]' | sed 's/"3ep"/"2ba"/' >run.json
check "a run" "$TUTTI" train run.json
says "a run file" 2 'pipe: is a named pipe, want a regular file' soon "$TUTTI" validate pipe
check "what the shell hands over is read" sh -c '"$1" validate /dev/stdin <run.json && cat run.json | "$1" validate /dev/stdin' sh "$TUTTI"
printf 'x\n' >lines.txt
if reads_tokenizers; then
  says "a tokenizer" 2 'tutti: dataset documents cannot be opened: pipe: is no regular file' \
    soon "$TUTTI" data inspect lines.txt --as documents --set tokenizer_file=pipe
fi

cp -r runs logs && mv logs/small/log.jsonl log.jsonl && mkfifo logs/small/log.jsonl
says "a log" 1 'tutti: logs/small/log.jsonl: is a named pipe, want a regular file' soon "$TUTTI" runs logs/small --plot loss/train/total
cp -r runs records && rm records/small/record.json && mkfifo records/small/record.json
says "a record" 2 'tutti: records/small/record.json: is a named pipe, want a regular file' soon "$TUTTI" runs records/small
cp -r runs locks && rm -f locks/small/.lock && mkfifo locks/small/.lock
check "a lock" soon "$TUTTI" runs locks/small

says "a lock file of plugins" 2 'tutti: the lock file pipe is not used: pipe: not a regular file' soon "$TUTTI" plugins list --plugin-lock pipe
says "a policy of plugins" 2 'tutti: the policy pipe is not used: pipe: not a regular file' soon "$TUTTI" plugins list --plugin-policy pipe
says "weights of samples" 1 'tutti: pipe: is a named pipe, want a regular file' soon "$TUTTI" train run.json --set 'train.sampler={"name": "weighted", "weights": "pipe"}' --set callbacks=[]

mkdir -p cache/tutti && mkfifo cache/tutti/kernels
check "choices of kernels" soon env TUTTI_TUNE=1 XDG_CACHE_HOME="$work/cache" "$TUTTI" train run.json --set callbacks=[] --set name=tuned
check "which is told" grep -q '^tutti: .*cache/tutti/kernels: is a named pipe, want a regular file$' check.out
check "and stays" test -p cache/tutti/kernels
finish
