"""programs.py - programs of several processes that train in the blocks asked for: Tutti, PyTorch DDP, MPI's own sum."""
import contextlib
import json
import math
import os
import pathlib
import re
import select
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/dist"), str(HERE.parent)]
from link import Link, missing  # noqa: E402  pylint: disable=wrong-import-position
from program import in_turn  # noqa: E402  pylint: disable=wrong-import-position

MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
       "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


class Ranks:
    """The processes of one program, and where each is asked and answers."""

    def __init__(self, commands, environments, folder):
        self.processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                             env={**os.environ, **env}, text=True) for command, env in zip(commands, environments)]
        self.asked = [process.stdin for process in self.processes]
        self.answers = [process.stdout for process in self.processes]

    def line(self, rank, seconds=300):
        """The words of a rank's next line."""
        process, until = self.processes[min(rank, len(self.processes) - 1)], time.monotonic() + seconds
        while not select.select([self.answers[rank]], [], [], 1)[0]:
            if process.poll() is not None:
                raise SystemExit(f"{' '.join(map(str, process.args))} ended: {process.communicate()[1][-400:]}")
            if time.monotonic() > until:
                raise SystemExit(f"no answer in {seconds} s from {' '.join(map(str, process.args))}")
        words = self.answers[rank].readline().split()
        if not words:
            raise SystemExit(f"{' '.join(map(str, process.args))} ended: {process.communicate()[1][-400:]}")
        return words

    def steps(self, count):
        """Seconds a step of the slowest rank."""
        for to in self.asked:
            to.write(f"{count}\n")
            to.flush()
        return max(int(self.line(rank)[0]) for rank in range(len(self.answers))) * 1e-9 / count

    def end(self):
        """Ends all ranks."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


class MpiRanks(Ranks):
    """Ranks of mpirun, which keeps standard input for the first one: each has pipes with a name."""

    def __init__(self, command, world, folder, link):  # pylint: disable=super-init-not-called
        pipes = [[str(folder / f"{way}.{rank}") for rank in range(world)] for way in ("asked", "answers")]
        for path in [*pipes[0], *pipes[1]]:
            os.mkfifo(path)
        words = ["sh", "-c", f'exec "$@" <{folder}/asked.$OMPI_COMM_WORLD_RANK >{folder}/answers.$OMPI_COMM_WORLD_RANK',
                 "sh", *map(str, command)]
        if link:
            self.processes = [link.mpirun(folder, world // 2, *words)]
        else:
            self.processes = [subprocess.Popen(["mpirun", "-n", str(world), *words], cwd=folder, env={**os.environ, **MPI},
                                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)]
        self.asked, self.answers = ([open(os.open(path, os.O_RDWR), mode, encoding="ascii") for path in paths]
                                    for paths, mode in zip(pipes, ("w", "r")))


def slow_link(rate):
    """The link of that rate between two halves of the ranks; none without a rate."""
    why = missing() if rate else ""
    if why:
        raise SystemExit(f"no slow link can be made here: {why}")
    return Link(rate) if rate else contextlib.nullcontext()


def tutti(options, row, world, threads, folder, distributed=True, link=None):
    """Ranks of Tutti that share the row's batch; not `distributed`: each trains its part for itself."""
    run = json.loads((ROOT / "tools/bench/rows" / f"{row}.json").read_text(encoding="utf-8"))
    run["threads"] = threads
    if options.dtype == "bf16":
        run["precision"] = "amp_bf16"
    part = run["train"]["batch_size"] // world
    if world > 1 and distributed:
        run["microbatch_size"] = part
        run["distributed"] = {"comm": options.comm, "sharding": options.sharding, "reduce_dtype": options.reduce_dtype}
        if options.bucket_mib:
            run["distributed"]["bucket_mib"] = options.bucket_mib
    else:
        run["train"]["batch_size"] = part
    where = pathlib.Path(folder) / f"{row}-{world}"
    where.mkdir(parents=True)
    (where / "run.json").write_text(json.dumps(run), encoding="utf-8")
    build = ROOT / "build/release"
    command = [build / "tutti", "train", "run.json", "--quiet", "--plugin-path", build / "bench"]
    if "distributed" in run and options.comm == "mpi":
        return MpiRanks(command, world, where, link)
    if world > 1 and not distributed:
        folders = [where / str(rank) for rank in range(world)]
        for own in folders:
            own.mkdir()
        command[2] = where / "run.json"
        return Ranks([["sh", "-c", 'cd "$0" && exec "$@"', own, *command] for own in folders], [{}] * world, where)
    names = [{"TUTTI_RANK": str(r), "TUTTI_WORLD_SIZE": str(world), "TUTTI_JOB": str(where)} if world > 1 else {}
             for r in range(world)]
    return Ranks([command] * world, names, where)


