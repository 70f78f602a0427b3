#!/usr/bin/env python3
"""s3_shards.py - sets of mds and tars of webdataset on a real server of S3 (moto) that checks signatures; by hand.

    PEERS/bin/pip install 'moto[server]==5.2.5' boto3==1.44.5
    PEERS/bin/python tests/peers/s3_shards.py build/release/tutti
"""
# SPDX-License-Identifier: Apache-2.0
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import s3_server

TUTTI = os.path.abspath(sys.argv[1])
WALKS = pathlib.Path(__file__).resolve().parents[2] / "docs/walks"


def losses(folder, name, dataset):
    """Of a small run, shuffled, read by two threads."""
    run = {"name": name, "model": {"name": "cnn", "channels": [8]}, "seed": 3, "threads": 1, "max_duration": "2ep",
           "train": {"dataset": dataset, "batch_size": 16, "workers": 2,
                     "transforms": [{"name": "resize", "size": 32}, {"name": "normalize", "mean": [0.5] * 3, "std": [0.25] * 3}]},
           "optimizer": {"name": "sgd", "lr": 0.05}, "loggers": [{"name": "jsonl"}]}
    (folder / "run.json").write_text(json.dumps(run))
    subprocess.run([TUTTI, "train", "run.json", "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    lines = (json.loads(line) for line in open(folder / "runs" / name / "log.jsonl", encoding="utf-8"))
    found = [v["values"]["loss/train/total"] for v in lines if "loss/train/total" in v.get("values", {})]
    assert len(found) == 18, len(found)
    return found


def main():
    server, endpoint, client = s3_server.start("data")
    os.environ["S3_ENDPOINT_URL"] = endpoint
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.executable, str(WALKS / "draw_images.py"), "images"], cwd=folder, check=True)
        subprocess.run([TUTTI, "data", "convert", "images/train", "set", "--shard-samples", "24"], cwd=folder, check=True)
        for k, shard in enumerate(sorted((folder / "images/train").iterdir())):
            with tarfile.open(folder / f"t-{k}.tar", "w") as out:
                for picture in sorted(shard.iterdir()):
                    for ending, data in (("png", picture.read_bytes()), ("cls", b"%d" % k)):
                        info = tarfile.TarInfo(f"{k}-{picture.stem}.{ending}")
                        info.size = len(data)
                        out.addfile(info, io.BytesIO(data))
            client.upload_file(str(folder / f"t-{k}.tar"), "data", f"my tars/t-{k}.tar")
        for file in (folder / "set").iterdir():
            client.upload_file(str(file), "data", f"my set/{file.name}")
        mds = {"name": "mds", "path": "set", "classes": 3, "cache_mib": 0}
        want = losses(folder, "here", mds)
        assert losses(folder, "there", {**mds, "path": "kept", "remote": "s3://data/my set", "predownload": 2}) == want
        assert len(list((folder / "kept").glob("*.mds"))) == 6
        print("mds: the losses are those of the files here")
        tars = {"name": "webdataset", "path": "t-{0..2}.tar", "inputs": ["png"], "sizes": "vary"}
        want = losses(folder, "tars", tars)
        assert losses(folder, "far", {**tars, "path": "s3://data/my tars/t-{0..2}.tar", "cache_folder": "tars"}) == want
        print("webdataset: the losses are those of the files here")
        bad = subprocess.run([TUTTI, "data", "inspect", "s3://data/my tars/t-0.tar", "--as", "webdataset", "--set", "cache_folder=no"],
                             cwd=folder, check=False, capture_output=True, text=True, env={**os.environ, "AWS_SECRET_ACCESS_KEY": "wrong"})
        print(bad.stderr.strip())
        assert bad.returncode == 2 and "status 403: SignatureDoesNotMatch" in bad.stderr
    server.stop()


if __name__ == "__main__":
    main()
