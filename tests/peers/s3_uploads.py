#!/usr/bin/env python3
"""s3_uploads.py - a real server of S3 (moto) takes what remote_uploader sends and gives it back, signatures checked; by hand.

    PEERS/bin/pip install 'moto[server]==5.2.5' boto3==1.44.5
    PEERS/bin/python tests/peers/s3_uploads.py build/release/tutti
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import s3_server

TUTTI = os.path.abspath(sys.argv[1])


def run_file(endpoint, width, part):
    """A small run whose checkpoints have some 12 * width * width bytes."""
    data = {"dataset": {"name": "glyphs", "samples": 640}, "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}], "batch_size": 64}
    return {
        "name": "peer",
        "model": {"name": "mlp", "hidden": [width, width]},
        "train": data,
        "optimizer": {"name": "adamw", "lr": 0.001},
        "max_duration": "3ep",
        "callbacks": [{"name": "checkpoint_saver", "keep": 1}],
        "loggers": [{"name": "jsonl", "remote_file_name": "{run_name}/log.jsonl"},
                    {"name": "remote_uploader", "bucket_uri": "s3://models/deep folder", "endpoint": endpoint,
                     "part_size": part, "num_concurrent_uploads": 2, "flush_timeout": 120}]}


def train(folder, endpoint, width, kill=None):
    path = folder / "run.json"
    path.write_text(json.dumps(run_file(endpoint, width, 5)))
    process = subprocess.Popen([TUTTI, "train", str(path), "--quiet"] + (["--resume", "auto"] if not kill else []),
                               cwd=folder)
    if kill:
        while process.poll() is None and not kill():
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        return process.wait()
    assert process.wait() == 0
    return 0


def load_back(folder, endpoint, last, address):
    """A machine that lost its files: an evaluation by address, the newest by --resume auto."""
    os.environ["S3_ENDPOINT_URL"] = endpoint
    subprocess.run([TUTTI, "export", address, "--onnx", str(folder / "back.onnx")], check=True)
    (folder / "last.safetensors").write_bytes(last)
    subprocess.run([TUTTI, "export", str(folder / "last.safetensors"), "--onnx", str(folder / "here.onnx")], check=True)
    assert (folder / "back.onnx").read_bytes() == (folder / "here.onnx").read_bytes()
    path, settings = folder / "back.json", json.loads((folder / "run.json").read_text())
    settings["max_duration"] = "4ep"
    path.write_text(json.dumps(settings))
    shutil.rmtree(folder / "runs")
    done = subprocess.run([TUTTI, "train", str(path), "--quiet", "--resume", "auto"], cwd=folder, check=True,
                          capture_output=True, text=True)
    print(done.stderr.strip())
    assert "was fetched from elsewhere" in done.stderr
    assert (folder / "runs/peer/checkpoints/ep4-ba40.safetensors").exists()
    bad = subprocess.run([TUTTI, "export", address, "--onnx", str(folder / "bad.onnx")], check=False,
                         capture_output=True, text=True, env={**os.environ, "AWS_SECRET_ACCESS_KEY": "wrong"})
    print(bad.stderr.strip())
    assert bad.returncode == 2 and "status 403: SignatureDoesNotMatch" in bad.stderr


def main():
    server, endpoint, s3 = s3_server.start("models")
    names = lambda: {o["Key"]: o for o in s3.list_objects_v2(Bucket="models").get("Contents", [])}
    bad = s3_server.client(endpoint, os.environ["AWS_ACCESS_KEY_ID"], "wrong")
    try:
        bad.list_objects_v2(Bucket="models")
        raise SystemExit("the server takes a wrong signature")
    except bad.exceptions.ClientError as error:
        print("a wrong key gets", error.response["Error"]["Code"])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        parts = lambda: any(u for u in s3.list_multipart_uploads(Bucket="models").get("Uploads", []))
        status = train(folder, endpoint, 1500, kill=parts)  # in the middle of an upload of parts
        print("killed with", status, "uploads that are open:", parts())
        train(folder, endpoint, 1500)
        have = names()
        for key_name, entry in have.items():
            print(entry["Size"], entry["ETag"], key_name)
        body = lambda key_name: s3.get_object(Bucket="models", Key=key_name)["Body"].read()
        newest = body("deep folder/peer/checkpoints/latest.safetensors.symlink").decode()
        local = folder / "runs/peer/checkpoints/latest.safetensors"
        assert body("deep folder/" + newest) == local.read_bytes()
        checkpoints = [k for k in have if k.endswith("0.safetensors")]
        assert len(checkpoints) == 3, checkpoints
        assert all("-" in have[k]["ETag"] for k in checkpoints)  # of several parts
        log = body("deep folder/peer/log.jsonl")
        assert (folder / "runs/peer/log.jsonl").read_bytes().startswith(log) and log.endswith(b"}\n")
        assert not parts() and not (folder / "runs/peer/uploads").exists()
        load_back(folder, endpoint, local.read_bytes(), "s3://models/deep folder/" + newest)
    server.stop()
    print("all there, to the byte")


if __name__ == "__main__":
    main()
