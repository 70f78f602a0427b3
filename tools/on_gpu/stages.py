"""The stages of tools/gpu: their names, the parts of time that they may take, the three calls that they fit into."""
from dataclasses import dataclass
from typing import Callable

import airbench
import checks
import parity
import processes
import sanitizer
import speed
import what_runs


@dataclass
class Stage:
    """What is tried under one name."""
    name: str       # as --only has it
    call: int       # 1 to 3: of the calls of ten minutes that hold everything
    part: int       # of the time that is left when it begins
    what: Callable  # of a Machine
    about: str


def peers(rows):
    """A stage of each row that PyTorch is measured beside."""
    return [Stage(f"peers-{row.id}", 3, 40 if "compile" in " ".join(row.settings) else 10,
                  lambda m, row=row: speed.peers(m, row), f"PyTorch in turn with {row.name}") for row in rows if row.settings]


# The most valuable answers first, within a call too.
STAGES = [
    Stage("first", 1, 8, checks.first, "a kernel, a small net, NVIDIA's libraries by their versions"),
    Stage("chosen", 1, 8, what_runs.chosen, "by which library each operation of the rows runs, and why by none"),
    Stage("operations", 1, 14, checks.operations, "every operation against its f64 reference"),
    Stage("device", 1, 6, checks.device, "memory, streams, graphs and their blocks, errors; small nets as on the CPU"),
    Stage("tuned", 1, 26, checks.tuned, "the same by the algorithms that autotuning takes"),
    Stage("graphs", 1, 8, checks.graphs, "conditional nodes replayed, weights alike with graphs and without"),
    Stage("again", 1, 8, parity.again, "the same bits from the same run twice"),
    Stage("ranks", 1, 12, processes.ranks, "1, 2 and 3 processes on the GPU through NCCL: the same bits"),
    Stage("parity", 1, 32, parity.parity, "runs on CPU and GPU: losses and weights"),
    Stage("plugins", 1, 16, checks.plugins, "optimizers, algorithms, transforms, 8 batches each"),
    Stage("sanitizer", 1, 24, sanitizer.sanitize, "compute-sanitizer over the operations"),
    *[Stage(row.id, row.call, row.part, lambda m, row=row: speed.measure(m, row), row.name) for row in speed.ROWS],
    Stage("airbench", 3, 16, airbench.airbench, "the recipe cifar10_airbench whole: accuracy and seconds"),
    Stage("profile", 2, 12, what_runs.launches, "GPT-2's launches by their time"),
    Stage("profile-resnet", 3, 10, what_runs.launches_resnet50, "the same of ResNet-50"),
    Stage("profile-resnet20", 3, 8, what_runs.launches_resnet20, "and of ResNet-20"),
    Stage("ncu", 2, 12, what_runs.counters, "ncu's counters of some of GPT-2's launches, where it is"),
    *peers(speed.ROWS),
]
TINY = [s for s in STAGES if s.call == 1] + [
    *[Stage(row.id, row.call, row.part, lambda m, row=row: speed.measure(m, row), row.name) for row in speed.TINY],
    Stage("airbench", 3, 16, airbench.airbench, "of narrow layers, two batches"),
    Stage("profile", 2, 12, what_runs.launches, "of the small net"),
    Stage("ncu", 2, 12, what_runs.counters, "of the small net"),
    *peers(speed.TINY)]


def chosen(args):
    """The stages that --only, --call and --standin leave; a sentence in their place where a name is wrong."""
    known = TINY if args.standin else STAGES
    names = [s.name for s in known]
    for name in args.only or []:
        if name not in names:
            return f"tools/gpu: there is no stage {name}; there are {', '.join(names)}"
    return [s for s in known if (not args.only or s.name in args.only) and args.call in (0, s.call)]


def table():
    """What --list prints."""
    return "\n".join(f"call {s.call}  {s.name:<16} {s.about}" for s in STAGES)
