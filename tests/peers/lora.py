#!/usr/bin/env python3
"""lora.py - writes what peft makes of the small GPT-2 of generate.py to tests/models/lora.json: logits with known adapters,
losses of steps of plain gradient descent, the adapters behind them, and the names of the files that it writes.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has `torch`, `transformers`
and `peft`.  With a folder as its argument it reads the adapter that Tutti has written there instead, and prints its logits."""
import json
import pathlib
import sys
import tempfile

import peft
import safetensors.torch
import torch
import transformers

from generate import CONFIG, fill

FILE = pathlib.Path(__file__).resolve().parents[1] / "models/lora.json"
RANK, ALPHA, RATE, STEPS, LENGTH, BATCH = 2, 6.0, 0.5, 3, 16, 2
TARGETS = ["h.0.attn.c_attn", "h.1.attn.c_attn", "h.1.mlp.c_proj"]
TEXT = ("Adapters are small, the model is large, and what is learnt is little. " * 3)[: 5 * LENGTH * BATCH + 1]


def base():
    config = transformers.GPT2Config(**CONFIG, bos_token_id=0, eos_token_id=None, attn_implementation="eager", attn_pdrop=0.0,
                                     embd_pdrop=0.0, resid_pdrop=0.0)
    model = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():
        for name, weight in model.transformer.named_parameters():
            norm = "ln_" in name and name.endswith("weight")
            weight.copy_(fill(weight.shape, sum(name.encode()), 0.25 if name == "wte.weight" else 1.5, 1.0 if norm else 0.0))
    return model


def batches():
    ids = torch.tensor(list(TEXT.encode()))
    for k in range(STEPS):
        rows = range(k * BATCH, (k + 1) * BATCH)
        yield (torch.stack([ids[r * LENGTH:(r + 1) * LENGTH] for r in rows]),
               torch.stack([ids[r * LENGTH + 1:(r + 1) * LENGTH + 1] for r in rows]))


def logits_of(model, ids):
    model.eval()
    with torch.no_grad():
        return model(ids).logits[0, -1].tolist()


def main():
    first = next(batches())[0][:1]
    if len(sys.argv) > 1:
        print(logits_of(peft.PeftModel.from_pretrained(base(), sys.argv[1]), first)[:4])
        return
    config = peft.LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=TARGETS, lora_dropout=0.0, fan_in_fan_out=True)
    model = peft.get_peft_model(base(), config)
    pairs = {name.replace(".default", ""): weight for name, weight in model.named_parameters() if "lora_" in name}
    with torch.no_grad():
        for name, weight in pairs.items():
            weight.copy_(fill(weight.shape, sum(name.encode()), 0.4, 0.0))
    said = {"by": f"peft {peft.__version__}, transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}",
            "rank": RANK, "alpha": ALPHA, "rate": RATE, "steps": STEPS, "length": LENGTH, "batch": BATCH, "text": TEXT,
            "shapes": {name: list(weight.shape) for name, weight in pairs.items()}, "logits": logits_of(model, first)}
    model.train()
    optimizer, losses = torch.optim.SGD(pairs.values(), lr=RATE), []
    for ids, targets in batches():
        loss = torch.nn.functional.cross_entropy(model(ids).logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    said["losses"] = losses
    said["adapters"] = {name: weight.flatten().tolist() for name, weight in pairs.items()}
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        written = safetensors.torch.load_file(pathlib.Path(folder) / "adapter_model.safetensors")
        assert {k: list(v.shape) for k, v in written.items()} == said["shapes"], written.keys()
        said["config"] = {k: v for k, v in json.loads((pathlib.Path(folder) / "adapter_config.json").read_text()).items()
                          if k in ("peft_type", "r", "lora_alpha", "lora_dropout", "bias", "fan_in_fan_out", "inference_mode")}
    short = json.loads(json.dumps(said), parse_float=lambda x: float(f"{float(x):.7g}"))
    FILE.write_text("{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in short.items()) + "\n}\n")


if __name__ == "__main__":
    main()
