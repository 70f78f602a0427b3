#!/usr/bin/env python3
"""mlflow_read.py URI - what a real MLflow server has of the runs that the logger mlflow sent: each run's status, settings, last values, and the
steps of its loss.

    python3 -m venv PEERS && PEERS/bin/pip install mlflow
    PEERS/bin/mlflow server --port 5077 --backend-store-uri sqlite:///mlflow.db &
    build/release/tutti train RUN.json      # with {"name": "mlflow", "tracking_uri": "http://127.0.0.1:5077"}
    PEERS/bin/python tests/peers/mlflow_read.py http://127.0.0.1:5077
"""
import sys

import mlflow


def main():
    client = mlflow.MlflowClient(tracking_uri=sys.argv[1])
    print(f"mlflow {mlflow.__version__}")
    for experiment in client.search_experiments():
        for run in client.search_runs([experiment.experiment_id]):
            print(experiment.name, run.info.run_name, run.info.status, run.data.params, run.data.metrics)
            print([(m.step, m.value) for m in client.get_metric_history(run.info.run_id, "loss/train/total")])


main()
