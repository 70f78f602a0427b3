#!/usr/bin/env bash
# partial_load_test.sh - parts of a file: a new head, names left out, algorithms left out, evaluations of foreign files.
. "$(dirname "$0")/lib.sh"
python=${PYTHON:-python3}

# Pictures of four classes, and of three.
"$python" - <<'PY'
import struct
def npy(path, descr, shape, data):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)
for n in (3, 4):
    npy(f"x{n}.npy", "|u1", (60, 8, 8, 1), bytes((k * 37 + k // 64 % n * 50) % 256 for k in range(60 * 64)))
    npy(f"y{n}.npy", "<i8", (60,), b"".join(struct.pack("<q", k % n) for k in range(60)))
PY
run() { # run <name> <classes> <members>
  cat <<JSON
{"name": "$1", "model": {"name": "resnet_cifar", "depth": 8},
 "train": {"dataset": {"name": "npy", "inputs": "x$2.npy", "targets": "y$2.npy", "classes": $2}, "transforms": [{"name": "to_float"}],
           "batch_size": 20},
 "eval": [{"label": "test", "dataset": {"name": "npy", "inputs": "x$2.npy", "targets": "y$2.npy", "classes": $2},
           "transforms": [{"name": "to_float"}], "batch_size": 20, "metrics": [{"name": "cross_entropy"}]}],
 "optimizer": {"name": "sgd", "lr": 0.05, "momentum": 0.9}, "threads": 1,
 "schedulers": [{"name": "cosine_annealing"}],
 "callbacks": [{"name": "checkpoint_saver", "folder": "$1"}], "max_duration": "1ep"${3:+, $3}}
JSON
}
run four 4 >four.json
run three 3 >three.json
check "a net of four classes is trained" "$TUTTI" train four.json
four=four/latest.safetensors

# ---- another head ----
says "a file of another head is refused" 1 \
  "tutti: $four: head.bias is F32 (4), the model's is F32 (3); 2 of this run's 37 weights do not fit, \"load_strict\": false takes the others" \
  "$TUTTI" train three.json --set load_weights=$four
says "state of the optimizer is no nearest weight" 1 \
  "tutti: $four: has no stage3.block1.norm2.bias, which the model needs; 30 of this run's 67 weights do not fit, \"load_strict\": false takes the others" \
  "$TUTTI" train four.json --set load_weights=$four --set model.depth=14
"$TUTTI" train three.json --set load_weights=$four --set load_strict=false --set max_duration=0 >out.txt 2>err.txt
check "without load_strict it is taken" test $? = 0
check "a table counts" grep -q "^tutti: train: .*$four gives 35 of 37 weights; the others begin anew$" err.txt
check "by parts of the model" grep -Eq '^tutti: train:   conv +1 of 1$' err.txt
check "of which one has no weight" grep -Eq '^tutti: train:   head +0 of 2$' err.txt
check "and says why" grep -q "not taken: head.bias, F32 (3): the file's is F32 (4)$" err.txt
check "max_duration 0 evaluates" grep -q '^test cross_entropy' out.txt
check "and trains nothing" grep -q '^trained 0 batches' out.txt
"$TUTTI" train three.json --resume $four --set load_strict=false \
  --set 'load_ignore_keys=["run.clock", "callback"]' --set callbacks.0.folder=on >out.txt 2>err.txt
check "a run goes on with what fits of a checkpoint" test $? = 0
check "optimizer state goes with its weight" grep -Eq ': 2 of [0-9]+ states of the optimizer begin anew$' err.txt
check "and a clock that is not taken begins anew" grep -q '^trained 3 batches' out.txt
sed 's/"classes": 4/"classes": 1000/; s/"name": "four"/"name": "thousand"/; s/"folder": "four"/"folder": "thousand"/' four.json >thousand.json
check "a net of a thousand classes is trained" "$TUTTI" train thousand.json --set max_duration=1ba
"$TUTTI" train three.json --set load_weights=thousand/latest.safetensors --set load_strict=false --set optimizer.lr=0 \
  --set max_duration=1ba --set callbacks.0.folder=narrow >out.txt 2>err.txt
check "its body goes on with a head of three" test $? = 0
check "and the table has both sizes" grep -q 'not taken: head.weight, F32 (3, 64): the file.s is F32 (1000, 64)$' err.txt
check "all other weights are the very ones" "$python" - <<PY
import sys
sys.path.insert(0, "$e2e")
from checkpoint import tensors
wide, narrow = tensors("thousand/latest.safetensors"), tensors("narrow/latest.safetensors")
names = [n for n in wide if n.startswith("model.") and "running_" not in n and "head" not in n]
assert len(names) > 15 and all(wide[n] == narrow[n] for n in names), names
assert len(narrow["model.head.bias"][2]) * 1000 == len(wide["model.head.bias"][2]) * 3
PY
says "nothing that fits" 1 \
  "tutti: $four: has no body.head.bias, which the model needs; the nearest is model.head.bias; none of this run's 4 weights fits" \
  "$TUTTI" train three.json --set load_weights=$four --set load_strict=false --set 'model={"name": "mlp", "hidden": [4]}'

"$TUTTI" train three.json --set load_weights=$four --set 'load_ignore_keys=["model.hed", "model.head"]' --set max_duration=0 \
  --set callbacks.0.folder=fifth >out.txt 2>err.txt
check "a head that is ignored need not fit" test $? = 0
check "nor is what ignores nothing silent" test "$(grep -c 'has nothing like model.hed, ' err.txt)" = 1
check "but what does" test "$(grep -c 'has nothing like' err.txt)" = 1

# ---- weights of 16 bits, which are upcast to the bit ----
"$python" - <<PY
import json, struct, sys
sys.path.insert(0, "$e2e")
from checkpoint import tensors
weights = {n[6:]: t for n, t in tensors("$four").items() if n.startswith("model.")}
for name, narrow in (("BF16", lambda raw: b"".join(raw[k + 2:k + 4] for k in range(0, len(raw), 4))),
                     ("F16", lambda raw: struct.pack(f"<{len(raw) // 4}e", *struct.unpack(f"<{len(raw) // 4}f", raw)))):
    header, body = {}, b""
    for n, (dtype, shape, raw) in weights.items():
        small = narrow(raw)
        header[n] = {"dtype": name, "shape": shape, "data_offsets": [len(body), len(body) + len(small)]}
        body += small
    text = json.dumps(header).encode()
    open(name + ".safetensors", "wb").write(struct.pack("<Q", len(text)) + text + body)
PY
for type in BF16 F16; do
  check "weights as $type" "$TUTTI" train four.json --set load_weights=$type.safetensors --set optimizer.lr=0 --set max_duration=1ba \
    --set callbacks.0.folder=$type
  check "are upcast" "$python" - <<PY
import json, struct, sys
sys.path.insert(0, "$e2e")
from checkpoint import tensors
wide, count = tensors("$type/latest.safetensors"), 0
data = open("$type.safetensors", "rb").read()
size, = struct.unpack("<Q", data[:8])
for n, v in json.loads(data[8:8 + size]).items():
    raw = data[8 + size + v["data_offsets"][0]:8 + size + v["data_offsets"][1]]
    if "running_" in n:
        continue
    want = b"".join(b"\0\0" + raw[k:k + 2] for k in range(0, len(raw), 2)) if v["dtype"] == "BF16" else \
        struct.pack(f"<{len(raw) // 2}f", *struct.unpack(f"<{len(raw) // 2}e", raw))
    assert wide["model." + n][0] == "F32" and wide["model." + n][2] == want, n
    count += 1
assert count > 15, count
PY
done

# ---- names that are left out ----
evaluate() { "$TUTTI" eval "$@" 2>err.txt | grep cross; }
all=$(evaluate four.json --checkpoint $four)
check "eval does not take what it ignores" test "$all" != "$(evaluate four.json --checkpoint $four --set 'load_ignore_keys=["model.head"]')"
check "and says so" grep -q 'not taken: model.head.weight, F32 (4, 64): is left out by load_ignore_keys' err.txt

# ---- evaluations and outputs of files that others wrote ----
"$python" - $four foreign.safetensors <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size, = struct.unpack("<Q", data[:8])
header, body = json.loads(data[8:8 + size]), data[8 + size:]
out, blob = {}, b""
for name, entry in header.items():
    if name.startswith("model."):
        raw = body[slice(*entry["data_offsets"])]
        out[name[6:]] = {**entry, "data_offsets": [len(blob), len(blob) + len(raw)]}
        blob += raw
text = json.dumps(out).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + blob)
PY
check "a foreign file is evaluated" test "$all" = "$(evaluate four.json --checkpoint foreign.safetensors)"
check "also by the run file's word" test "$all" = "$(evaluate four.json --set load_weights=foreign.safetensors)"
check "its outputs are written" "$TUTTI" predict four.json --checkpoint foreign.safetensors --output out.npy
says "it is no run to go on with" 1 \
  'tutti: foreign.safetensors: is no checkpoint of a run; "load_weights" starts a run from such a file' \
  "$TUTTI" train four.json --resume foreign.safetensors --set callbacks.0.folder=new

# ---- algorithms that are left out ----
run changed 4 '"algorithms": [{"name": "squeeze_excite", "min_channels": 16}, {"name": "ema", "half_life": "5ba"}]' >changed.json
check "a run whose model is changed" "$TUTTI" train changed.json
"$TUTTI" train four.json --resume changed/latest.safetensors --set max_duration=2ep --set callbacks.0.folder=other \
  --set 'load_exclude_algorithms=["squeeze_excite"]' --set load_strict=false >out.txt 2>err.txt
check "goes on without it" test $? = 0
check "and says which weights are left" grep -q 'of its tensors are not in this run.s model or optimizer and are left out, such as ' err.txt
"$TUTTI" train changed.json --resume changed/latest.safetensors --set max_duration=2ep --set callbacks.0.folder=third \
  --set 'load_exclude_algorithms=["emma"]' >out.txt 2>err.txt
check "a name that the file does not know is told" grep -q 'has no algorithm emma, which load_exclude_algorithms leaves out; did you mean ema?' err.txt
"$TUTTI" train four.json --resume $four --set max_duration=2ep --set callbacks.0.folder=fourth \
  --set 'load_ignore_keys=["model.haed.*"]' >out.txt 2>err.txt
check "so is a pattern of nothing" grep -q 'has nothing like model.haed.\*, which load_ignore_keys leaves out' err.txt

# ---- files with a part of a run ----
names() { "$python" -c 'import json, struct, sys
data = open(sys.argv[1], "rb")
size, = struct.unpack("<Q", data.read(8))
print("\n".join(sorted({k.split(".")[0] for k in json.loads(data.read(size)) if k != "__metadata__"})))' "$1"; }
check "a run that saves weights alone" "$TUTTI" train four.json --set callbacks.0.weights_only=true --set callbacks.0.folder=alone
check "saves nothing else" test "$(names alone/latest.safetensors)" = model
for from in alone/ep1-ba3.safetensors auto; do
  says "no run goes on from it ($from)" 1 \
    'tutti: alone/ep1-ba3.safetensors: has weights alone, which no run goes on from; "load_weights" starts a run from it' \
    "$TUTTI" train four.json --set callbacks.0.folder=alone --resume $from
done
check "it is evaluated" test "$all" = "$(evaluate four.json --checkpoint alone/latest.safetensors)"
check "and begins another run" "$TUTTI" train four.json --set load_weights=alone/latest.safetensors --set callbacks.0.folder=begun
check "names are left out of files" "$TUTTI" train four.json --set 'callbacks.0.ignore_keys=["optimizer", "model.head.*"]' \
  --set callbacks.0.folder=without
check "as asked" test "$(names without/latest.safetensors | tr '\n' ' ')" = "callback evaluation model run "
"$TUTTI" train four.json --resume without/ep1-ba3.safetensors --set load_strict=false --set max_duration=2ep \
  --set callbacks.0.folder=within >out.txt 2>err.txt
check "a run goes on from one of these" test $? = 0
check "and says what begins anew" grep -q 'not taken: model.head.weight' err.txt

# ---- a run's own checkpoint ----
cp -r four whole
check "a run goes on by itself" "$TUTTI" train four.json --resume auto --set max_duration=2ep --set callbacks.0.folder=whole
cp -r four ignoring
"$TUTTI" train four.json --resume auto --set max_duration=2ep --set callbacks.0.folder=ignoring \
  --set 'load_ignore_keys=["model.head", "optimizer"]' >out.txt 2>err.txt
check "whatever it left out of the file that it began with" test $? = 0
check "with all that it has learned" "$python" "$e2e/same_weights.py" whole/ep2-ba6.safetensors ignoring/ep2-ba6.safetensors
finish
