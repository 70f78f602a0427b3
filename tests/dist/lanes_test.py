"""lanes_test.py - "shuffle" in lanes: the bits of one process, each rank reads shards of its own; files that ranks share are
fetched once: lanes_test.py TUTTI [NAME]"""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import glob
import io
import os
import struct
import subprocess
import sys
import tarfile
import time

from ranks import World, changed, difference, main, write
from bits_test import same
from data_files import npy, write_shards  # after ranks, which says where it lies

SERVER = os.path.join(os.path.dirname(__file__), "..", "e2e", "file_server.py")


def write_tars(folder, counts):
    """Shards of webdataset with so many samples: 8 x 8 floats and a class."""
    os.makedirs(folder)
    at = 0
    for number, count in enumerate(counts):
        with tarfile.open(os.path.join(folder, f"{number:03d}.tar"), "w") as tar:
            for k in range(at, at + count):
                pixels = struct.pack("<64f", *[(k * j % 23) / 9 for j in range(64)])
                for ending, data in (("npy", npy("<f4", (8, 8, 1), pixels)), ("cls", str(k % 10).encode())):
                    entry = tarfile.TarInfo(f"{k:06d}.{ending}")
                    entry.size = len(data)
                    tar.addfile(entry, io.BytesIO(data))
        at += count


def write_tokens(folder, counts, length):
    """Files of GPT-2's tokens with so many blocks."""
    os.makedirs(folder)
    for number, count in enumerate(counts):
        n = count * length + 1
        tokens = struct.pack(f"<{n}H", *((k * k + 7 * number) % 50 for k in range(n)))
        with open(os.path.join(folder, f"{number:03d}.bin"), "wb") as f:
            f.write(struct.pack("<256i", 20240520, 1, n, *[0] * 253) + tokens)


