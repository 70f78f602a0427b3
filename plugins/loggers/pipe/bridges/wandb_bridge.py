"""wandb_bridge.py - JSON lines of the pipe logger to Weights & Biases: wandb_bridge.py PROJECT [NAME]"""
import json
import sys

import wandb

project, name = (sys.argv[1:] + [None, None])[:2]
run = wandb.init(project=project, name=name)
for line in iter(sys.stdin.readline, ""):  # a line at a time: none is read ahead
    row = json.loads(line)
    if row["kind"] == "metrics":
        run.log({key: float(value) for key, value in row["values"].items()}, step=row["batch"])
    elif row["kind"] == "hyperparameters":
        run.config.update(row["values"], allow_val_change=True)
run.finish()
