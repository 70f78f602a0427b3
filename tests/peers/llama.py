#!/usr/bin/env python3
"""llama.py - logits of transformers' Llama, Qwen 2 and Qwen 3 on weights by a rule, as JSON: tests/models/llama.json.

Run by hand, in a virtual environment with torch and transformers:

    PEERS/bin/python tests/peers/llama.py >tests/models/llama.json

Each case has the config.json that transformers writes, and the logits of a batch of tokens. With --folder PATH the
models' folders, as save_pretrained writes them, go there too: PATH/CASE.
"""
import argparse
import json
import pathlib
import tempfile

import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

BATCH, LENGTH, VOCABULARY = 2, 7, 23
SMALL = dict(vocab_size=VOCABULARY, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=64)
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}
CASES = {
    "llama2": (LlamaForCausalLM, LlamaConfig(**SMALL, num_key_value_heads=4, rms_norm_eps=1e-5)),
    "llama2_linear": (LlamaForCausalLM, LlamaConfig(
        **SMALL, num_key_value_heads=2, rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0})),
    "llama3": (LlamaForCausalLM, LlamaConfig(**SMALL, num_key_value_heads=2, tie_word_embeddings=True,
                                             rope_parameters=LLAMA3)),
    "llama_biases": (LlamaForCausalLM, LlamaConfig(**SMALL, num_key_value_heads=1, attention_bias=True, mlp_bias=True)),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config(**SMALL, num_key_value_heads=2)),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config(**SMALL, num_key_value_heads=2, head_dim=6, tie_word_embeddings=True)),
}


def fill(model):
    """Element k of a weight is (37 k + 11 seed) mod 101 / 101 - 1/2, the seed the sum of its name's bytes; norms are
    around 1."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            k = torch.arange(weight.numel(), dtype=torch.int64)
            x = ((k * 37 + sum(name.encode()) * 11) % 101).double() / 101 - 0.5
            if "norm" in name:
                x += 1
            weight.copy_(x.float().reshape(weight.shape))


def tokens():
    return torch.tensor([(7 * k * k + 3 * k) % VOCABULARY for k in range(BATCH * LENGTH)]).reshape(BATCH, LENGTH)


def case(name, kind, config, folder):
    model = kind(config).eval()
    fill(model)
    model.save_pretrained(folder)
    with torch.no_grad():
        logits = model(tokens()).logits
    written = json.loads((pathlib.Path(folder) / "config.json").read_text())
    return {"name": name, "config": written, "logits": [float(f"{x:.7g}") for x in logits.flatten().tolist()]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder")
    folder = parser.parse_args().folder
    cases = []
    for name, (kind, config) in CASES.items():
        with tempfile.TemporaryDirectory() as spare:
            cases.append(case(name, kind, config, pathlib.Path(folder) / name if folder else spare))
    print(json.dumps({"from": f"torch {torch.__version__}, transformers {transformers.__version__}, by tests/peers/llama.py",
                      "cases": "CASES"}).replace('"CASES"', "[\n" + ",\n".join(map(json.dumps, cases)) + "\n]"))


if __name__ == "__main__":
    main()
