"""comet_bridge.py - JSON lines of the pipe logger to Comet: comet_bridge.py PROJECT [NAME]; COMET_OFFLINE=FOLDER keeps them there"""
import json
import os
import sys

import comet_ml

project, name = (sys.argv[1:] + [None, None])[:2]
folder = os.environ.get("COMET_OFFLINE")
run = (comet_ml.OfflineExperiment(project_name=project, offline_directory=folder) if folder
       else comet_ml.Experiment(project_name=project))
if name:
    run.set_name(name)
for line in iter(sys.stdin.readline, ""):  # a line at a time: none is read ahead
    row = json.loads(line)
    if row["kind"] == "metrics":
        run.log_metrics({key: float(value) for key, value in row["values"].items()}, step=row["batch"], epoch=row["epoch"])
    elif row["kind"] == "hyperparameters":
        run.log_parameters(row["values"])
run.end()
