#!/usr/bin/env python3
"""terms.py - a search for one of the field's terms finds the file that does it: its first line has the term.

Run from the root. Between two words of a term, `_`, `-` and spaces are alike; so are letters of either case.
"""
import pathlib
import re
import sys

TERMS = """
autodiff                  host/graph/passes/autodiff.c
automatic differentiation host/graph/passes/autodiff.c
autocast                  host/graph/passes/autocast.c
mixed precision           host/graph/passes/autocast.c
constant folding          host/graph/ir/constant_fold.c
common subexpression      host/graph/ir/graph_emit.c
pointwise fusion          host/graph/passes/pointwise_fusion.c
epilogue                  host/graph/passes/fuse_epilogues.c
rematerialization         host/graph/passes/rematerialization.c
rematerialisation         host/graph/passes/rematerialization.c
rematerialization         host/graph/program/rematerialize.c
liveness                  host/graph/program/layout.c
arena                     host/graph/program/arena.c
schedule                  host/graph/program/schedule.c
plan cache                host/graph/plan/plan_cache.c
LRU                       host/graph/plan/plan_cache.c
least recently used       host/graph/plan/plan_cache.c
evict                     host/graph/plan/plan_cache.c
autotune                  host/graph/runtime/autotune.c
graph capture             host/graph/runtime/graph_capture.c
micro-kernel              kernels/common/gemm_microkernel.c
GEMM                      kernels/common/gemm.c
SIMD                      kernels/common/simd.h
autotune                  kernels/common/cuda/libraries/autotune.c
epilogue                  kernels/matmul/matmul_epilogue.c
pointwise fusion          kernels/pointwise_fusion/pointwise_fusion_op.c
dgrad                     kernels/conv2d/conv2d_dgrad_flipped.c
wgrad                     kernels/conv2d/conv2d_wgrad_per_thread.c
1 x 1 convolution         kernels/conv2d/conv2d_1x1.c
flash attention           kernels/sdpa/sdpa_cpu.c
tensor core               kernels/sdpa/sdpa_mma.cuh
training loop             host/train/trainer/training_loop.c
gradient accumulation     host/train/step/train_step.c
microbatch                host/train/step/train_step.c
optimizer step            host/train/update/optimizer_step.c
loss scale                host/train/update/loss_scaler.c
host mirror               host/train/context/host_mirror.c
async metrics             host/train/step/async_metrics.c
data loader               host/train/data/loader.c
checkpoint                host/train/checkpoint_file/checkpoint_write.c
dispatch                  host/engine/dispatch.c
breadcrumb                host/plugin/crash/crash.c
"""


def main():
    """Judges every row of the table."""
    bad = 0
    rows = [line.rsplit(None, 1) for line in TERMS.strip().splitlines()]
    for term, path in rows:
        file = pathlib.Path(path)
        first = file.read_text(encoding="utf-8").splitlines()[0] if file.exists() else ""
        pattern = r"[\s_-]*".join(map(re.escape, re.split(r"[\s-]+", term)))
        if not re.search(pattern, first, re.IGNORECASE):
            bad += 1
            print(f"{path}: its first line lacks \"{term}\": {first or 'there is no such file'}")
    if len(rows) < 10:
        print("terms.py: the table was not read")
    return bad > 0 or len(rows) < 10


if __name__ == "__main__":
    sys.exit(main())
