#!/usr/bin/env python3
"""mlflow_read.py URI - what MLflow itself has of the runs that the logger mlflow sent: each run's status, settings, tags, last values, files, and
every value of its loss. URI is a server's address, or a folder.

    python3 -m venv PEERS && PEERS/bin/pip install mlflow
    PEERS/bin/mlflow server --port 5077 --backend-store-uri sqlite:///mlflow.db &
    build/release/tutti train RUN.json      # with {"name": "mlflow", "tracking_uri": "http://127.0.0.1:5077"}, or "mlruns"
    PEERS/bin/python tests/peers/mlflow_read.py http://127.0.0.1:5077        # or mlruns
"""
import os
import sys

os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # newer releases read folders only when told to

import mlflow  # noqa: E402
from mlflow.entities import ViewType  # noqa: E402


def main():
    client = mlflow.MlflowClient(tracking_uri=sys.argv[1])
    print(f"mlflow {mlflow.__version__}")
    for experiment in client.search_experiments(view_type=ViewType.ALL):
        print(f"experiment {experiment.name!r}, {experiment.lifecycle_stage}")
        for run in client.search_runs([experiment.experiment_id], run_view_type=ViewType.ALL):
            print(f"  run {run.info.run_name!r}, {run.info.status}, {run.info.end_time - run.info.start_time if run.info.end_time else '-'} ms")
            print(f"    params {run.data.params}")
            print(f"    tags {run.data.tags}")
            print(f"    metrics {run.data.metrics}")
            print(f"    files {[f.path for f in client.list_artifacts(run.info.run_id)]}")
            print([(m.step, m.value) for m in client.get_metric_history(run.info.run_id, "loss/train/total")])


main()
