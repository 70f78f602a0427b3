"""What tools/gpu tries: one file with all that was built elsewhere, or a build made where it runs."""
import hashlib
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

from machine import ROOT, Late, find_tool

PACK = ROOT / "build" / "gpu-pack.tar.xz"
SOURCES = ("host", "kernels", "plugins", "sdk", "tools/bench", "tests/support", "tests/include",
           "tests/cuda/op_device.c", "tests/devices/cuda")
ENDINGS = (".c", ".h", ".cu", ".cuh", ".cc", ".txt")  # of sources, and of what says how they are built
# Of these a machine has its own, which fit its libc.
NEVER = re.compile(r"^(ld-linux.*|lib(c|m|dl|pthread|rt|resolv|util)\.so\..*)$")
# Of these the machine's are as good when it has them, and newer ones may be wanted by NVIDIA's.
FALLBACK = re.compile(r"^lib(stdc\+\+|gcc_s|gomp|cudart|z)\.so\..*$")


def packed_source(path, root):
    """Whether a pack is made of it: of tests those of operations and the device, of JSON what lies beside a plugin's library."""
    if path.suffix == ".json":
        return path.name == "plugin.json"
    is_test = path.stem.endswith("_test") and path.relative_to(root).parts[0] not in ("kernels", "tests")
    return path.suffix in ENDINGS and not is_test


def fingerprint(root=ROOT):
    """Of the sources that a pack is made of."""
    total = hashlib.sha256()
    places = [root / place for place in SOURCES]
    files = [p for place in places for p in ([place] if place.is_file() else place.rglob("*")) if p.is_file()]
    for path in sorted(p for p in files if packed_source(p, root)):
        total.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def build_here(m, architectures):
    """Whether preset cuda could be built; the reason is told."""
    folder = ROOT / "build" / "cuda"
    steps = [["cmake", "--preset", "cuda", f"-DTUTTI_CUDA_ARCHITECTURES={architectures}",
              "-DTUTTI_CUDA_LINEINFO=ON"],
             ["cmake", "--build", folder, "-j", str(os.cpu_count()), "--target", "gpu"]]
    for command in steps:
        said = m(command)
        if said.status:
            return None, said.lines()
    return folder, []


def needed(file, env):
    """Name -> path of the shared libraries that a program or library is linked with."""
    said = subprocess.run(["ldd", file], text=True, capture_output=True, check=False, env=env)
    found = re.findall(r"^\s*(\S+) => (/\S+)", said.stdout, re.MULTILINE)
    return {name: path for name, path in found if not NEVER.match(name)}


def gather(source, to):
    """Programs, plugins and the libraries they want, as they lie in a build folder; stripped."""
    wanted = [source / "tutti", *sorted((source / "tests").glob("op_*_test")),
              *sorted((source / "tests/devices").glob("devices_cuda_*_test"))]
    wanted += sorted((source / "lib/tutti/cuda").glob("*.code"))
    for folder in ("lib/tutti/plugins", "bench"):
        wanted += [p for p in sorted((source / folder).rglob("*"))
                   if p.suffix in (".so", ".json", ".fatbin") and "CMakeFiles" not in p.parts
                   and "cache" not in p.parts]
    libraries = {}
    for path in wanted:
        copy = to / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
        if path.suffix in ("", ".so"):
            libraries.update(needed(path, dict(os.environ)))
            subprocess.run(["strip", copy], check=True)
    for cudart in sorted(pathlib.Path("/usr/local/cuda/lib64").glob("libcudart.so.1?")):
        libraries[cudart.name] = str(cudart)
    for name, path in libraries.items():
        copy = to / ("fallback" if FALLBACK.match(name) else "libraries") / name
        copy.parent.mkdir(exist_ok=True)
        shutil.copy2(path, copy, follow_symlinks=True)


