"""compile_gate.py - compiles all device code with nvcc and holds each kernel to its budget.

usage: compile_gate.py SOURCE BUILD ARGUMENTS   builds the target cuda_images of SOURCE in BUILD/cuda_gate
       compile_gate.py --check FOLDER ARGUMENTS looks at the logs and fatbins that lie there

A kernel may use 128 registers, no stack and no spills; it is there for each of TUTTI_CUDA_ARCHITECTURES of that
build, as code and as PTX.  A line in the .cu beside the kernel allows more, and says why:

    /* budget: attention_cuda registers=168: the accumulators of a tile of 64 x 128 */

ARGUMENTS is the program cuda_arguments, which holds what kernels take to what the host passes.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

DEFAULT = {"registers": 128, "stack": 0, "spills": 0}
SKIPPED = 77


def budgets(source):
    """Of the kernels that the file names; the rest have DEFAULT."""
    own = {}
    for line in Path(source).read_text().splitlines():
        found = re.match(r"/\* budget: (\w+)((?: \w+=\d+)+): .+ \*/$", line)
        if found:
            given = dict(item.split("=") for item in found[2].split())
            unknown = set(given) - set(DEFAULT)
            if unknown:
                sys.exit(f"{source}: budget of {found[1]}: there is no {sorted(unknown)[0]}")
            own[found[1]] = {**DEFAULT, **{k: int(v) for k, v in given.items()}}
        elif "budget:" in line:
            sys.exit(f"{source}: want '/* budget: kernel registers=168: reason */', got '{line}'")
    return own


def figures(log):
    """What ptxas says, by (kernel, architecture)."""
    found, key = {}, None
    for line in log.splitlines():
        entry = re.search(r"Compiling entry function '(\w+)' for 'sm_(\d+)\w?'", line)
        stack = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)
        used = re.search(r"Used (\d+) registers", line)
        if entry:
            key = (entry[1], int(entry[2]))
            found[key] = {}
        elif stack and key:
            found[key].update(stack=int(stack[1]), spills=int(stack[2]) + int(stack[3]))
        elif used and key:
            found[key]["registers"] = int(used[1])
            key = None
    return found


def contents(fatbin):
    """[(1 PTX or 2 code, architecture)] of a fatbin."""
    data = Path(fatbin).read_bytes()
    magic, _, at, size = struct.unpack_from("<IHHQ", data)
    if magic != 0xBA55ED50:
        sys.exit(f"{fatbin}: this is no fatbin")
    end, found = at + size, []
    while at < end:
        kind, _, header, n = struct.unpack_from("<HHIQ", data, at)
        found.append((kind, struct.unpack_from("<I", data, at + 28)[0]))
        at += header + n
    return found


def architectures(folder):
    """Those that the build in the folder generates code for."""
    cache = (folder / "CMakeCache.txt").read_text()
    return [int(sm) for sm in re.search(r"^TUTTI_CUDA_ARCHITECTURES:STRING=(.+)$", cache, re.MULTILINE)[1].split(";")]


def by_name(images):
    """(name, source, fatbins, all that was logged) of each image; those of operations have a fatbin an architecture."""
    found = {}
    for image in images:
        one = found.setdefault(image["name"], (image["name"], image["source"], [], []))
        one[2].append(image["fatbin"])
        one[3].append(Path(image["log"]).read_text())
    return [(name, source, fatbins, "\n".join(logs)) for name, source, fatbins, logs in found.values()]


def check_image(name, source, fatbins, log, wanted):
    """Sentences about what is wrong with one image, and its kernels' figures."""
    own, seen, wrong = budgets(source), figures(log), []
    kernels = sorted({kernel for kernel, _ in seen})
    if not kernels:
        wrong.append(f"{name}: it has no kernels")
    wrong += [f"{name}: there is a budget for {k}, but no such kernel" for k in own if k not in kernels]
    for (kernel, arch), have in sorted(seen.items()):
        allowed = own.get(kernel, DEFAULT)
        wrong += [f"{name}: {kernel} for sm_{arch} has {have[what]} {what}, its budget is {allowed[what]}"
                  for what in DEFAULT if have[what] > allowed[what]]
    wrong += [f"{name}: {kernel} was not compiled for sm_{arch}" for kernel in kernels
              for arch in wanted if (kernel, arch) not in seen]
    have = [item for fatbin in fatbins for item in contents(fatbin)]
    wrong += [f"{name}: there is no PTX of compute_{arch}" for arch in wanted if (1, arch) not in have]
    return wrong, seen


def check_arguments(folder, images, program):
    """Sentences about arguments that differ, and one about those that do not."""
    done = subprocess.run([program, "--plugins", folder / "lib" / "tutti" / "plugins",
                           *(f"{image['name']}={image['fatbin']}" for image in images)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wrong = done.stderr.splitlines()
    if done.returncode and not wrong:
        wrong = [f"{program} ended with {done.returncode}"]
    return wrong, done.stdout.strip()


def check(folder, program):
    images = json.loads((folder / "cuda_images.json").read_text())
    wrong, said = check_arguments(folder, images, program)
    count, most, wanted = 0, ("", 0, 0), architectures(folder)
    for name, source, fatbins, log in by_name(images):
        bad, seen = check_image(name, source, fatbins, log, wanted)
        wrong += bad
        count += len(seen)
        for (kernel, arch), have in seen.items():
            if have["registers"] > most[1]:
                most = (kernel, have["registers"], arch)
    print("\n".join(wrong) or f"{count} kernels for {', '.join(f'sm_{sm}' for sm in wanted)} are within their budgets; {most[0]} for sm_{most[2]} "
          f"has the most registers, {most[1]}; {said}")
    return 1 if wrong else 0


def build(source, folder):
    ccache = shutil.which("ccache")
    launcher = [f"-DCMAKE_C_COMPILER_LAUNCHER={ccache}"] if ccache else []
    steps = [["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
              "-DTUTTI_CUDA=ON", *launcher],
             ["cmake", "--build", folder, "--target", "cuda_images", "-j", str(min(4, os.cpu_count() or 1))]]
    for step in steps:
        done = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(done.stdout[-6000:])
            return 1
    return 0


def main():
    if sys.argv[1] == "--check":
        return check(Path(sys.argv[2]), sys.argv[3])
    source, folder, program = sys.argv[1], Path(sys.argv[2]) / "cuda_gate", sys.argv[3]
    if not (shutil.which("nvcc") or os.path.exists("/usr/local/cuda/bin/nvcc")):
        print("skipped: there is no nvcc, so no device code is compiled here")
        return SKIPPED
    return build(source, folder) or check(folder, program)


if __name__ == "__main__":
    sys.exit(main())
