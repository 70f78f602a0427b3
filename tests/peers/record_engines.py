#!/usr/bin/env python3
"""record_engines.py - writes engines.json: what Ignite's engine makes of the two engine recipes on the data of twin_engine.py.

Pictures are trained as in Ignite's example of MNIST: a supervised trainer, two supervised evaluators, and handlers that run
these at the end of each epoch.  Texts are trained by a process function with a plain loop of torch.
Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has
`pytorch-ignite==0.5.5`, `torch==2.7.0` and `transformers==4.40.2`."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib

import ignite
import torch
import transformers
import twin
import twin_engine
import twin_text
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FILE = pathlib.Path(__file__).with_name("engines.json")


def fill(model, weights):
    """The first weights; those of convolutions lie otherwise here."""
    state = model.state_dict()
    with torch.no_grad():
        for name, (shape, values) in weights.items():
            w = torch.tensor(values).reshape(shape)
            state[name].copy_(w.permute(0, 3, 1, 2) if len(shape) == 4 else w)


def convolutions():
    body, into = nn.Sequential(), 1
    for k, out in enumerate(twin_engine.CHANNELS):
        body.add_module(f"conv{k}", nn.Conv2d(into, out, 3, padding=1, bias=False))
        body.add_module(f"norm{k}", nn.BatchNorm2d(out))
        body.add_module(f"act{k}", nn.ReLU())
        if k + 1 < len(twin_engine.CHANNELS):
            body.add_module(f"pool{k}", nn.MaxPool2d(2))
        into = out
    body.add_module("pool", nn.AdaptiveAvgPool2d(1))
    body.add_module("flat", nn.Flatten())
    body.add_module("head", nn.Linear(into, twin.CLASSES))
    model = nn.Module()
    model.body, model.forward = body, body.forward
    fill(model, twin_engine.convolution_weights())
    return model


def loader(name):
    x, classes = twin_engine.pictures(name)
    x = torch.tensor(x).reshape(-1, 1, twin_engine.SIDE, twin_engine.SIDE)
    return DataLoader(TensorDataset((x - twin_engine.MEAN) / twin_engine.STD, torch.tensor(classes).long()), twin_engine.BATCH)


def pictures():
    model, loss = convolutions(), nn.CrossEntropyLoss()
    loaders = {name: loader(name) for name in twin_engine.COUNT}
    trainer = create_supervised_trainer(model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5), loss)
    evaluators = {name: create_supervised_evaluator(model, {"accuracy": Accuracy(), "cross_entropy": Loss(loss)}) for name in loaders}
    found = {"losses": [], "training": [], "validation": []}
    trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda: found["losses"].append(trainer.state.output))

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate():
        for name, evaluator in evaluators.items():
            evaluator.run(loaders[name])
            found[name].append([evaluator.state.metrics[m] for m in ("accuracy", "cross_entropy")])

    trainer.run(loaders["training"], max_epochs=twin_engine.EPOCHS)
    return found


def gpt2():
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=twin_text.WORDS, n_positions=twin_text.LENGTH, n_embd=twin_text.WIDTH, n_layer=twin_text.LAYERS,
        n_head=twin_text.HEADS, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False))
    fill(model.transformer, twin_text.weights("gpt2"))
    return model


def texts():
    model = gpt2()
    named = list(model.named_parameters())
    optimizer = torch.optim.AdamW([{"params": [w for n, w in named if n.endswith("bias")], "weight_decay": 0.0},
                                   {"params": [w for n, w in named if not n.endswith("bias")]}],
                                  lr=0.0015, betas=(0.9, 0.99), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, twin_engine.rate)
    tokens = [torch.tensor(t).long().reshape(-1, twin_text.LENGTH) for t in twin_engine.texts()]
    data = DataLoader(TensorDataset(*tokens), twin_engine.ROWS)
    found = {"losses": [], "validation": []}

    def loss_of(batch):
        return nn.functional.cross_entropy(model(batch[0]).logits.flatten(0, 1), batch[1].flatten())

    def step(_, batch):
        model.train()
        optimizer.zero_grad()
        loss = loss_of(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        return loss.item()

    trainer = Engine(step)

    @trainer.on(Events.ITERATION_COMPLETED)
    def keep():
        found["losses"].append(trainer.state.output)

    @trainer.on(Events.ITERATION_COMPLETED(every=twin_engine.EVALUATED))
    def evaluate():
        model.eval()
        with torch.no_grad():
            found["validation"].append(loss_of(tokens).item())

    trainer.run(data, max_iters=twin_engine.ITERATIONS)
    return found


def main():
    torch.set_num_threads(1)
    name = "pytorch-ignite %s, torch %s, transformers %s" % (ignite.__version__, torch.__version__, transformers.__version__)
    FILE.write_text(json.dumps({"from": name, "glyphs_engine": pictures(), "shakespeare_gpt_engine": texts()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
