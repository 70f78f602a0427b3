"""neptune_bridge.py - JSON lines of the pipe logger to Neptune: neptune_bridge.py WORKSPACE/PROJECT [NAME]; NEPTUNE_MODE=offline needs no server"""
import json
import math
import sys

import neptune

project, name = (sys.argv[1:] + [None, None])[:2]
run = neptune.init_run(project=project, name=name)
for line in iter(sys.stdin.readline, ""):  # a line at a time: none is read ahead
    row = json.loads(line)
    if row["kind"] == "metrics":
        for key, value in row["values"].items():
            if math.isfinite(float(value)):  # Neptune takes no others
                run[key].append(float(value), step=row["batch"])
    elif row["kind"] == "hyperparameters":
        for key, value in row["values"].items():
            run["hyperparameters/" + key] = value
run.stop()
