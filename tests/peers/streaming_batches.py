#!/usr/bin/env python3
# streaming_batches.py - batches of streams that MosaicML Streaming gives, as a C header for plugins/datasets/mds/order_test.c.
import os
import re
import sys

import numpy as np
from streaming.base.batching import generate_work
from streaming.base.dataset import StreamingDataset
from streaming.base.stream import Stream
from streaming.base.world import World

ALGOS = ["naive", "py1e", "py1s", "py1br", "py2s"]
METHODS = ["random", "stratified", "per_stream", "device_per_stream"]
ORDERS = os.path.join(os.path.dirname(__file__), "../../plugins/datasets/mds/upstream_orders.h")


def shards():
    """Samples of each shard of the sets in upstream_orders.h, which the package wrote."""
    text = open(ORDERS, encoding="utf-8").read()
    found = re.findall(r"shards_(\w)\[\] = \{([^}]*)\}", text)
    return {name: [int(n) for n in numbers.split(",")] for name, numbers in found}


class Epochs:
    """What generate_work and resample_streams want of a StreamingDataset."""
    resample_streams = StreamingDataset.resample_streams
    partition_algo, initial_physical_nodes = "relaxed", None

    def __init__(self, sets, weights, **settings):
        self.__dict__.update(shuffle=True, shuffle_algo="py1e", shuffle_seed=9176, num_canonical_nodes=1,
                             shuffle_block_size=100, sampling_granularity=1, sampling_method="balanced")
        self.__dict__.update(settings)
        self.epoch_seed_change = self.shuffle and self.sampling_method == "balanced"
        self.streams = [Stream(local=name, **weight) for name, weight in zip(sets, weights)]
        self.num_streams = len(sets)
        self.shards_per_stream = np.array([len(SHARDS[name]) for name in sets], np.int64)
        self.shard_offset_per_stream = self.shards_per_stream.cumsum() - self.shards_per_stream
        self.samples_per_shard = np.concatenate([np.array(SHARDS[name], np.int64) for name in sets])
        self.sample_offset_per_shard = self.samples_per_shard.cumsum() - self.samples_per_shard
        samples = np.array([sum(SHARDS[name]) for name in sets])
        Stream.apply_weights(self.streams, samples, None, self.shuffle_seed)


def digest(numbers):
    h = 0xCBF29CE484222325
    for n in numbers:
        h = ((h ^ int(n)) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def case(method, batch, devices, sets, weights, epochs, **settings):
    data = Epochs(sets, weights, **settings)
    data.batch_size = batch // devices
    for epoch in epochs:
        world = World(num_nodes=1, ranks_per_node=devices, workers_per_rank=1, worker=0)
        work = generate_work(method, data, world, epoch, 0).transpose(3, 2, 0, 1, 4).reshape(-1)
        samples = work[work != -1]
        rows = []
        for name, weight, stream in zip(sets, weights, data.streams):
            kind, value = next(iter(weight.items()), ("", 0))
            rows.append('{"%s", "%s", %r, %d}' % (name, kind, value, stream.choose))
        print("    {%d, %d, %d, {{%s}, 0, %d, %d, %dULL, %d, %d, %d, %d, %d, %d, 0x%016xULL, {%s}}}," % (
            METHODS.index(method), batch, devices, ", ".join(rows), ALGOS.index(data.shuffle_algo),
            data.num_canonical_nodes, data.shuffle_seed, data.shuffle_block_size, data.sampling_granularity,
            data.sampling_method == "fixed", data.shuffle, epoch, len(samples), digest(samples),
            ", ".join(str(int(n)) for n in samples[:4])))


SHARDS = shards()


def main():
    print("/* upstream_batches.h - batches of mosaicml-streaming %s with numpy %s, by tests/peers/streaming_batches.py. */"
          % ("0.13.0", np.__version__))
    print("/* SPDX-License-Identifier: Apache-2.0 */\n#ifndef MDS_UPSTREAM_BATCHES_H\n#define MDS_UPSTREAM_BATCHES_H\n")
    print('#include "upstream_orders.h"\n\n/* clang-format off */')
    print("static const struct upstream_batches {\n    int32_t method;\n    int64_t batch, devices;")
    print("    struct upstream_order order;\n} upstream_batches[] = {")
    three = ["a", "b", "c"]
    for method in METHODS[1:]:
        for algo in ALGOS:
            case(method, 16, 1, three, [{}, {}, {}], (0, 1), shuffle_algo=algo)
            case(method, 16, 1, three, [{"repeat": 1}, {"repeat": 3.5}, {"repeat": 0.5}], (2,), shuffle_algo=algo,
                 num_canonical_nodes=4)
        case(method, 24, 1, three, [{"proportion": 0.5}, {"proportion": 0.3}, {"proportion": 0.2}], (0, 3))
        case(method, 32, 1, three, [{"choose": 500}, {"choose": 170}, {"choose": 331}], (1,), sampling_method="fixed",
             num_canonical_nodes=3, shuffle_seed=5)
        case(method, 17, 1, ["c", "a"], [{}, {}], (0, 2), shuffle=False, num_canonical_nodes=2)
        case(method, 8, 1, ["a"], [{}], (1,), num_canonical_nodes=64)
    for devices in (2, 4):
        case("device_per_stream", 16, devices, three, [{}, {}, {}], (0, 1), num_canonical_nodes=2)
        case("device_per_stream", 24, devices, three, [{"repeat": 1}, {"repeat": 3.5}, {"repeat": 0.5}], (2,),
             shuffle_algo="py1br", num_canonical_nodes=3)
    print("};\n/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    sys.exit(main())
