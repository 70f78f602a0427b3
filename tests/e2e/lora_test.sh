#!/usr/bin/env bash
# lora_test.sh - adapters beside a model's layers: peft's logits, steps and files; the optimizer has nothing else.
. "$(dirname "$0")/lib.sh"

# The model of generate.json and adapters, with weights by the rules of tests/peers/generate.py and lora.py.
python3 - "$SOURCE/tests/models" <<'PY'
import json, os, struct, sys
models = sys.argv[1]
said, lora = (json.load(open(f"{models}/{name}.json")) for name in ("generate", "lora"))
def write(path, tensors):
    header, body = {}, b""
    for name, shape, scale, shift in tensors:
        count, seed = shape[0] * (shape[1] if len(shape) > 1 else 1), sum(name.split("transformer.")[-1].encode())
        if "lora_" in name:
            seed = sum(name.encode())
        raw = struct.pack(f"<{count}f", *(((7919 * k * k + 104729 * k + 31337 * seed) % 65537 / 65537 - 0.5) * scale + shift
                                          for k in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + body)
write("model.safetensors", [("transformer." + name, shape, 0.25 if name == "wte.weight" else 1.5,
                             float("ln_" in name and name.endswith("weight"))) for name, shape in said["weights"].items()])
os.mkdir("given")
write("given/adapter_model.safetensors", [(name, shape, 0.4, 0.0) for name, shape in lora["shapes"].items()])
json.dump(lora["config"], open("given/adapter_config.json", "w"))
open("text.txt", "w").write(lora["text"])
c = said["config"]
data = {"name": "text", "path": "text.txt", "length": lora["length"]}
json.dump({"name": "lora", "max_duration": f"{lora['steps']}ba", "threads": 2, "optimizer": {"name": "sgd", "lr": lora["rate"]},
           "model": {"name": "gpt2", "n_layer": c["n_layer"], "n_head": c["n_head"], "n_embd": c["n_embd"],
                     "block_size": c["n_positions"], "vocab_size": c["vocab_size"]},
           "train": {"dataset": data, "batch_size": lora["batch"], "shuffle": False}, "loggers": [{"name": "jsonl"}],
           "eval": [{"label": "same", "dataset": data, "batch_size": 1, "subset_num_batches": 1, "metrics": []}],
           "load_weights": "model.safetensors", "load_strict": False,
           "callbacks": [{"name": "checkpoint_saver", "folder": "saves", "interval": "1ba", "keep": -1}],
           "algorithms": [{"name": "lora", "target": ["*.attn.c_attn", "h.1.mlp.c_proj"], "rank": lora["rank"],
                           "alpha": lora["alpha"], "adapter": "given", "prefix": "base_model.model.transformer."}]},
          open("run.json", "w"))
PY
cat >compare.py <<'PY'
import json, math, struct, sys
said = json.load(open(sys.argv[1] + "/lora.json"))
def close(got, want, what, tolerance=2e-5):
    assert len(got) == len(want), (what, len(got), len(want))
    scale = max(map(abs, want))
    worst = max(abs(a - b) for a, b in zip(got, want))
    assert worst <= tolerance * scale, (what, worst, scale)
def logits(path):
    data = open(path, "rb").read()
    classes = len(said["logits"])
    close(struct.unpack(f"<{classes}f", data[-4 * classes:]), said["logits"], path)
def adapters(folder):
    data = open(folder + "/adapter_model.safetensors", "rb").read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    assert header.pop("__metadata__") == {"format": "pt"}
    assert {k: v["shape"] for k, v in header.items()} == said["shapes"], header
    for name, entry in header.items():
        begin, end = (8 + size + at for at in entry["data_offsets"])
        close(struct.unpack(f"<{(end - begin) // 4}f", data[begin:end]), said["adapters"][name], name, 1e-4)
    config = json.load(open(folder + "/adapter_config.json"))
    assert {k: config[k] for k in said["config"]} == said["config"], config
    assert config["target_modules"] == ["h.0.attn.c_attn", "h.1.attn.c_attn", "h.1.mlp.c_proj"], config
def losses(path):
    got = [json.loads(line) for line in open(path)]
    got = [line["values"]["loss/train/total"] for line in got if "loss/train/total" in line.get("values", {})]
    close(got, said["losses"], "losses")
{"logits": logits, "adapters": adapters, "losses": losses}[sys.argv[2]](sys.argv[3])
PY
compare() { python3 compare.py "$SOURCE/tests/models" "$@"; }

"$TUTTI" predict run.json --output beside.npy >said.txt 2>&1
check "logits with an adapter of peft's files are peft's" compare logits beside.npy
"$TUTTI" predict run.json --output merged.npy --set algorithms.0.merge=true >said.txt 2>&1
check "merged into the weights too" compare logits merged.npy
"$TUTTI" train run.json --set algorithms.0.save_adapter=out >train.txt 2>&1
check "a run trains them" test $? = 0
check "steps are peft's, and so are the files" compare adapters out
check "and the losses" compare losses runs/lora/log.jsonl
check "the optimizer has the adapters alone" python3 - saves <<'PY'
import glob, json, struct, sys
newest = sorted(glob.glob(sys.argv[1] + "/*-ba3.safetensors"))[0]
data = open(newest, "rb").read()
header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
frozen = header["__metadata__"]["frozen"].split()
model = {k[6:] for k in header if k.startswith("model.")}
assert {k for k in model if "lora_" not in k} == set(frozen), sorted(model ^ set(frozen))
PY
"$TUTTI" predict run.json --checkpoint saves/*-ba3.safetensors --output trained.npy >said.txt 2>&1
"$TUTTI" predict run.json --set algorithms.0.adapter=out --output again.npy >said.txt 2>&1
check "a saved adapter is the checkpoint's" cmp trained.npy again.npy
check "one of a checkpoint can be merged" "$TUTTI" generate "$(latest .)" --prompt Adapters --max-tokens 3 \
  --set algorithms.0.merge=true --set algorithms.0.save_adapter=null
# ends <what> <status> <last line of stderr> <command...>
ends() {
  local what=$1 status=$2 expected=$3
  shift 3
  "$@" >ends.out 2>ends.err
  check "$what" test "$?" = "$status" -a "$(tail -1 ends.err | sed "s|$work/||g")" = "$expected"
}
says "merged adapters cannot be saved" 2 'tutti: algorithm lora cannot be opened: save_adapter wants adapters, of which merge leaves none' \
  "$TUTTI" train run.json --quiet --set algorithms.0.merge=true --set algorithms.0.save_adapter=x
ends "another rank" 1 \
  'tutti: lora on after_load: given/adapter_config.json: has r 2 and lora_alpha 6, this run'"'"'s rank is 3 and alpha 6' \
  "$TUTTI" predict run.json --output x.npy --set algorithms.0.rank=3
ends "an adapter of more layers" 1 \
  'tutti: lora on after_load: given/adapter_model.safetensors: base_model.model.transformer.h.1.mlp.c_proj.lora_A.weight is of no layer that target matches' \
  "$TUTTI" predict run.json --output x.npy --set 'algorithms.0.target=["*.attn.c_attn"]'
finish