def ddp(options, row, words, folder, link=None):
    """The peer's ranks; over a link the first half of them is on side one."""
    meeting = pathlib.Path(folder) / f"{row}-{words}"
    env = {"GLOO_SOCKET_IFNAME": "link0" if link else "lo"}
    commands = [[options.python, HERE / "ddp_peer.py", row, options.dtype, words, str(options.threads), str(r),
                 str(options.world), str(meeting), options.reduce_dtype] for r in range(options.world)]
    if link:
        commands = [link.inside(2 * r // options.world, *command) for r, command in enumerate(commands)]
    return Ranks(commands, [env] * options.world, folder)


def weights(row):
    """How many numbers the row's model has, by its plan."""
    build = ROOT / "build/release"
    plan = subprocess.run([build / "tutti", "plan", ROOT / "tools/bench/rows" / f"{row}.json", "--plugin-path", build / "bench"],
                          capture_output=True, text=True, check=True, env={**os.environ, "TUTTI_TUNE": "0"})
    shapes = re.findall(r"^%\d+ \S+ \(([\d, ]*)\) = weight \d+$", plan.stdout, re.M)
    return sum(math.prod(int(n) for n in shape.split(", ") if n) for shape in shapes)


def all_reduce(options, row, folder, link=None):
    """One blocking MPI_Allreduce of the row's gradients a step."""
    where = pathlib.Path(folder) / row
    where.mkdir(parents=True)
    return MpiRanks([options.python, HERE / "allreduce_peer.py", str(weights(row))], options.world, where, link)


def pairs(programs, count, seconds):
    """Times a step of each program, in turn, `count` times; a block takes about `seconds`."""
    for program in programs:
        program.steps(2)
    once = [program.steps(2) for program in programs]
    blocks = [max(1, int(seconds / one)) for one in once]
    return [in_turn(programs, blocks) for _ in range(count)]


def quartiles(values):
    """Median, lower and upper quartile."""
    cut = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return statistics.median(values), cut[0], cut[2]


def add_options(parser):
    """What both tables take; a signal ends what they have started."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    peer = ROOT / "build/peer/bin/python3"
    parser.add_argument("--python", default=str(peer if peer.exists() else sys.executable), help="with torch; for sums with mpi4py and numpy")
    parser.add_argument("--world", type=int, nargs="+", default=[2, 4], help="ranks; a table row each")
    parser.add_argument("--threads", type=int, default=1, help="of a rank")
    parser.add_argument("--dtype", default="f32", choices=("f32", "bf16"))
    parser.add_argument("--link", metavar="RATE", help="half of the ranks each side of a link of that rate, such as 1gbit; as root")
    parser.add_argument("--bucket-mib", type=float, help="else Tutti's own default")
    parser.add_argument("--sharding", default="none", choices=("none", "states", "gradients"))
    parser.add_argument("--reduce-dtype", default="f32", choices=("f32", "bf16"), help="of gradients, summed and sent")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2, help="of a block")
