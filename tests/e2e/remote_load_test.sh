#!/usr/bin/env bash
# remote_load_test.sh - checkpoints behind addresses: runs that go on from them, commands that read them, what servers do.
. "$(dirname "$0")/lib.sh"
mkdir root tmp
: >log.txt
timeout 900 python3 "$e2e/file_server.py" root port log.txt &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
while [ ! -e port ] && kill -0 $server; do sleep 0.05; done
there=http://127.0.0.1:$(cat port)
export S3_ENDPOINT_URL=$there AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret TMPDIR=$work/tmp
left() { [ -z "$(ls -A tmp)" ] || { ls -R tmp; return 1; }; }
wants_curl

small_run '"loggers": [{"name": "remote_uploader", "bucket_uri": "s3://models/deep"}]' |
  sed 's/"interval": "1ba", "keep": 2/"interval": "10ba", "keep": -1/' >run.json
check "a run that sends its checkpoints" "$TUTTI" train run.json --quiet
remote=deep/small/checkpoints
last=$(basename "$(ls saves/*-ba30.safetensors)") first=$(basename "$(ls saves/*-ba10.safetensors)") second=$(basename "$(ls saves/*-ba20.safetensors)")
cp saves/"$last" reference.safetensors
check "they are there" cmp saves/"$last" root/models/$remote/"$last"
"$TUTTI" eval run.json --checkpoint saves/"$last" --quiet >want.txt

# ---- s3, http ----
small_run | sed 's/"interval": "1ba", "keep": 2/"interval": "10ba", "keep": -1/; s/"folder": "saves"/"folder": "other"/' >again.json
for from in s3://models/$remote/$first "$there/cut/$remote/$first"; do
  rm -rf other runs
  check "a run goes on from $from" "$TUTTI" train again.json --quiet --resume "$from"
  check "to the same bits" python3 "$e2e/same_weights.py" saves/"$last" other/"$last"
done
check "what was cut went on" grep -q "GET /cut/.*$first bytes=[1-9]" log.txt
check "nothing stays in TMPDIR" left
"$TUTTI" eval run.json --checkpoint s3://models/$remote/"$last" --quiet >have.txt 2>err.txt
check "an evaluation" cmp want.txt have.txt
check "predictions" "$TUTTI" predict again.json --checkpoint s3://models/$remote/"$last" --output there.npy --quiet
check "of the file here" "$TUTTI" predict again.json --checkpoint saves/"$last" --output here.npy --quiet
check "are the same" cmp here.npy there.npy
: >log.txt
check "an export, the run file too" "$TUTTI" export s3://models/$remote/"$last" --onnx there.onnx
check "fetches it once" test "$(grep -c GET log.txt)" = 1
check "and is that of the file here" "$TUTTI" export saves/"$last" --onnx here.onnx
check "to the byte" cmp here.onnx there.onnx
"$TUTTI" train again.json --quiet --set "load_weights=s3://models/$remote/$last" --set max_duration=0ep >have.txt 2>err.txt
check "weights alone, and an evaluation" test -n "$(grep ^test want.txt)" -a "$(grep ^test want.txt)" = "$(grep ^test have.txt)"
cat >words.json <<'JSON'
{"name": "words", "model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16, "block_size": 16, "vocab_size": 256},
 "train": {"dataset": {"name": "text", "path": "any.txt", "length": 16}, "batch_size": 2}, "threads": 2,
 "max_duration": "2ba", "optimizer": {"name": "sgd", "lr": 0.1}, "callbacks": [{"name": "checkpoint_saver", "folder": "words"}]}
JSON
yes "any text" | head -30 >any.txt
check "a language model" "$TUTTI" train words.json --quiet
cp words/latest.safetensors root/models/words.safetensors
"$TUTTI" generate words/latest.safetensors --prompt any --max-tokens 8 --json 2>err.txt | sed 's/"tokens_per_second.*//' >here.txt
"$TUTTI" generate s3://models/words.safetensors --prompt any --max-tokens 8 --json 2>err.txt | sed 's/"tokens_per_second.*//' >there.txt
check "goes on with a text" test -s there.txt
check "as the file here does" cmp here.txt there.txt
sed 's|"callbacks": \[|"callbacks": [{"name": "load_checkpoint", "load_weights_only": true, "load_path": "s3://models/'$remote/"$last"'", "event": "eval_start"}, |' again.json >load.json
rm -rf other runs
"$TUTTI" train load.json --quiet --set max_duration=2ba --set train.batch_size=320 >have.txt 2>err.txt
check "a callback that loads" test "$(grep ^test want.txt)" = "$(grep ^test have.txt)"
check "one bit that is wrong: it is fetched once more" "$TUTTI" eval run.json --checkpoint "$there/damaged-1/$remote/$last" --quiet
check "nothing stays" left

# ---- a checkpoint of several files ----
sed 's/"folder": "other"/"folder": "shards", "filename": "ba{batch}.safetensors.index.json", "latest_filename": "latest.safetensors.index.json"/' again.json >shards.json
check "a checkpoint of several files" "$TUTTI" train shards.json --quiet
cp shards/ba30* root/models/
"$TUTTI" eval run.json --checkpoint s3://models/ba30.safetensors.index.json --quiet >have.txt 2>err.txt
check "comes with its files" cmp want.txt have.txt
rm "$(ls root/models/ba30*-of-*.safetensors | head -1)"
"$TUTTI" eval run.json --checkpoint s3://models/ba30.safetensors.index.json --quiet >have.txt 2>err.txt
check "one that is missing is told" grep -q "^tutti: $there/models/ba30-.*-of-.*: the server answers with status 404: NoSuchKey$" err.txt
check "nothing stays of them" left

