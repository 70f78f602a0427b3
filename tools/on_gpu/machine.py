"""What a machine with a GPU has, how much time is left on it, and commands that end in time."""
import contextlib
import ctypes.util
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NVIDIA = ("libcudart.so.1[23]", "libcublasLt.so.1[23]", "libcudnn.so.9", "libnvrtc.so.1[23]", "libnccl.so.2")
TOOLKITS = ("/usr/local/cuda", "/opt/nvidia", "/usr/local/nvidia")
# Asks NVIDIA's libraries for their versions, in a process of its own.
PROBE = """
import ctypes
def ask(file, function, *more):
    try:
        lib = ctypes.CDLL(file)
        n = ctypes.c_int(-1)
        getattr(lib, function).restype = ctypes.c_size_t if more else ctypes.c_int
        s = getattr(lib, function)() if more else getattr(lib, function)(ctypes.byref(n))
        return s if more else n.value if not s else f"error {s}"
    except (OSError, AttributeError) as why:
        return str(why)
def newest(a, b, *rest):
    said = ask(a, *rest)
    return said if not isinstance(said, str) or "error" in said[:5] else ask(b, *rest)
print("driver", newest("libcudart.so.13", "libcudart.so.12", "cudaDriverGetVersion"))
print("runtime", newest("libcudart.so.13", "libcudart.so.12", "cudaRuntimeGetVersion"))
print("devices", newest("libcudart.so.13", "libcudart.so.12", "cudaGetDeviceCount"))
print("cublasLt", newest("libcublasLt.so.13", "libcublasLt.so.12", "cublasLtGetVersion", 1))
print("nccl", ask("libnccl.so.2", "ncclGetVersion"))
print("cudnn", ask("libcudnn.so.9", "cudnnGetVersion", 1))
"""


class Late(Exception):
    """A command that took longer than it was given."""

    def __init__(self, text, stage_s=None):
        super().__init__(text)
        self.stage_s = stage_s  # seconds that the stage had left when it began, where they were the limit


class Said:
    """How a command ended, and what it said on both its outputs."""

    def __init__(self, status, text):
        self.status, self.text = status, text

    def lines(self):
        return [line for line in self.text.splitlines() if line.strip()]


def kill_all(process):
    """A process and what it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


def run(command, limit, env):
    """Said; Late after `limit` seconds, with all that it started killed.  Output goes to a file, which a
    grandchild that lives on cannot hold open."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=subprocess.STDOUT, env=env, cwd=ROOT,
                                   start_new_session=True)
        try:
            status = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            kill_all(process)
            process.wait()
        out.seek(0)
        text = out.read().decode(errors="replace")
        if status is None:
            raise Late(text)
        return Said(status, text)


def find_tool(name):
    """A program on the PATH, else in NVIDIA's folders."""
    found = shutil.which(name)
    for root in TOOLKITS if not found else ():
        for path in sorted(pathlib.Path(root).glob(f"**/{name}"), reverse=True):
            if path.is_file() and os.access(path, os.X_OK):
                return str(path)
    return found


def library_folders(paths):
    """Folders with NVIDIA's libraries: those of Python's packages (where PyTorch is, cuDNN often is nowhere
    else), the toolkit's and the driver's, when the loader does not look there by itself."""
    found = []
    packages = [pathlib.Path(p) / "nvidia" for p in paths if p]
    for pattern in NVIDIA:
        there = [lib for root in packages for lib in sorted(root.glob(f"*/lib/{pattern}"))]
        there = there or sorted(pathlib.Path("/usr/local").glob(f"cuda*/lib64/{pattern}"))
        found += [lib.parent for lib in there]
    if not ctypes.util.find_library("cuda"):
        for place in ("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/wsl/lib"):
            if pathlib.Path(place, "libcuda.so.1").exists():
                found.append(pathlib.Path(place))
    return list(dict.fromkeys(found))