def run_on(dataset, batch=12, **more):
    """A run of four slots a batch on data of 8 x 8 floats."""
    run = changed(eval=[], model={"name": "mlp", "hidden": [16]}, microbatch_size=batch // 4, **more)
    run["train"] = {"dataset": dataset, "batch_size": batch, "workers": 1, "prefetch": 1, "shuffle": {"lanes": 4, "window": 2}}
    return run


def bits(tutti, folder, report):
    """Losses, weights and states are those of one process, over an epoch's end, with uneven shards and a last batch that
    is not full, of images and of tokens; a shuffle in lanes is another order than one without."""
    counts = [5, 20, 0, 9, 17, 11, 3, 14]
    write_shards(os.path.join(folder, "set"), counts)
    write_tars(os.path.join(folder, "tars"), [n for n in counts if n])
    write_tokens(os.path.join(folder, "tokens"), counts, 8)
    for what, dataset in (("tokens_bin", {"name": "tokens_bin", "path": os.path.join(folder, "tokens", "*.bin"), "length": 8,
                                          "vocabulary_size": 50}),
                          ("mds", {"name": "mds", "path": os.path.join(folder, "set"), "classes": 10}),
                          ("webdataset", {"name": "webdataset", "path": os.path.join(folder, "tars", "{000..006}.tar"),
                                          "inputs": ["npy"], "classes": 10})):
        run = run_on(dataset)
        run["train"]["drop_last"] = False
        if what == "tokens_bin":
            run["model"] = {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8}
        same(tutti, folder, report, what, run, (2, 3, 4))
        run["train"]["shuffle"] = True
        where = os.path.join(folder, f"{what}-plain")
        write(where, run)
        World(tutti, where, 1).end()
        text = difference(os.path.join(folder, f"{what}-1"), where)
        report.check(f"{what}: without lanes it is another order", "tensors differ" in text, text)


def resume(tutti, folder, report):
    """A run of two ranks that stops in the midst of the second epoch goes on with three."""
    write_shards(os.path.join(folder, "set"), [20] * 9)
    write_tars(os.path.join(folder, "tars"), [20] * 9)
    write_tokens(os.path.join(folder, "tokens"), [20] * 9, 8)
    gpt = {"model": {"name": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8}}
    for what, dataset, more in (
            ("mds", {"path": os.path.join(folder, "set"), "classes": 10}, {}),
            ("webdataset", {"path": os.path.join(folder, "tars", "{000..008}.tar"), "inputs": ["npy"], "classes": 10}, {}),
            ("tokens_bin", {"path": os.path.join(folder, "tokens", "*.bin"), "length": 8, "vocabulary_size": 50}, gpt)):
        run = run_on({"name": what, **dataset}) | more
        whole, parts = os.path.join(folder, f"{what}-whole"), os.path.join(folder, f"{what}-parts")
        write(whole, run)
        write(parts, run)
        ends = [World(tutti, whole, 1).end()]
        for size, until in ((2, "22ba"), (3, "2ep")):
            ends.append(World(tutti, parts, size, ["--resume", "auto", "--set", f"max_duration={until}"]).end())
        text = f"{ends}" if any(any(status) for status, _, _ in ends) else difference(whole, parts)
        report.check(f"{what}, resumed within an epoch: the bits of one", not text, text)


@contextlib.contextmanager
def served(folder):
    """The address of a server of folder/bucket/models, whose requests stand in folder/log."""
    port = os.path.join(folder, "port")
    with subprocess.Popen([sys.executable, SERVER, os.path.join(folder, "bucket"), port, os.path.join(folder, "log")]) as server:
        try:
            until = time.monotonic() + 60
            while not os.path.exists(port) and time.monotonic() < until:
                time.sleep(0.02)
            with open(port, encoding="utf-8") as f:
                yield f"http://127.0.0.1:{f.read()}/models"
        finally:
            server.terminate()


def fetched(tutti, folder, report, what, run):
    """The numbers of the shards that each of two ranks has fetched, into a cache of its own."""
    own = [os.path.join(folder, what, str(rank)) for rank in range(2)]
    for where in own:
        write(where, run)
    status, _, err = World(tutti, os.path.join(folder, what), 2, places=dict(enumerate(own))).end()
    report.check(f"{what}: trained", not any(status), f"{status} {err}")
    return [{int(name[-9:-4]) for name in glob.glob(os.path.join(where, "cache", "*.mds"))} for where in own]


def shards(tutti, folder, report):
    """Half an epoch of a set behind a server: a rank fetches shards of its two lanes, also ahead, and none of the others."""
    write_shards(os.path.join(folder, "bucket", "models", "set"), [12] * 16)
    with served(folder) as server:
        run = run_on({"name": "mds", "path": "cache", "remote": f"{server}/set", "classes": 10, "predownload": 0}, 16, max_duration="6ba")
        left, right = fetched(tutti, folder, report, "lanes", run)
        report.check("each rank has fetched shards of its own", len(left) >= 4 and len(right) >= 4, f"{left} {right}")
        report.check("but for the first, which tells the shape", left & right <= {0}, f"{left} {right}")
        run["train"]["dataset"]["predownload"] = 2
        left, right = fetched(tutti, folder, report, "ahead", run)
        report.check("ahead too", left & right <= {0, 1, 2} and len(left | right) > 10, f"{left} {right}")
        run["train"]["shuffle"] = True
        left, right = fetched(tutti, folder, report, "plain", run)
        report.check("without lanes both fetch most of them", len(left & right) > 10, f"{left} {right}")


def one_fetch(tutti, folder, report):
    """Three ranks of a machine share the folder that shards are kept in: each file is fetched once."""
    write_shards(os.path.join(folder, "bucket", "models", "set"), [12] * 8)
    write_tars(os.path.join(folder, "bucket", "models", "tars"), [12] * 8)
    with served(folder) as server:
        for what, dataset, files in (
                ("mds", {"name": "mds", "path": "cache", "remote": f"{server}/set", "classes": 10}, 9),
                ("webdataset", {"name": "webdataset", "path": f"{server}/tars/{{000..007}}.tar", "cache_folder": "cache",
                                "inputs": ["npy"], "classes": 10}, 8)):
            where = os.path.join(folder, what)
            write(where, run_on(dataset, max_duration="1ep"))
            status, _, err = World(tutti, where, 3).end()
            report.check(f"{what}: trained", not any(status), f"{status} {err}")
            with open(os.path.join(folder, "log"), encoding="utf-8") as f:
                asked = [line for line in f if line.startswith("GET ")]
            os.remove(os.path.join(folder, "log"))
            report.check(f"{what}: one request a file", len(asked) == len(set(asked)) == files, f"{sorted(asked)}")
            left = [name for _, _, names in os.walk(os.path.join(where, "cache")) for name in names if ".lock" in name or ".part" in name]
            report.check(f"{what}: no lock stays", not left, f"{left}")


def forecast(tutti, folder, report):
    """`tutti plan` says how many lanes a rank reads at most: its slots', in a row or in rounds."""
    write_shards(os.path.join(folder, "set"), [20] * 9)
    run = run_on({"name": "mds", "path": os.path.join(folder, "set"), "classes": 10}, 24, max_duration="1ep")
    run["microbatch_size"] = 3  # eight slots
    for ranks, sharding, lanes, want in ((2, "none", 4, 4), (4, "none", 4, 2), (2, "gradients", 4, 2), (3, "none", 8, 3), (8, "none", 2, 1)):
        run["distributed"]["sharding"] = sharding
        run["train"]["shuffle"]["lanes"] = lanes
        write(folder, run)
        ended = subprocess.run([tutti, "plan", "run.json", "--world", str(ranks)], cwd=folder, capture_output=True, text=True, check=False)
        report.check(f"{ranks} ranks, {lanes} lanes, sharding {sharding}: a rank reads {want}",
                     f"lanes: a rank reads {want} of {lanes} at most\n" in ended.stdout, f"{ended.stdout} {ended.stderr}")


def refusals(tutti, folder, report):
    """What has no lanes, or fewer than are wanted."""
    write_shards(os.path.join(folder, "set"), [20] * 3)
    mds = {"name": "mds", "path": os.path.join(folder, "set"), "classes": 10}
    cases = [("no shards", {"name": "glyphs", "samples": 60}, 4,
              "tutti: shuffle: dataset glyphs has no groups of samples, such as shards, that lanes could have\n"),
             ("fewer shards", mds, 4, "tutti: shuffle: 4 lanes, and dataset mds has 3 groups of samples, such as shards; want no "
              "more lanes than groups\n"),
             ("an order of its own", mds | {"shuffle_algo": "py1s"}, 2,
              "tutti: shuffle: dataset mds has an order of its own, and so no lanes\n"),
             ("fewer slots", mds, 5, ": train.shuffle.lanes: is 5, and a batch of 12 has 4 microbatches of 3, want no more lanes "
              "than microbatches\n")]
    for what, dataset, lanes, want in cases:
        run = run_on(dataset)
        run["train"]["shuffle"]["lanes"] = lanes
        del run["distributed"]
        where = os.path.join(folder, what)
        write(where, run)
        ended = subprocess.run([tutti, "train", "run.json"], cwd=where, capture_output=True, text=True, check=False)
        report.check(what, ended.returncode == 2 and ended.stderr.endswith(want), f"{ended.returncode} {ended.stderr}")
    for what, change, want in (
            ("automatic microbatches", {"microbatch_size": "auto"}, "run.json:1: train.shuffle.lanes: is 4, and microbatch_size is "
             "auto, want a number: each microbatch takes its samples from one lane\n"),
            ("a sampler", {"train": run_on(mds)["train"] | {"sampler": {"name": "class_balanced"}}},
             "run.json:1: train.shuffle: has lanes, and a sampler has an order of its own\n"),
            ("an evaluation", {"eval": [{"dataset": mds, "shuffle": {"lanes": 1}}]},
             "run.json:1: eval[0].shuffle: has lanes, which are for training data, want true or false\n"),
            ("too many microbatches", {"train": run_on(mds)["train"] | {"batch_size": 70000, "shuffle": False}, "microbatch_size": 1},
             "run.json:1: microbatch_size: is 1, which cuts a batch of 70000 into 70000 microbatches, want at most 65535\n"),
            ("a word", {"train": run_on(mds)["train"] | {"shuffle": "lanes"}},
             'run.json:1: train.shuffle: is "lanes", want true, false or an object with lanes\n')):
        where = os.path.join(folder, what)
        write(where, run_on(mds) | change)
        ended = subprocess.run([tutti, "validate", "run.json"], cwd=where, capture_output=True, text=True, check=False)
        report.check(what, ended.returncode == 2 and ended.stderr == want, f"{ended.returncode} {ended.stderr}")


if __name__ == "__main__":
    sys.exit(main([bits, resume, shards, one_fetch, forecast, refusals]))
