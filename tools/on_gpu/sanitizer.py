"""compute-sanitizer over the tests of operations."""
import concurrent.futures
import re

import checks
from machine import ROOT, Late, find_tool

MOST_CODE = 6  # tests that both tools look at first
SECONDS, STATUS = 45, 3  # for a look; its exit status where something was found

# Kernels of cuDNN and cuBLASLt by their names: racecheck does not know all barriers that they use.
LIBRARY = re.compile(r" at \S*(xmma|cutlass|cudnn|cublas|nvjet)")


def looks(names):
    """(tool, test), the most valuable look first: both tools over the tests with most device code, then the rest."""
    most, rest = names[:MOST_CODE], names[MOST_CODE:]
    return [(tool, name) for part in (most, rest) for tool in ("memcheck", "racecheck") for name in part]


def judge(said):
    """(what became of a look, a sentence or None).  Calls that fail are the program's to find: host/device/cuda/code.c
    asks for arguments of a function until there is none."""
    lines = [line.strip("= ") for line in said.lines() if line.startswith("=========")]
    errors = [line for line in lines if not line.startswith("Program hit") and "SUMMARY" not in line and re.search(
        r"Invalid|Race|hazard|Barrier|Uninit|Misaligned|out of bounds", line)]
    unable = [line for line in said.lines() if "not supported" in line.lower()]
    if any("terminated before first instrumented API call" in line for line in lines):
        return "without a call of CUDA", None
    if errors and all(LIBRARY.search(line) for line in errors):
        return "with something found in NVIDIA's own kernels", None
    if errors:
        return "wrong", next(line for line in errors if not LIBRARY.search(line))
    if unable:
        return unable[0], None
    if said.status and not (said.status == STATUS and any(line.startswith("Program hit") for line in lines)):
        return "wrong", (said.lines() or [""])[-1] or f"ends with {said.status}"
    return "right", None


def look(m, tool, kind, name):
    """One test under one tool: what became of it."""
    if m.left() < 3:
        return "left out"
    options = ["--report-api-errors", "no"] if kind == "memcheck" else []
    try:
        said = m.run([tool, "--tool", kind, *options, "--error-exitcode", str(STATUS), "--print-limit", "5",
                      m.build / "tests" / name], SECONDS, TUTTI_TEST_DEVICE="cuda", CK_FORK="no",
                     OMP_NUM_THREADS="1", TUTTI_SOURCE=str(ROOT), TUTTI_BUILD=str(m.build))
    except Late as late:
        m.leave_out(f"{kind} of {name}", f"{checks.LATE} {SECONDS} s" if late.stage_s is None
                    else f"{checks.NO_TIME} {late.stage_s:.0f} s")
        return "late"
    what, why = judge(said)
    if why:
        m.wrong(f"{kind} of {name}", why)
    return what


def summary(found, tests):
    """What was looked at, by name where it was not all."""
    parts = []
    for kind in ("memcheck", "racecheck"):
        right = [name[len("op_"):-len("_test")] for (k, name), what in found.items() if k == kind and what == "right"]
        names = f" ({', '.join(sorted(right))})" if 0 < len(right) < tests else ""
        parts.append(f"{kind} finds nothing in {len(right)} of {tests} tests of operations{names}")
    others = [what for what in found.values() if what != "right"]
    return "; ".join(parts + [f"{others.count(what)} {what}" for what in sorted(set(others))])


def sanitize(m):
    """compute-sanitizer over the tests of operations, as many as there is time for."""
    tool = find_tool("compute-sanitizer")
    if not tool or m.args.standin:
        m.say("compute-sanitizer: left out, " + ("the stand-in looks itself" if m.args.standin
                                                  else "it is not installed"))
        return
    names = checks.operation_tests(m)
    jobs = looks(names)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = dict(zip(jobs, pool.map(lambda job: look(m, tool, *job), jobs)))
    m.result["sanitized"] = {" ".join(job): what for job, what in found.items()}
    m.say(f"compute-sanitizer: {summary(found, len(names))}")
