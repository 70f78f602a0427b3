"""What runs: the library and algorithm of each operation, and where a step's time goes, launch by launch."""
import csv
import re
from collections import Counter, defaultdict

import speed
from machine import Late, find_tool

STEP = re.compile(r"^ *\d+ ([\w+]+) \[([^:\]]+): ([^\]]*)\]")
LAUNCHES = 12  # operations in the sum of a profile
LEFT_OUT, PROFILED = 2, 5  # steps: the first ones load code and choose algorithms
KINDS = 40  # lines of a profile's table


def read_plan(lines):
    """(operation, library) -> how many steps, and (operation, library) -> Counter of algorithms or reasons."""
    steps, how = Counter(), defaultdict(Counter)
    for line in lines:
        found = STEP.match(line)
        if found:
            operation, library, text = found.groups()
            steps[operation, library] += 1
            how[operation, library][text] += 1
    return steps, how


def tuned(m):
    """What is profiled are the algorithms that autotuning takes, as in the rows."""
    return "0" if m.args.standin else "1"


def row_command(m, row, command, *changes):
    """A row of the table as a command of tutti."""
    words = [m.build / "tutti", command, speed.BENCH / "rows" / f"{row.row}.json", "--device", "cuda", "--plugin-path",
             m.build / "bench", "--set", "precision=amp_bf16", "--set", f"train.batch_size={row.batch}"]
    for change in [*row.changes, *changes]:
        words += ["--set", change]
    return words


def chosen(m):
    """One line for each operation of each row: by what its steps run.  Refusals and epilogues that the library
    leaves to us are findings."""
    found = m.result.setdefault("chosen", {})
    seen = set()
    for row in speed.rows(m):
        if row.same:
            continue
        try:
            said = m.run(row_command(m, row, "plan"), 120, TUTTI_TUNE="0")
        except Late:
            m.late(f"plan of {row.name}")
            continue
        if said.status:
            m.wrong(f"plan of {row.name}", said.lines()[-1] if said.lines() else f"ends with {said.status}")
            continue
        steps, how = read_plan(said.lines())
        found[row.id] = []
        for (operation, library), n in steps.most_common():
            most, _ = how[operation, library].most_common(1)[0]
            found[row.id].append({"operation": operation, "library": library, "steps": n,
                                  "how": dict(how[operation, library])})
            m.say(f"{row.id}: {operation}: {n} by {library}, {most}")
            for text in how[operation, library]:
                tell_refusal(m, operation, library, text, seen)
    if not found:
        m.wrong("chosen", "no plan could be made")


def tell_refusal(m, operation, library, text, seen):
    """Each reason once."""
    apart = text.partition("epilogue apart: ")[2]
    key = (operation, library, apart or text)
    if key in seen:
        return
    seen.add(key)
    if apart:  # the sums of a bias's gradient for bf16 factors with an F32 result, above all
        m.finding(None, f"{operation}: {library} leaves its epilogue to a kernel of ours: {apart}")
    elif library == "own kernel" and re.search(r"cuDNN|cuBLASLt|lib", text) and "faster" not in text:
        m.finding(None, f"{operation} runs by a kernel of ours: {text}")


def launches(m):
    events(m, speed.rows(m)[0])


def launches_resnet50(m):
    events(m, next(r for r in speed.rows(m) if r.id == "resnet50"))


def launches_resnet20(m):
    events(m, next(r for r in speed.rows(m) if r.id == "resnet20"))


def kind(name):
    """A launch's name without the numbers of layers: h.3.attn: add is h.N.attn: add, stage1.block2.conv1: conv2d is
    stageN.blockN.conv1: conv2d.  The last part of three or more is a place inside of a block and keeps its own."""
    module, colon, operation = name.rpartition(": ")
    parts = module.split(".")
    inside = len(parts) > 2 and not parts[-1].isdigit()
    folded = [part if inside and k == len(parts) - 1 else re.sub(r"\d+$", "N", part) for k, part in enumerate(parts)]
    return ".".join(folded) + colon + operation


def by_kind(rows, steps):
    """[{kind, ms, count}], each of a step, largest first, from (ms, count, name) of `steps` steps."""
    ms, count = Counter(), Counter()
    for spent, n, name in rows:
        ms[kind(name)] += spent
        count[kind(name)] += n
    return [{"kind": k, "ms": spent / steps, "count": count[k] / steps} for k, spent in ms.most_common()]


def events(m, row):
    """Time between events around each launch of a few steps; the device writes it when it closes."""
    path = m.scratch / f"launches-{row.id}.tsv"
    said = m.run([*row_command(m, row, "train", f"max_duration={LEFT_OUT + PROFILED}ba", "eval=[]", "callbacks=[]"),
                  "--quiet"], 150, TUTTI_CUDA_PROFILE=str(path), TUTTI_CUDA_PROFILE_AFTER=str(LEFT_OUT),
                 TUTTI_CUDA_GRAPHS="0", TUTTI_TUNE=tuned(m))
    if said.status or not path.exists():
        m.wrong(f"profile of {row.name}", said.lines()[-1] if said.lines() else f"ends with {said.status}")
        return
    with open(path, encoding="utf-8") as file:
        rows = [(float(ms), int(count), name) for ms, count, name in csv.reader(file, delimiter="\t")]
    whole = sum(ms for ms, _, _ in rows)
    by_operation = Counter()
    for ms, _, name in rows:
        by_operation[name.rpartition(": ")[2]] += ms
    m.result.setdefault("launches", {})[row.id] = [
        {"ms": ms, "count": n, "name": name} for ms, n, name in sorted(rows, reverse=True)[:200]]
    kinds = m.result.setdefault("kinds", {})[row.id] = by_kind(rows, PROFILED)
    m.say(f"{row.name}: {sum(n for _, n, _ in rows) / PROFILED:.0f} launches a step, {whole / PROFILED:.3g} ms between "
          "events; by operation: "
          + ", ".join(f"{name} {100 * ms / max(whole, 1e-9):.0f} %" for name, ms in by_operation.most_common(LAUNCHES)))
    m.say(f"{'ms a step':>10}{'launches':>10}  of")
    for one in kinds[:KINDS]:
        m.say(f"{one['ms']:>10.3f}{one['count']:>10.1f}  {one['kind']}")


def counters(m):
    """ncu over a part of a step's launches, where it is installed and may count."""
    tool = find_tool("ncu")
    if not tool or m.args.standin:
        m.say("ncu: left out, " + ("the stand-in has no counters" if m.args.standin else "it is not installed"))
        return
    row = speed.rows(m)[0]
    try:
        said = m.run([tool, "--clock-control", "none", "--csv", "--launch-skip", "400", "--launch-count", "40", "--kill",
                      "yes", "--metrics",
                      "gpu__time_duration.sum,dram__bytes.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed",
                      *row_command(m, row, "train", "max_duration=3ba", "eval=[]", "callbacks=[]"), "--quiet"], 60,
                     TUTTI_CUDA_GRAPHS="0", TUTTI_TUNE=tuned(m))
    except Late:  # it is slow on some machines, which says nothing of the program
        m.result["left_out"].append("ncu")
        m.say("ncu: left out, it has not come to an end in its time")
        return
    lines = [line for line in said.lines() if line.startswith('"')]
    (m.args.output / "ncu.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    m.say(f"ncu: {len(lines)} lines in ncu.csv" if lines else f"ncu: {said.lines()[-1] if said.lines() else 'nothing'}")
