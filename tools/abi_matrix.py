"""abi_matrix.py - the matrix of the plugin ABI: old plugins on today's host, today's plugins on old hosts.

Released plugins are sdk/abi/1.N/plugins: sources of a release, compiled with the headers of that release.  An old host
is built once from the commit that froze the release and kept in the build folder, as abi_hosts/1.N; where it is not,
today's host stands for it, and the report says so.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

SMALL = {
    "name": "matrix", "seed": 5, "model": {"name": "mlp", "hidden": [16]},
    "train": {"dataset": {"name": "glyphs", "samples": 128}, "batch_size": 32,
              "transforms": [{"name": "normalize", "mean": [0.13], "std": [0.31]}]},
    "optimizer": {"name": "sgd", "lr": 0.05}, "max_duration": "4ba", "threads": 1,
    "loggers": [{"name": "jsonl", "filename": "log.jsonl"}]}
# What a released plugin's object is given, so that it changes the losses of the small run.
SETTINGS = {"input_noise": {"sigma": 0.5}, "weight_pull": {"rate": 0.05}, "norm_descent": {"lr": 0.2}}


class Fault(Exception):
    """A cell of the matrix does not hold; the text says which and why; `said` is all that a command said."""

    def __init__(self, text, said=""):
        super().__init__(text)
        self.said = said


def run(what, *words, folder=None, extra=None):
    """Standard output of a command that must succeed; else the Fault begins with `what`."""
    done = subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, check=False,
                          env=os.environ | {"TUTTI_TUNE": "0"} | (extra or {}))
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise Fault(f"{what}: {said[-2000:]}", said)
    return done.stdout


def asks_for(source):
    """The minor that the plugin in a folder of sources asks for."""
    return int(json.loads((source / "plugin.json").read_text())["abi"]["min"].split(".")[1])


def build_released(version, sources, include, cc, to):
    """Libraries of a release's plugins, each in its folder with its manifest; the run's members that name them."""
    members = {}
    for source in sources:
        folder = to / source.name
        folder.mkdir(parents=True, mode=0o755)
        manifest = json.loads((source / "plugin.json").read_text())
        run(f"{source.name} of {version} does not compile with its headers", cc, "-std=c11", "-O2", "-fPIC",
            "-shared", "-fvisibility=hidden", "-Wall", "-Werror", "-I", include,
            *sorted(source.glob("*.c")), "-o", folder / manifest["library"]["path"], "-lm")
        shutil.copy(source / "plugin.json", folder)
        name, kind = manifest["objects"][0]["name"], manifest["objects"][0]["kind"]
        one = {"name": name} | SETTINGS.get(name, {})
        members[name] = {"algorithms": [one]} if kind == "algorithm" else {kind: one}
    return members


def losses(host, folder, members, what, path):
    """The losses of a small run with these members on `host`, whose plugins are those of `path`."""
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(SMALL | members))
    run(what, host, "train", "run.json", "--plugin-path", path, folder=folder)
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    found = [value for row in rows if row["kind"] == "metrics" for name, value in row["values"].items()
             if name == "loss/train/total"]
    if not found:
        raise Fault(f"{what}: the run logged no loss")
    return found


def old_plugins(version, sources, include, host, cc, work):
    """Plugins of a release, compiled with its headers, on today's host: each is taken, runs and does something."""
    to = work / f"plugins-{version}"
    members = build_released(version, sources, include, cc, to)
    plain = losses(host, work / f"plain-{version}", {}, f"a run beside the plugins of {version}", to)
    for name, member in members.items():
        what = f"{name} of {version} on today's host"
        if losses(host, work / f"{version}-{name}", member, what, to) == plain:
            raise Fault(f"{what}: it trains as if the plugin was not there")
    return f"plugins of {version} on today's host: {', '.join(members)}"


def compile_with(headers, root, build, to):
    """All plugins of this tree as the build compiles them, but with the headers of a release, into `to`; how many, and
    the names of those that ask for a later minor than the headers have, which are there as the build has them."""
    targets = [t.split(":")[0] for t in run("ninja", "ninja", "-C", build, "-t", "targets", "all").splitlines()
               if re.match(r"lib/tutti/plugins/[^/]+/[^/]+\.so:", t)]
    made, later = {}, []  # whether a command's output is there
    for target in targets:
        for command in run("ninja", "ninja", "-C", build, "-t", "commands", target).splitlines():
            if not any(word in command for word in (f"-I{root}/sdk/include", " -shared ", " qc ")):
                continue
            if command not in made:
                made[command] = compile_one(command, f"-I{root}/sdk/include", headers, to)
            if not made[command]:
                later.append(pathlib.Path(target).parent.name)
                shutil.copytree(build / pathlib.Path(target).parent, to / pathlib.Path(target).parent, dirs_exist_ok=True)
                break
        else:
            shutil.copy(build / pathlib.Path(target).parent / "plugin.json", to / pathlib.Path(target).parent)
    return len(targets) - len(later), later