# ---- the newest of elsewhere, where none is here ----
flip() { # <file>: one bit of its weights
  python3 -c 'import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(-100, 2)
    byte = f.read(1)[0]
    f.seek(-100, 2)
    f.write(bytes([byte ^ 4]))' "$1"
}
sends='"loggers": [{"name": "remote_uploader", "bucket_uri": "s3://models/deep"}]'
every='s/"interval": "1ba", "keep": 2/"interval": "10ba", "keep": -1'
small_run "$sends" | sed "$every/" >lost.json
rm -rf runs saves root/models/$remote/"$last"
says "a machine that lost its files goes on" 0 "tutti: checkpoint_saver: no checkpoint in saves: $second was fetched from elsewhere" \
  "$TUTTI" train lost.json --quiet --resume auto
check "to the same bits as one that did not" python3 "$e2e/same_weights.py" reference.safetensors saves/"$last"
check "and sends what it writes" cmp saves/"$last" root/models/$remote/"$last"
flip root/models/$remote/"$last"
rm -rf runs saves
"$TUTTI" train lost.json --quiet --resume auto >out.txt 2>err.txt
check "the newest there is damaged" grep -q "saves/$last: the checkpoint is damaged: its bytes do not match the checksum; it is kept as" err.txt
check "the one before is taken" grep -q "$second was fetched from elsewhere" err.txt
check "and leads to the same bits" python3 "$e2e/same_weights.py" reference.safetensors saves/"$last"
rm -rf runs saves
says "nothing is there: a fresh start" 0 "" "$TUTTI" train lost.json --quiet --resume auto --set name=other --set max_duration=2ba
rm -rf runs saves
S3_ENDPOINT_URL=$there/status-403 "$TUTTI" train lost.json --quiet --resume auto --set loggers.0.flush_timeout=0 >out.txt 2>err.txt
check "a bucket that refuses ends the run" grep -q '^tutti: remote_uploader: .*: the server answers with status 403: AccessDenied$' err.txt
check "before anything is trained" test ! -e saves/"$first"
small_run "$sends" | sed "$every, \"filename\": \"ba{batch}.safetensors.index.json\", \"latest_filename\": \"l.index.json\", \"remote_file_name\": \"parts\/ba{batch}.safetensors.index.json\"/" >parts.json
rm -rf runs saves
check "a checkpoint of several files is sent" "$TUTTI" train parts.json --quiet
rm -rf runs saves
"$TUTTI" train parts.json --quiet --resume auto --set max_duration=4ep >out.txt 2>err.txt
check "and comes back whole" grep -q 'no checkpoint in .*saves: ba30.safetensors.index.json was fetched from elsewhere' err.txt
check "for the run to go on" test -e saves/ba40.safetensors.index.json
small_run '"loggers": [{"name": "remote_uploader", "bucket_uri": "file://'"$work"'/folder", "file_path_format_string": "of/{run_name}/{remote_file_name}"}]' |
  sed "$every/" >folder.json
rm -rf runs saves
check "a folder in the place of a bucket" "$TUTTI" train folder.json --quiet
rm -rf runs saves folder/of/small/small/checkpoints/"$last"
"$TUTTI" train folder.json --quiet --resume auto >out.txt 2>err.txt
check "gives back too" grep -q "$second was fetched from elsewhere" err.txt
check "what leads to the same bits" python3 "$e2e/same_weights.py" reference.safetensors saves/"$last"
cp reference.safetensors root/models/$remote/"$last"

# ---- what servers do ----
evaluate() { "$TUTTI" eval run.json --checkpoint "$1" --quiet --set 'callbacks=[{"name": "remote_downloader", "num_attempts": 2, "silence_timeout": 20}]'; }
says "a file that is not there" 1 "tutti: $there/models/no.safetensors: the server answers with status 404: NoSuchKey" evaluate s3://models/no.safetensors
says "who may not have it" 1 "tutti: $there/status-403/a.safetensors: the server answers with status 403: AccessDenied" evaluate "$there/status-403/a.safetensors"
says "a server that fails" 1 "tutti: $there/status-500/a.safetensors: the server answers with status 500: AccessDenied; tried 2 times" evaluate "$there/status-500/a.safetensors"
says "a page in its place" 1 "tutti: $there/page/a.safetensors: the checkpoint is damaged: it ends within the header" evaluate "$there/page/a.safetensors"
says "garbage" 1 "tutti: $there/garbage/$remote/$last: the checkpoint is damaged: it ends within the header" evaluate "$there/garbage/$remote/$last"
says "bits that stay wrong" 1 "tutti: $there/damaged/$remote/$last: the checkpoint is damaged: its bytes do not match the checksum" evaluate "$there/damaged/$remote/$last"
says "a scheme that no plugin has" 1 "tutti: gopher://models/a.safetensors: no plugin here fetches addresses of gopher" evaluate gopher://models/a.safetensors
says "http of elsewhere" 1 "tutti: http://example.com/a.safetensors: http is for servers on this machine, whoever is between could change the file; want https" evaluate http://example.com/a.safetensors
says "an export of nothing" 2 "tutti: $there/models/no.safetensors: the server answers with status 404: NoSuchKey" "$TUTTI" export s3://models/no.safetensors --onnx no.onnx
kill $server && wait $server 2>/dev/null
evaluate s3://models/a.safetensors >out.txt 2>err.txt
check "a server that is down" grep -q "^tutti: $there/models/a.safetensors: cannot be fetched: .*; tried 2 times$" err.txt
check "nothing stays in the end" left
finish
