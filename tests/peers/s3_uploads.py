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

import boto3
from moto.server import ThreadedMotoServer

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
    os.environ.update(AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host.replace('0.0.0.0', '127.0.0.1')}:{port}"
    own = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
    iam = boto3.client("iam", endpoint_url=endpoint, **own)
    iam.create_user(UserName="tutti")
    iam.put_user_policy(UserName="tutti", PolicyName="all", PolicyDocument=json.dumps(
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}))
    key = iam.create_access_key(UserName="tutti")["AccessKey"]
    s3 = boto3.client("s3", endpoint_url=endpoint, **own)
    s3.create_bucket(Bucket="models")
    import requests
    requests.post(f"{endpoint}/moto-api/reset-auth", data=b"0", timeout=10)  # from here on signatures count
    os.environ.update(AWS_ACCESS_KEY_ID=key["AccessKeyId"], AWS_SECRET_ACCESS_KEY=key["SecretAccessKey"])
    s3 = boto3.client("s3", endpoint_url=endpoint, aws_access_key_id=key["AccessKeyId"],
                      aws_secret_access_key=key["SecretAccessKey"], region_name="us-east-1")
    names = lambda: {o["Key"]: o for o in s3.list_objects_v2(Bucket="models").get("Contents", [])}
    bad = boto3.client("s3", endpoint_url=endpoint, aws_access_key_id=key["AccessKeyId"],
                       aws_secret_access_key="wrong", region_name="us-east-1")
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
