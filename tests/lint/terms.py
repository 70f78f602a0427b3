#!/usr/bin/env python3
"""terms.py - a search for one of the field's terms finds the file that does it: its first line has the term.

Run from the root. Between two words of a term, `_`, `-` and spaces are alike; so are letters of either case.
A longer word does not do: `evicted` is not found by who looks for whole words, `evict`.
"""
import pathlib
import re
import sys

TERMS = """
autodiff                   host/graph/passes/autodiff.c
automatic differentiation  host/graph/passes/autodiff.c
autocast                   host/graph/passes/autocast.c
mixed precision            host/graph/passes/autocast.c
constant folding           host/graph/ir/constant_fold.c
constant fold              host/graph/ir/constant_fold.c
common subexpression       host/graph/ir/graph_emit.c
SSA                        host/graph/ir/graph.c
dead code elimination      host/graph/ir/graph_live.c
DCE                        host/graph/ir/graph_live.c
interpreter                host/graph/ir/interpreter.c
FLOPs                      host/graph/ir/flops.c
pointwise fusion           host/graph/passes/pointwise_fusion.c
epilogue                   host/graph/passes/fuse_epilogues.c
rematerialization          host/graph/passes/rematerialization.c
rematerialisation          host/graph/passes/rematerialization.c
rematerialise              host/graph/passes/rematerialization.c
recompute                  host/graph/passes/rematerialization.c
SyncBatchNorm              host/graph/passes/across_slots.c
graph rewriting            host/graph/passes/rewrite.c
padding                    host/graph/passes/align_gemms.c
rematerialization          host/graph/program/rematerialize.c
liveness                   host/graph/program/layout.c
arena                      host/graph/program/arena.c
schedule                   host/graph/program/schedule.c
alias analysis             host/graph/program/builder.c
alias set                  host/graph/program/builder.c
memory planning            host/graph/program/layout.c
in-place                   host/graph/program/layout.c
topological order          host/graph/program/schedule.c
buffer binding             host/graph/program/buffer_binding.c
plan cache                 host/graph/plan/plan_cache.c
LRU                        host/graph/plan/plan_cache.c
least recently used        host/graph/plan/plan_cache.c
evict                      host/graph/plan/plan_cache.c
autotune                   host/graph/runtime/autotune.c
graph capture              host/graph/runtime/graph_capture.c
autotune                   host/graph/runtime/autotune_measure.c
upcast                     host/graph/runtime/upcast.c
weight initialization      host/graph/net/first_values.c
deferred initialization    host/graph/net/weight.c
micro-kernel               kernels/common/gemm_microkernel.c
GEMM                       kernels/common/gemm.c
SIMD                       kernels/common/simd.h
blocking                   kernels/common/gemm.c
autotune                   kernels/common/cuda/libraries/autotune.c
NVRTC                      kernels/common/cuda/libraries/nvrtc.c
epilogue                   kernels/matmul/matmul_epilogue.c
pointwise fusion           kernels/pointwise_fusion/pointwise_fusion_op.c
dgrad                      kernels/conv2d/conv2d_dgrad_flipped.c
wgrad                      kernels/conv2d/conv2d_wgrad_per_thread.c
1 x 1 convolution          kernels/conv2d/conv2d_1x1.c
im2col                     kernels/conv2d/conv2d_im2col.c
Winograd                   kernels/conv2d/conv2d_winograd.c
flash attention            kernels/sdpa/sdpa_cpu.c
tensor core                kernels/sdpa/sdpa_mma.cuh
online softmax             kernels/sdpa/sdpa_cpu.c
KV cache                   kernels/cache_write/cache_write_op.c
training loop              host/train/trainer/training_loop.c
gradient accumulation      host/train/step/train_step.c
microbatch                 host/train/step/train_step.c
optimizer step             host/train/update/optimizer_step.c
loss scale                 host/train/update/loss_scaler.c
GradScaler                 host/train/update/loss_scaler.c
optimizer state sharding   host/train/update/optimizer_shards.c
ZeRO-1                     host/train/update/optimizer_shards.c
host mirror                host/train/context/host_mirror.c
mirror                     host/train/context/host_mirror.c
async metrics              host/train/step/async_metrics.c
data loader                host/train/data/loader.c
prefetch                   host/train/data/loader.c
checkpoint                 host/train/checkpoint_file/checkpoint_write.c
collective                 host/train/ranks/ranks_service.c
bucket                     host/train/ranks/gradient_buckets.c
gradient sharding          host/train/ranks/gradient_shards.c
ZeRO-2                     host/train/ranks/gradient_shards.c
weight sharding            host/train/ranks/weight_shards.c
FSDP                       host/train/ranks/weight_shards.c
ZeRO-3                     host/train/ranks/weight_shards.c
dispatch                   host/engine/dispatch.c
breadcrumb                 host/plugin/crash/crash.c
autotune                   host/device/cuda/autotune_choices.c
CUDA graph                 host/device/cuda/capture.c
pinned memory              host/device/cuda/memory.c
all-reduce                 host/dist/sum.c
reduce-scatter             host/dist/reduce_scatter.c
all-to-all                 host/dist/all_to_all.c
all-gather                 host/dist/shards.c
shard                      host/dist/shards.c
resharding                 host/dist/shards.c
hierarchical all-reduce    host/dist/hierarchical_collectives.c
data parallel              host/train/ranks/distributed.c
gradient clipping          plugins/algorithms/gradient_clipping/plugin.c
"""


def main():
    """Judges every row of the table."""
    bad = 0
    rows = [line.rsplit(None, 1) for line in TERMS.strip().splitlines()]
    for term, path in rows:
        file = pathlib.Path(path)
        first = file.read_text(encoding="utf-8").splitlines()[0] if file.exists() else ""
        pattern = r"(?<![a-z])" + r"[\s_-]*".join(map(re.escape, re.split(r"[\s-]+", term))) + r"(?![a-z])"
        if not re.search(pattern, first, re.IGNORECASE):
            bad += 1
            print(f"{path}: its first line lacks \"{term}\": {first or 'there is no such file'}")
    if len(rows) < 10:
        print("terms.py: the table was not read")
    return bad > 0 or len(rows) < 10


if __name__ == "__main__":
    sys.exit(main())