def compile_one(command, include, headers, to):
    """Whether a compiler's command does its work with other headers; False: it asks for a later minor."""
    words = shlex.split(command)
    output = pathlib.Path(words[words.index("-o") + 1] if "-o" in words else
                          next(word for word in words if word.endswith(".a")))
    if not output.is_absolute():
        (to / output).parent.mkdir(parents=True, exist_ok=True)
    try:
        run(f"{output} with the headers of {headers.parent.name}", "sh", "-c", command.replace(include, f"-I{headers}"),
            folder=to)
    except Fault as fault:
        if "these headers are older" in fault.said:
            return False
        raise
    return True


def frozen_at(release):
    """The commit that froze a release, or None."""
    file = release / "commit"
    return file.read_text().strip() if file.exists() else None


def has_commit(root, commit):
    """Whether this tree is a repository that has the commit."""
    return bool(shutil.which("git")) and subprocess.run(
        ["git", "-C", root, "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True, check=False).returncode == 0


def build_host(release, root, commit, kept, work):
    """The program of a release, built from its commit into the folder `kept`."""
    tree = work / f"tree-{release.name}"
    run(f"{commit} cannot be checked out", "git", "-C", root, "worktree", "add", "--detach", tree, commit)
    try:
        run(f"the host of {release.name} does not configure", "cmake", "-S", tree, "-B", work / f"host-{release.name}", "-G",
            "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF")
        run(f"the host of {release.name} does not build", "ninja", "-C", work / f"host-{release.name}", "tutti")
    finally:
        run("git", "git", "-C", root, "worktree", "remove", "--force", tree)
    kept.mkdir(parents=True, exist_ok=True)
    shutil.copy(work / f"host-{release.name}" / "tutti", kept / "tutti")
    (kept / "commit").write_text(commit + "\n")


def old_host(release, root, build, work, everything):
    """The program of a release, and "" or why today's stands for it."""
    commit, kept = frozen_at(release), build / "abi_hosts" / release.name
    if not commit:
        return build / "tutti", f"{release.name} is not frozen yet"
    if frozen_at(kept) == commit:
        return kept / "tutti", ""
    if not has_commit(root, commit):
        return build / "tutti", f"commit {commit[:12]} is not here"
    if not everything:
        return build / "tutti", "`tools/abi matrix --all` builds its own"
    build_host(release, root, commit, kept, work)
    return kept / "tutti", ""


def new_plugins(release, host, plugins, work):
    """Today's plugins that accept hosts of this minor on such a host: all are usable, and a run with them trains."""
    minor = int(release.name.split(".")[1])
    only = work / f"for-{release.name}"
    for manifest in sorted(plugins.glob("*/plugin.json")):
        if int(json.loads(manifest.read_text())["abi"]["min"].split(".")[1]) <= minor:
            shutil.copytree(manifest.parent, only / manifest.parent.name)
    count = len(list(only.iterdir()))
    what = f"today's plugins on the host of {release.name}"
    alone = {"TUTTI_PLUGIN_PATH": str(only), "HOME": str(work)}
    said = run(what, host, "plugins", "list", extra=alone)
    refused = re.findall(r"^(\S+ \S+).*\n  not usable: (.*)$", said, re.M)
    if refused:
        raise Fault(f"{what}: " + "; ".join(f"{name}: {why}" for name, why in refused))
    if len(re.findall(r"^\S", said, re.M)) != count:
        raise Fault(f"{what}: it lists other plugins than the {count} in its path")
    folder = work / f"today-on-{release.name}"
    folder.mkdir()
    members = {"algorithms": [{"name": "label_smoothing"}, {"name": "ema"}],
               "loggers": [one for one in SMALL["loggers"] if (only / one["name"]).is_dir()]}
    (folder / "run.json").write_text(json.dumps(SMALL | members))
    run(what, host, "train", "run.json", folder=folder, extra=alone)
    return count


def matrix(releases, root, build, cc, everything, work):
    """Every cell, as lines that say what held."""
    today = build / "tutti"
    lines = []
    # What the next release keeps as its own holds before it is made.
    to_come = [source for source in sorted((root / "sdk/abi/newest").iterdir())
               if f"1.{asks_for(source)}" not in [release.name for release in releases]]
    if to_come:
        lines.append(old_plugins(f"1.{max(map(asks_for, to_come))}, not released yet,", to_come, root / "sdk/include", today, cc, work))
    for release in releases:
        lines.append(old_plugins(release.name, sorted((release / "plugins").iterdir()), release / "include", today, cc, work))
        if everything:
            again = work / f"all-{release.name}"
            again.mkdir()
            count, later = compile_with(release / "include", root, build, again)
            new_plugins(release, today, again / "lib/tutti/plugins", again)
            lines.append(f"today's plugins compiled with the headers of {release.name} on today's host: {count}" +
                         (f" (as built, because they ask for a later minor: {', '.join(later)})" if later else ""))
        host, why = old_host(release, root, build, work, everything)
        count = new_plugins(release, host, build / "lib/tutti/plugins", work)
        lines.append(f"today's plugins on the host of {release.name}: {count}" +
                     (f" (today's host stands for it: {why})" if why else ""))
    return lines
