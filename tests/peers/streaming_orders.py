#!/usr/bin/env python3
# streaming_orders.py - orders of epochs that MosaicML Streaming gives, as a C header for plugins/datasets/mds/order_test.c.
import os
import sys
import tempfile

import numpy as np
import streaming
from streaming import MDSWriter, Stream, StreamingDataset
from streaming.base.batching import generate_work
from streaming.base.util import clean_stale_shared_memory
from streaming.base.world import World

BATCH = 8
ALGOS = ["naive", "py1e", "py1s", "py1br", "py2s"]
# Bytes of samples, and of shards: sets whose shards differ in their number of samples.
SETS = {"a": (700, 1, 60, 2000), "b": (61, 5, 9, 400), "c": (333, 1, 3, 300), "d": (10500, 1, 1, 1 << 20)}


def write(folder, name):
    samples, low, high, limit = SETS[name]
    rng = np.random.default_rng(len(name) + ord(name))
    with MDSWriter(out=folder, columns={"x": "bytes"}, size_limit=limit) as out:
        for _ in range(samples):
            out.write({"x": bytes(int(rng.integers(low, high + 1)))})


def digest(numbers):
    h = 0xCBF29CE484222325
    for n in numbers:
        h = ((h ^ int(n)) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def world(ranks, workers):
    w = World(num_nodes=1, ranks_per_node=ranks, workers_per_rank=workers, worker=0)
    return w


def order(dataset, epoch, ranks=1, workers=1):
    """The samples of the epoch's global batches, in the order in which they are trained."""
    dataset.batch_size = BATCH // ranks
    work = generate_work("random", dataset, world(ranks, workers), epoch, 0)
    return work.transpose(3, 2, 0, 1, 4).reshape(-1, BATCH)


def check_worlds(dataset, epoch, one):
    """Streaming's own promise: the samples of a global batch are those of one rank's."""
    for ranks, workers in ((2, 1), (4, 2)):
        many = order(dataset, epoch, ranks, workers)
        for a, b in zip(one[:-2], many):
            assert sorted(a) == sorted(b), (ranks, workers)


def case(root, streams, epochs, epoch_size=None, **settings):
    clean_stale_shared_memory()
    parts = [Stream(local=os.path.join(root, name), **weight) for name, weight in streams]
    dataset = StreamingDataset(streams=parts, batch_size=BATCH, epoch_size=epoch_size, **settings)
    dataset._resume(world(1, 1), 0)
    rows, at = [], 0
    for stream, (name, weight) in zip(dataset.streams, streams):
        n = sum(1 for _ in range(1))
        kind, value = next(iter(weight.items()), ("", 0))
        rows.append('{"%s", "%s", %r, %d}' % (name, kind, value, stream.choose))
        at += n
    for epoch in epochs:
        batches = order(dataset, epoch)
        check_worlds(dataset, epoch, batches)
        samples = batches[batches != -1]
        first = ", ".join(str(int(n)) for n in samples[:4])
        print("    {{%s}, %d, %d, %d, %dULL, %d, %d, %d, %d, %d, %d, 0x%016xULL, {%s}}," % (
            ", ".join(rows), epoch_size or 0, ALGOS.index(dataset.shuffle_algo), dataset.num_canonical_nodes,
            dataset.shuffle_seed, dataset.shuffle_block_size, dataset.sampling_granularity,
            dataset.sampling_method == "fixed", dataset.shuffle, epoch, len(samples), digest(samples), first))
    del dataset


def main():
    print("/* upstream_orders.h - epochs of mosaicml-streaming %s with numpy %s, by tests/peers/streaming_orders.py. */"
          % (streaming.__version__, np.__version__))
    print("/* SPDX-License-Identifier: Apache-2.0 */\n#ifndef MDS_UPSTREAM_ORDERS_H\n#define MDS_UPSTREAM_ORDERS_H\n")
    print("#include <stdint.h>\n\n/* clang-format off */")
    with tempfile.TemporaryDirectory() as root:
        for name in SETS:
            write(os.path.join(root, name), name)
            sizes = StreamingDataset(local=os.path.join(root, name), batch_size=1).samples_per_shard
            clean_stale_shared_memory()
            text = ", ".join(map(str, sizes))
            lines = [text[k:k + 90] for k in range(0, len(text), 90)]
            print("static const int64_t shards_%s[] = {\n    %s};" % (name, "\n    ".join(lines)))
        print("\nstatic const struct upstream_order {")
        print("    struct {\n        const char *set, *weight;\n        double value;\n        int64_t choose;\n    } streams[3];")
        print("    int64_t epoch_size;\n    int32_t algo;\n    int64_t nodes;\n    uint64_t seed;")
        print("    int64_t block, granularity;\n    int32_t fixed, mixed;\n    int64_t epoch, places;")
        print("    uint64_t digest; /* FNV-1a over the numbers */\n    int64_t first[4];\n} upstream_orders[] = {")
        for algo in ALGOS:
            more = {"shuffle": True, "shuffle_algo": algo}
            for nodes, epochs in ((1, (0, 1)), (3, (2,)), (64, (5,))):
                case(root, [("a", {})], epochs, num_canonical_nodes=nodes, shuffle_block_size=100, **more)
            case(root, [("b", {})], (1,), shuffle_seed=(1 << 40) + 3, **more)
            case(root, [("c", {})], (0,), shuffle_seed=0, num_canonical_nodes=2, **more)
            case(root, [("d", {})], (3,), shuffle_block_size=1000, num_canonical_nodes=8, **more)
        case(root, [("a", {})], (0, 4), num_canonical_nodes=3)
        case(root, [("b", {})], (0,), num_canonical_nodes=64)
        three = [("a", {}), ("b", {}), ("c", {})]
        weights = {
            "proportion": [0.5, 0.3, 0.2], "repeat": [0.25, 3.5, 1.0], "choose": [1000, 17, 0]}
        for kind, values in weights.items():
            parts = [(name, {kind: value}) for (name, _), value in zip(three, values)]
            case(root, parts, (0, 1), shuffle=True)
            case(root, parts, (2,), shuffle=True, shuffle_algo="py1br", shuffle_block_size=64, num_canonical_nodes=4,
                 sampling_method="fixed")
            case(root, parts, (1,), shuffle=False, sampling_granularity=7, num_canonical_nodes=2)
        mixed = [("a", {"repeat": 0.5}), ("b", {}), ("c", {"choose": 50})]
        case(root, mixed, (0, 3), shuffle=True, shuffle_algo="py2s", sampling_granularity=10)
        case(root, [("d", {"repeat": 1.5}), ("b", {"repeat": 2})], (2,), shuffle=True, shuffle_algo="py1s")
        case(root, [("a", {"proportion": 1}), ("b", {"proportion": 1}), ("c", {"proportion": 1})], (0,), 500, shuffle=True)
        case(root, three, (1,), 777, shuffle=True)
        print("};\n/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    sys.exit(main())
