"""soak_looks.py - looks at a process that trains: what it has at a time, what has grown by the end, how long a batch takes."""
# SPDX-License-Identifier: Apache-2.0
import collections
import ctypes
import os
import pathlib
import re
import time

from campaign import Failed
from soak_cases import CYCLE, LOGS

WARM_UP = 5  # cycles before the first look: arenas, caches and queues have their size by then
# Clocks: `seconds` on the wall, `cpu` seconds of all threads of the process.  Bytes: resident, mapped, and on the disk.
Look = collections.namedtuple("Look", "seconds cpu batch resident mapped threads disk files")
SLACK = {"resident": 1 << 20, "mapped": 1 << 20, "disk": 1 << 16}  # bytes, besides 1 %; files and threads have none
PARTS = 64  # of a quarter, each of which has a pace
MOST_DRIFT = 0.02
GROWING = re.compile("|".join(LOGS))


class Log:
    """Batches that a run has logged, as they come."""

    def __init__(self, path):
        self.path, self.at, self.batches, self.rest = path, 0, 0, b""

    def read(self):
        """How many batches there are by now."""
        if self.path.exists():
            with open(self.path, "rb") as f:
                f.seek(self.at)
                text = f.read()
            self.at += len(text)
            *lines, self.rest = (self.rest + text).split(b"\n")
            self.batches += sum(b'"loss/train/total"' in line for line in lines)
        return self.batches


def cpu_seconds(pid):
    """What the threads of the process have computed, those that have ended too; to the nanosecond, where /proc has ticks."""
    clock = ctypes.c_int()
    if ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock)):
        raise ProcessLookupError(pid)
    return time.clock_gettime(clock.value)


def space(folder):
    """Bytes of all files below the folder but logs."""
    size = 0
    for path in folder.rglob("*"):
        try:
            if not path.is_dir() and not GROWING.fullmatch(str(path.relative_to(folder))):
                size += path.lstat().st_size
        except FileNotFoundError:
            pass  # rotated away
    return size


def open_files(proc):
    """How often each name is open, numbers in names left out."""
    files = collections.Counter()
    for path in (proc / "fd").iterdir():
        try:
            name = os.readlink(path)
            if not name.endswith(".waiting"):  # open while a server is slower than the run
                files[re.sub(r"\d+", "N", name)] += 1
        except FileNotFoundError:
            pass  # closed
    return files


def look(process, folder, batches):
    """What the process has, and what lies in its folder."""
    proc = pathlib.Path("/proc") / str(process.pid)
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    return Look(time.monotonic(), cpu_seconds(process.pid), batches, 1024 * int(status["VmRSS"].split()[0]),
                1024 * int(status["VmData"].split()[0]), int(status["Threads"]), space(folder), open_files(proc))


def watch(process, folder, log, enough):
    """Looks until there are enough; each is at least a cycle of batches after the one before."""
    looks = []
    seen = time.monotonic()
    while process.poll() is None and not enough(looks):
        batches = log.read()
        due = looks[-1].batch + CYCLE if looks else WARM_UP * CYCLE
        if batches >= due:
            try:
                looks.append(look(process, folder, batches))
            except (OSError, KeyError):
                break  # it has ended
            seen = time.monotonic()
        elif time.monotonic() - seen > 300:
            raise Failed(f"no batch for five minutes after batch {batches}")
        time.sleep(0.01)
    return looks


def pace(quarter, clock):
    """Seconds of a batch by one of the clocks: the least of the parts of a quarter.  Other processes take caches too, so that
    a batch also computes for longer beside them; the least is that of the part with the fewest."""
    marks = quarter[::max(1, (len(quarter) - 1) // PARTS)]
    return min((getattr(b, clock) - getattr(a, clock)) / (b.batch - a.batch) for a, b in zip(marks, marks[1:]))


def drift(looks, clock):
    """By how much a batch takes longer in the last quarter than in the second; None where the clock is too coarse."""
    n = len(looks) // 4
    before = pace(looks[n:2 * n], clock)
    return pace(looks[-n:], clock) / before - 1 if before else None


def growth(looks, slow):
    """Sentences about what grew from the second quarter to the last; `slow`: also the time that a batch computes."""
    n = len(looks) // 4
    second, last = looks[n:2 * n], looks[-n:]
    found = []
    between = f"between batches {second[0].batch} and {last[-1].batch}"
    measures = {what: [[getattr(one, what) for one in quarter] for quarter in (second, last)]
                for what in ("resident", "mapped", "threads", "disk")}
    for name in sorted(set().union(*(one.files for one in last))):
        measures[f"files: {name}"] = [[one.files[name] for one in quarter] for quarter in (second, last)]
    for what, (before, after) in measures.items():
        slack = SLACK[what] + min(before) // 100 if what in SLACK else 0
        if min(after) > min(before) + slack and max(after) > max(before) + slack:
            found.append(f"{what} grew from {min(before)}..{max(before)} to {min(after)}..{max(after)} {between}")
    longer = drift(looks, "cpu")
    if slow and (longer is None or longer > MOST_DRIFT):
        found.append("the time that a batch computes is not known" if longer is None else
                     f"a batch computes for {100 * longer:.1f} % longer {between}")
    return found
