#!/usr/bin/env python3
"""One rank of PyTorch's DistributedDataParallel over gloo, in blocks asked for on standard input.

ddp_peer.py ROW DTYPE WORDS THREADS RANK WORLD FILE REDUCE: rows and words as ../peers/torch_peer.py has them; each rank takes its part
of the row's batch, which stays in memory. FILE brings the ranks together. With REDUCE bf16 gradients are
sent in bf16, by DDP's own hook. Answers as torch_peer.py does.
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import torch  # noqa: E402  pylint: disable=wrong-import-position
import torch.distributed as dist  # noqa: E402  pylint: disable=wrong-import-position
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook  # noqa: E402  pylint: disable=wrong-import-position
from torch.nn import functional as F  # noqa: E402  pylint: disable=wrong-import-position
from torch_peer import ROWS, answer, build, held_kb  # noqa: E402  pylint: disable=wrong-import-position


def main():
    """Trains this rank's part."""
    row, dtype, words, threads, rank, world, meeting, reduce_dtype = sys.argv[1:9]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=int(rank), world_size=int(world))
    batch = ROWS[row][1][0] // int(world)
    model, x, y, opt = build(row, words.split("+") + [f"batch{batch}"])
    model = torch.nn.parallel.DistributedDataParallel(model)
    if reduce_dtype == "bf16":
        model.register_comm_hook(None, bf16_compress_hook)

    def steps(n):
        for _ in range(n):
            opt.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bf16"):
                loss = F.cross_entropy(model(x).float(), y)
            loss.backward()
            opt.step()

    print("ready", torch.__version__, held_kb("VmRSS"), flush=True)
    answer(steps)


if __name__ == "__main__":
    main()
