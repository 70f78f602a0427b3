"""Programs that run training steps in blocks that are asked for: Tutti, PyTorch, llm.c."""
import os
import pathlib
import select
import subprocess
import tempfile
import time


# Threads of OpenMP go on spinning behind what they ran last, 8 ms of processor time in PyTorch and 2 in Tutti (ResNet-50,
# two threads): not in the other's block.
SETTLE_S = 0.05


class Failed(Exception):
    """A row that cannot be measured, with the reason."""


class Program:
    """Something that runs N steps when told N and answers with nanoseconds and peak kilobytes."""
    count_cpu = False

    def __init__(self, command, **env):
        self.command = [str(word) for word in command]
        self.errors = tempfile.TemporaryFile()  # a pipe fills up, and children hold it open
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors,
                                        env={**os.environ, **env}, start_new_session=True)
        self.rest = b""
        self.peak_kb = 0
        self.version = ""
        self.base_kb = 0  # held before the first step

    def why(self):
        """Its last line on standard error."""
        self.end()
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        return said[-1] if said else "no reason given"

    def line(self, seconds):
        """The words of its next line."""
        end = time.monotonic() + seconds
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                self.end()
                raise Failed(f"no answer in {seconds:.0f} s from {' '.join(self.command)}")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise Failed(f"{' '.join(self.command)} ended early: {self.why()}")
            self.rest += more
        text, self.rest = self.rest.split(b"\n", 1)
        return text.decode().split()

    def cpu_ns(self):
        """Processor time of all its threads so far."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                total += int((task / "schedstat").read_text().split()[0])
            except OSError:  # a thread that has just ended
                pass
        return total

    def steps(self, count, limit=600):
        """Seconds a step, over `count` of them."""
        before = self.cpu_ns() if Program.count_cpu else 0
        try:
            self.process.stdin.write(f"{count}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed(f"{' '.join(self.command)} ended early: {self.why()}") from None
        ns, kb = self.line(limit)
        self.peak_kb = int(kb)
        if Program.count_cpu:
            ns = self.cpu_ns() - before
        return int(ns) * 1e-9 / count

    def end(self):
        """Kills it and what it started."""
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass
        self.process.wait()


class Llmc(Program):
    """llm.c's train_gpt2, which trains without being asked: it is stopped between blocks."""

    def __init__(self, folder, threads):
        super().__init__(["stdbuf", "-oL", "./train_gpt2"], OMP_NUM_THREADS=str(threads))
        self.version = "llm.c"

    def steps(self, count, limit=600):
        times = []
        os.kill(self.process.pid, 18)  # SIGCONT
        while len(times) < count:
            words = self.line(limit)
            if words[:1] == ["step"] and "(took" in words:
                times.append(float(words[words.index("(took") + 1]) * 1e-3)
        os.kill(self.process.pid, 19)  # SIGSTOP
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        self.peak_kb = next(int(x.split()[1]) for x in status.splitlines() if "VmHWM" in x)
        return sum(times) / count


def in_turn(programs, counts):
    """Seconds a step of a block of each, once what ran before has come to rest."""
    times = []
    for program, count in zip(programs, counts):
        time.sleep(SETTLE_S)
        times.append(program.steps(count))
    return times