class Machine:
    """One trial: what is there, what was found, and how much time is left."""

    def __init__(self, args):
        self.args = args
        self.build = None  # pack.find_build sets it
        self.python = None  # one that has torch
        self.smi = None
        self.began = time.monotonic()
        self.end = self.stage_end = self.began + args.seconds
        self.result = {"gpu": "stand-in", "wrong": [], "left_out": [], "stages": {}, "findings": []}
        self.lock = threading.RLock()
        self.running = []
        args.output = args.output.resolve()
        args.output.mkdir(parents=True, exist_ok=True)
        self.text = open(args.output / "gpu.txt", "w", encoding="utf-8")
        self.log = open(args.output / "gpu.log", "w", encoding="utf-8")
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="gpu-"))
        self.env = dict(os.environ, TUTTI_TUNE="0", XDG_CACHE_HOME=str(self.scratch / "cache"))
        self.take_up()
        self.watch = threading.Timer(args.seconds + 15, self.give_up)
        self.watch.daemon = True
        self.watch.start()
        signal.signal(signal.SIGTERM, lambda *_: self.give_up())

    def say(self, line):
        with self.lock:
            print(line, flush=True)
            print(line, file=self.text, flush=True)

    def wrong(self, what, why):
        """One sentence on the screen; what was said is in the log."""
        with self.lock:
            self.result["wrong"].append(f"{what}: {why}")
            self.say(f"WRONG {what}: {str(why)[:300]}")

    def late(self, what):
        """A command that did not end in its time: wrong, unless it was the stage's that was short."""
        if self.left() > 2:
            self.wrong(what, "took longer than it was given")
            return
        self.leave_out(what, "no time left")

    def leave_out(self, what, why):
        """What is neither right nor wrong, since it had no time."""
        with self.lock:
            self.result["left_out"].append(what)
            self.say(f"{what}: {why}")

    def finding(self, lost_ms, text):
        """For the page at the end: what was found, and how many milliseconds of a step it costs, or None."""
        with self.lock:
            found = {"lost_ms": lost_ms, "text": text}
            if found not in self.result["findings"]:
                self.result["findings"].append(found)

    def left(self):
        return max(0.0, self.stage_end - time.monotonic())

    def run(self, command, limit, **extra):
        """Said, or Late, in the stage's time."""
        left = self.left()
        short = left < limit
        limit = max(1.0, min(limit, left))
        began, status, text = time.monotonic(), "late", ""
        try:
            said = run(command, limit, {**self.env, **extra})
            status, text = said.status, said.text
            return said
        except Late as late:
            text = str(late)
            raise Late(text, limit if short else None) from late
        finally:
            with self.lock:
                print(f"\n$ {' '.join(f'{k}={v}' for k, v in extra.items())} "
                      f"{' '.join(str(w) for w in command)}\n[{status}, {time.monotonic() - began:.1f} s]\n"
                      f"{text[-20000:]}", file=self.log, flush=True)

    # What earlier calls found, and the algorithms that were chosen then, lie beside the results: whoever carries
    # the output folder to the next machine goes on where the last call stopped.
    KEPT = ("bench", "chosen", "launches", "kinds", "parity", "plugins", "operations", "device", "tuned", "ranks", "sanitized", "airbench",
            "findings")

    def take_up(self):
        before, choices = self.args.output / "gpu.json", self.args.output / "choices"
        if (self.args.only or self.args.call) and before.exists():
            try:
                old = json.loads(before.read_text(encoding="utf-8"))
            except ValueError:
                old = {}
            self.result.update({k: old[k] for k in self.KEPT if k in old})
        if choices.exists():
            self.cache().parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(choices, self.cache())

    def cache(self):
        """Where kernels keep what they measured."""
        return self.scratch / "cache" / "tutti" / "kernels"

    def save(self):
        if self.cache().exists():
            shutil.copy2(self.cache(), self.args.output / "choices")
        self.result["seconds"] = round(time.monotonic() - self.began, 1)
        with self.lock:
            (self.args.output / "gpu.json").write_text(json.dumps(self.result, indent=1) + "\n",
                                                       encoding="utf-8")

    def stage(self, name, part, what):
        """A stage ends in its time, and its failure is its own."""
        left = self.end - time.monotonic()
        if left < 10 and not self.args.standin:
            self.leave_out(name, "no time left")
            return
        self.stage_end = min(self.end, time.monotonic() + left * part)
        began = time.monotonic()
        try:
            what(self)
        except Late:
            self.late(name)
        except Exception as why:  # whatever it is, the next stage has its turn
            self.log.write(traceback.format_exc())
            self.wrong(name, f"{type(why).__name__}: {why}")
        self.result["stages"][name] = round(time.monotonic() - began, 1)
        self.save()

    def give_up(self):
        """The last resort when something hangs: what is known is kept."""
        self.result["wrong"].append("time is up")
        self.save()
        print("WRONG time is up", flush=True)
        for process in self.running:
            kill_all(process)
        os._exit(1)

    def close(self):
        self.watch.cancel()
        self.save()
        self.say(f"{self.result['seconds']} s; {self.args.output}/gpu.json")
        for process in self.running:
            kill_all(process)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def look(self):
        """Tells what is there.  Whether there is a GPU."""
        if self.args.standin:
            self.find_torch([self.args.python] if self.args.python else [])
            return True
        self.smi = find_tool("nvidia-smi")
        said = self.smi and run([self.smi, "--query-gpu=name,compute_cap,driver_version,memory.total",
                                 "--format=csv,noheader,nounits"], 30, self.env)
        if not said or said.status or not said.lines():
            self.say("tools/gpu: there is no GPU that nvidia-smi knows of")
            return False
        name, capability, driver, memory = (w.strip() for w in said.lines()[0].split(","))
        self.result.update(gpu=name, capability=int(capability.replace(".", "")), driver=driver,
                           memory_mib=int(memory), cores=len(os.sched_getaffinity(0)))
        self.say(f"{name}, compute capability {capability}, {memory} MiB, driver {driver}, "
                 f"{self.result['cores']} cores")
        self.find_torch([self.args.python or sys.executable, shutil.which("python3"),
                         ROOT / "build" / "peer" / "bin" / "python3"])
        paths = run([self.python or sys.executable, "-c", "import sys; print('\\n'.join(sys.path))"], 30,
                    self.env)
        folders = [self.env.get("LD_LIBRARY_PATH"), *library_folders([*sys.path, *paths.lines()])]
        self.env["LD_LIBRARY_PATH"] = ":".join(str(f) for f in folders if f)
        for tool in ("nvcc", "cmake", "ninja", "gcc", "compute-sanitizer"):
            self.result.setdefault("tools", {})[tool] = find_tool(tool)
        missing = [k for k, v in self.result["tools"].items() if not v]
        self.say(f"torch {self.result.get('torch', 'is missing')}; "
                 + (f"no {', '.join(missing)}" if missing else "nvcc, cmake, compute-sanitizer are there"))
        return True

    def find_torch(self, candidates):
        for python in dict.fromkeys(str(p) for p in candidates if p):
            try:
                said = run([python, "-c", "import torch; print(torch.__version__, torch.cuda.is_available())"],
                           90, {**os.environ})
            except (Late, OSError):
                continue
            if not said.status:
                self.python, self.result["torch"] = python, said.lines()[-1]
                return

    def libraries(self):
        """What the loader finds of NVIDIA's, and their versions."""
        said = self.run([sys.executable, "-c", PROBE], 60)
        self.result["libraries"] = dict(line.split(" ", 1) for line in said.lines())
        self.say("libraries: " + ", ".join(f"{k} {v}" for k, v in self.result["libraries"].items()))

    @contextlib.contextmanager
    def watched(self, found):
        """Puts the medians of the card's power and clock meanwhile into `found`: watts and sm_mhz."""
        if not self.smi:
            yield
            return
        with tempfile.TemporaryFile("w+") as out:
            process = subprocess.Popen([self.smi, "--query-gpu=power.draw,clocks.sm", "--format=csv,noheader,nounits", "-lms",
                                        "100"], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
            try:
                yield
            finally:
                process.kill()
                process.wait()
                out.seek(0)
                rows = re.findall(r"^([0-9.]+), ([0-9.]+)$", out.read(), re.MULTILINE)
                if rows:
                    found["watts"], found["sm_mhz"] = (statistics.median(map(float, column)) for column in zip(*rows))

    def memory_used(self):
        """MiB of the GPU's memory in use, or None."""
        if not self.smi:
            return None
        said = self.run([self.smi, "--query-gpu=memory.used", "--format=csv,noheader,nounits"], 20)
        return int(said.lines()[0]) if not said.status and said.lines() else None