def make(args):
    """Exit status of --pack."""
    def run(command):
        print("$", " ".join(str(w) for w in command), flush=True)
        done = subprocess.run([str(w) for w in command], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, cwd=ROOT, check=False)

        class Ended:
            status = done.returncode

            @staticmethod
            def lines():
                return done.stdout.splitlines()
        return Ended
    source, why = (pathlib.Path(args.source).resolve(), []) if args.source else \
        build_here(run, args.architectures)
    if not source:
        print("\n".join(why[-20:]))
        return 1
    with tempfile.TemporaryDirectory() as folder:
        to = pathlib.Path(folder, "pack")
        gather(source, to)
        if args.cifar:
            shutil.copytree(args.cifar, to / "cifar")
        about = {"architectures": [int(a) for a in re.findall(r"\d+", args.architectures)],
                 "sources": fingerprint(), "tests": len(list((to / "tests").rglob("*_test")))}
        (to / "pack.json").write_text(json.dumps(about) + "\n", encoding="utf-8")
        # Programs have most of their bytes in common: a window that sees the one before, and little search.
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 64 << 20}]
        with lzma.open(PACK, "wb", filters=filters) as packed, \
                tarfile.open(fileobj=packed, mode="w") as tar:
            tar.add(to, "pack")
    size = PACK.stat().st_size / 2**20
    print(f"{PACK}: {size:.1f} MiB, {about['tests']} tests, architectures {args.architectures}")
    return 0


def unpack(m, file):
    """The folder of an unpacked pack."""
    folder = m.scratch / "pack"
    with tarfile.open(file) as tar:
        tar.extractall(m.scratch, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))
    return folder


def use_pack(m, folder):
    """Whether the pack suits; its libraries come before and after the machine's own."""
    about = json.loads((folder / "pack.json").read_text(encoding="utf-8"))
    if about["sources"] != fingerprint():
        m.say("the pack was made of other sources than those that are here")
    capability = m.result.get("capability", max(about["architectures"]))
    if capability < min(about["architectures"]):
        m.wrong("the pack", f"is for {about['architectures']}, this GPU is {capability}")
        return False
    paths = [folder / "libraries", m.env.get("LD_LIBRARY_PATH"), *own_folders(), folder / "fallback"]
    m.env["LD_LIBRARY_PATH"] = ":".join(str(p) for p in paths if p)
    m.result["pack"] = about
    return True


def own_folders():
    """Where the loader looks without being told, so that what follows is a fallback."""
    places = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64")
    return [p for p in places if os.path.isdir(p)]


def find_build(m):
    """Sets m.build: what --from names, else the pack, else a build made here.  False: there is none."""
    source = pathlib.Path(m.args.source).resolve() if m.args.source else PACK
    if not m.args.source and not PACK.exists():
        if m.args.standin:
            source = ROOT / "build" / "release"
        elif not find_tool("nvcc") or not find_tool("cmake"):
            m.say("tools/gpu: there is neither a pack (tools/gpu --pack makes it) nor nvcc and cmake to build with")
            return False
        else:
            return build_on_gpu_machine(m)
    m.build = unpack(m, source) if source.is_file() else source
    if not (m.build / "tutti").exists():
        m.wrong("the build", f"there is no program in {source}")
        return False
    if (m.build / "pack.json").exists() and not use_pack(m, m.build):
        return False
    if m.args.standin:
        m.env["LD_LIBRARY_PATH"] = f"{m.build / 'standin'}:{m.env.get('LD_LIBRARY_PATH', '')}"
    return True


def build_on_gpu_machine(m):
    try:
        m.build, why = build_here(lambda command: m.run(command, 330), m.result["capability"])
    except Late:
        why = ["took longer than 330 s"]
    if not m.build:
        m.wrong("the build", " ".join(line for line in why if "rror" in line)[:200] or why[-1])
        m.say("      where its libraries are missing, tools/gpu --pack makes a pack on a machine that has them")
        return False
    m.say(f"built in {m.args.seconds - m.left():.0f} s")
    return True
