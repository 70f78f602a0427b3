"""Runs of several processes on the one GPU: through NCCL the bits of one process, and what NCCL refuses is named."""
import contextlib
import sys

from machine import ROOT

sys.path.insert(0, str(ROOT / "tests" / "dist"))
import ranks as dist  # pylint: disable=wrong-import-position

WORLD = {"comm": {"name": "shared_memory", "mailbox_mib": 1}, "device_comm": "nccl", "join_timeout_s": 60, "timeout_s": 60,
         "bucket_mib": 0.01}
# NCCL refuses two ranks of a machine on one GPU; ranks that it takes for those of several machines may have it, and meet by
# sockets on the loopback.
OTHER_MACHINES = {"NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1", "NCCL_DEBUG": "WARN"}
CASES = {"cnn": {"max_duration": "3ba"}, "cnn, amp_bf16": {"max_duration": "3ba", "precision": "amp_bf16"},
         "cnn, amp_fp16": {"max_duration": "3ba", "precision": "amp_fp16"},
         "cnn, sharded states": {"max_duration": "3ba", "distributed": {"sharding": "states"}},
         "mlp, 3 slots": {"max_duration": "4ba", "model": {"name": "mlp", "hidden": [64]}, "microbatch_size": 10}}


def environment(m, size, apart):
    """Of each rank; `apart`: NCCL takes each for one of a machine of its own."""
    here = {k: v for k, v in m.env.items() if k in ("LD_LIBRARY_PATH", "XDG_CACHE_HOME")}
    if m.args.standin:
        return {r: {**here, "TUTTI_CUDA_STANDIN": f"devices={size if apart else 1}", "TMPDIR": str(m.scratch)} for r in range(size)}
    return {r: {**here, **OTHER_MACHINES, **({"NCCL_HOSTID": f"machine{r}"} if apart else {})} for r in range(size)}


def train(m, folder, size, changes, apart=True):
    """Exit statuses and what all ranks say."""
    folder.mkdir(parents=True)
    settings = {**WORLD, **changes.get("distributed", {})}
    dist.write(str(folder), dist.changed(**{**changes, "device": "cuda", "distributed": settings}))
    world = dist.World(str(m.build / "tutti"), str(folder), size, env=environment(m, size, apart))
    try:
        status, out, err = world.end(min(60, max(5, m.left())))
    except SystemExit:
        return [124], "has not ended in its time"
    with contextlib.redirect_stdout(m.log):
        print(f"\n$ {size} ranks in {folder.name}\n{status}\n", "\n".join(out + err)[-20000:], flush=True)
    return status, "\n".join(err)


def alike(m, name, changes, sizes):
    """Whether a run by several ranks has the bits of one."""
    place = m.scratch / "ranks" / name.replace(" ", "")
    for size in (1, *sizes):
        status, said = train(m, place / str(size), size, changes)
        if any(status):
            m.wrong(f"{name} by {size} ranks", said.strip().splitlines()[-1] if said.strip() else f"ends with {status}")
            return False
        text = dist.difference(str(place / "1"), str(place / str(size)))
        if text:
            m.wrong(f"{name} by {size} ranks: other bits than by one", text)
            return False
    return True


def ranks(m):
    """Gradients of 1, 2 and 3 ranks on one GPU, through NCCL."""
    cases = dict(list(CASES.items())[-1:]) if m.args.standin else CASES
    good = [name for name, changes in cases.items() if alike(m, name, changes, (2, 3))]
    if good:
        m.say(f"2 and 3 ranks have the bits of one, through NCCL: {'; '.join(good)}")
    status, said = train(m, m.scratch / "ranks" / "one_machine", 2, cases[list(cases)[-1]], apart=False)
    if not all(status) or "Duplicate GPU" not in said:
        m.wrong("two ranks of a machine on one GPU", f"want that NCCL refuses them, got {status}: {said[-200:]}")
    else:
        m.say("two ranks of a machine on one GPU are refused in NCCL's words")
    m.result["ranks"] = {"alike": good, "of": list(cases)}
