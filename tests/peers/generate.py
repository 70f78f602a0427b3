#!/usr/bin/env python3
"""generate.py - writes the tokens that transformers' GPT-2 adds to texts, the likeliest each time, to
tests/models/generate.json, with the weights' rule (weights_of) and the versions.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has `torch` and
`transformers`.  A text whose likeliest token is ever nearly another one is no good for a comparison: it is refused."""
import json
import pathlib

import torch
import transformers

FILE = pathlib.Path(__file__).resolve().parents[1] / "models/generate.json"
CONFIG = {"n_layer": 2, "n_head": 4, "n_embd": 32, "n_positions": 96, "vocab_size": 256}
PROMPTS = ["The cat", "x", "Once upon a time there was a tutti, and all of its cells played together: first the strings, "[:70]]
TOKENS = 24
LEAST_GAP = 2e-4  # between the two likeliest logits


def fill(shape, seed, scale, shift):
    """Element k is ((7919 k^2 + 104729 k + 31337 seed) mod 65537 / 65537 - 1/2) scale + shift, in f32."""
    n = torch.Size(shape).numel()
    return torch.tensor([((7919 * k * k + 104729 * k + 31337 * seed) % 65537 / 65537 - 0.5) * scale + shift for k in range(n)]).float().reshape(shape)


def main():
    config = transformers.GPT2Config(**CONFIG, bos_token_id=0, eos_token_id=None, attn_implementation="eager")
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for name, weight in model.transformer.named_parameters():
            norm = "ln_" in name and name.endswith("weight")
            weight.copy_(fill(weight.shape, sum(name.encode()), 0.25 if name == "wte.weight" else 1.5, 1.0 if norm else 0.0))
    answers = []
    for prompt in PROMPTS:
        ids = torch.tensor([list(prompt.encode())])
        with torch.no_grad():
            out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=TOKENS, do_sample=False, output_logits=True,
                                 return_dict_in_generate=True, pad_token_id=0)
        gaps = [(lambda top: float(top[0] - top[1]))(step[0].topk(2).values) for step in out.logits]
        if min(gaps) < LEAST_GAP:
            raise SystemExit(f"{prompt!r}: the two likeliest tokens are {min(gaps)} apart")
        answers.append({"prompt": prompt, "tokens": out.sequences[0, ids.shape[1]:].tolist(), "least_gap": round(min(gaps), 5)})
    said = {"by": f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}", "config": CONFIG,
            "weights": {name: list(w.shape) for name, w in model.transformer.named_parameters()}}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in said.items()]
    lines.append(' "texts": [\n  ' + ",\n  ".join(map(json.dumps, answers)) + "\n ]")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
