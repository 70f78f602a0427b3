#!/usr/bin/env python3
"""published.py - what transformers' GPT-2, BERT, RoBERTa, ViT, ResNet and ConvNeXt give on weights by a rule, as JSON: tests/models/published.json.

Run by hand, in a virtual environment with torch and transformers:

    PEERS/bin/python tests/peers/published.py >tests/models/published.json

Each case has the config.json that transformers writes, the tensors of the file of weights, and the logits of a batch.
With --folder PATH the models' folders, as save_pretrained writes them, go there too: PATH/CASE.
"""
import argparse
import json
import pathlib
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (BertConfig, BertForMaskedLM, BertForSequenceClassification, ConvNextConfig,
                          ConvNextForImageClassification, GPT2Config, GPT2LMHeadModel, ResNetConfig,
                          ResNetForImageClassification, RobertaConfig, RobertaForMaskedLM, RobertaForSequenceClassification,
                          ViTConfig, ViTForImageClassification)

BATCH, LENGTH, VOCABULARY, CLASSES, SIDE = 2, 7, 23, 3, 8
BERT = dict(vocab_size=VOCABULARY, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
            max_position_embeddings=16)
ROBERTA = dict(BERT, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1)
BASIC = dict(embedding_size=4, hidden_sizes=[4, 8, 16, 32], depths=[2, 2, 2, 2], layer_type="basic", num_labels=CLASSES)
DEEP = dict(embedding_size=4, hidden_sizes=[16, 32, 64, 128], depths=[3, 4, 6, 3], num_labels=CLASSES)
CASES = {
    "gpt2": ("tokens", GPT2LMHeadModel,
             GPT2Config(vocab_size=VOCABULARY, n_layer=2, n_head=2, n_embd=8, n_positions=16)),
    "bert_masked_lm": ("tokens", BertForMaskedLM, BertConfig(**BERT)),
    "bert_classes": ("label", BertForSequenceClassification, BertConfig(**BERT, num_labels=CLASSES)),
    "roberta_masked_lm": ("tokens", RobertaForMaskedLM, RobertaConfig(**ROBERTA)),
    "roberta_classes": ("label", RobertaForSequenceClassification, RobertaConfig(**ROBERTA, num_labels=CLASSES)),
    "vit": ("image", ViTForImageClassification,
            ViTConfig(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12, image_size=SIDE,
                      patch_size=4, num_labels=CLASSES)),
    "resnet": ("image", ResNetForImageClassification, ResNetConfig(**BASIC)),
    "convnext": ("image", ConvNextForImageClassification,
                 ConvNextConfig(patch_size=1, hidden_sizes=[4, 8, 8, 12], depths=[1, 1, 2, 1], image_size=SIDE,
                                num_labels=CLASSES)),
}
BY_HAND = {"resnet50": ("image", ResNetForImageClassification, ResNetConfig(**DEEP))}


def by_rule(n, name):
    """Element k is (37 k + 11 seed) mod 101 / 101 - 1/2, the seed the sum of the name's bytes."""
    return ((torch.arange(n, dtype=torch.int64) * 37 + sum(name.encode()) * 11) % 101).double() / 101 - 0.5


def fill(file):
    """By the names of the file. Scales of norms, and variances, are around 1."""
    tensors = load_file(file)
    for name, weight in tensors.items():
        if weight.is_floating_point():
            one = name.endswith("running_var") or (weight.dim() == 1 and name.endswith(".weight"))
            tensors[name] = (by_rule(weight.numel(), name) + one).float().reshape(weight.shape)
    save_file(tensors, file, metadata={"format": "pt"})
    return {name: list(weight.shape) for name, weight in sorted(tensors.items()) if weight.is_floating_point()}


def batch(kind):
    if kind == "image":
        x = by_rule(BATCH * SIDE * SIDE * 3, "image").float() * 4
        return x.reshape(BATCH, SIDE, SIDE, 3).permute(0, 3, 1, 2)
    # never 1, which is RoBERTa's padding
    return torch.tensor([(7 * k * k + 3 * k) % VOCABULARY for k in range(BATCH * LENGTH)]).reshape(BATCH, LENGTH)


def case(name, kind, model, folder):
    model.save_pretrained(folder)
    tensors = fill(pathlib.Path(folder) / "model.safetensors")
    model = type(model).from_pretrained(folder).eval()
    with torch.no_grad():
        logits = model(batch(kind)).logits
    config = json.loads((pathlib.Path(folder) / "config.json").read_text())
    return {"name": name, "kind": kind, "config": config, "tensors": tensors,
            "logits": [float(f"{x:.7g}") for x in logits.flatten().tolist()]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder")
    folder = parser.parse_args().folder
    cases = []
    for name, (kind, model, config) in {**CASES, **(BY_HAND if folder else {})}.items():
        with tempfile.TemporaryDirectory() as spare:
            one = case(name, kind, model(config), pathlib.Path(folder) / name if folder else spare)
        if name in CASES:
            cases.append(one)
    print(json.dumps({"from": f"torch {torch.__version__}, transformers {transformers.__version__}, by "
                              "tests/peers/published.py",
                      "cases": "CASES"}).replace('"CASES"', "[\n" + ",\n".join(map(json.dumps, cases)) + "\n]"))


if __name__ == "__main__":
    main()
