"""kept_text.py - what programs have written, kept as text: to text and back, without names of the machine."""
# SPDX-License-Identifier: Apache-2.0
import getpass
import itertools
import json
import pathlib
import re
import socket
import struct

LEFT_OUT = re.compile(r".*\.npy|.*/\.lock|events\.out\.tfevents\..*")  # made anew; the host's name; TensorBoard's, binary
RENAMED = {"runs": "run"}  # git is told to pass over folders `runs`


def to_text(data):
    """A checkpoint as JSON: its header as it stands there, its tensors in hexadecimal, equal lines once with their number."""
    (size,) = struct.unpack("<Q", data[:8])
    body = data[8 + size:].hex()
    lines = [(line, len(list(same))) for line, same in itertools.groupby(body[k:k + 96] for k in range(0, len(body), 96))]
    return json.dumps({"header": data[8:8 + size].decode(), "data": [f"{line}*{n}" if n > 1 else line for line, n in lines]},
                      indent=1) + "\n"


def from_text(text):
    value = json.loads(text)
    header = value["header"].encode()
    lines = [line.partition("*") for line in value["data"]]
    return struct.pack("<Q", len(header)) + header + bytes.fromhex("".join(line * int(n or 1) for line, _, n in lines))


def without_machine(text, program):
    """The text with a neutral host, process, system and folder of plugins; an error where it still names this machine."""
    plugins = str(pathlib.Path(program).parent / "lib/tutti/plugins")
    text = text.replace(plugins, "/usr/lib/tutti/plugins")
    text = re.sub(r'^ "host": .*,$', ' "host": "host",', text, flags=re.M)
    text = re.sub(r'^ "process": \d+,$', ' "process": 1,', text, flags=re.M)
    text = re.sub(r'^( *"operating_system": ").*(",)$', r"\1Linux\2", text, flags=re.M)
    for name in (socket.gethostname(), getpass.getuser(), str(pathlib.Path(program).parent), str(pathlib.Path.home())):
        if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", text):
            raise ValueError(f"{name} would be kept")
    return text


def pack(folder, kept, program):
    """Keeps the files below `folder` as text; MLflow's, of which there are many, in one file."""
    many = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()):
        name = str(path.relative_to(folder))
        if LEFT_OUT.fullmatch(name) or LEFT_OUT.fullmatch(path.name):
            continue
        safe = path.suffix == ".safetensors"
        text = without_machine(to_text(path.read_bytes()) if safe else path.read_text(encoding="utf-8"), program)
        if name.startswith("mlruns/"):
            many[name] = text
            continue
        first, _, rest = name.partition("/")
        to = kept / RENAMED.get(first, first) / rest if rest else kept / first
        to = to.with_name(to.name + ".json") if safe else to
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text, encoding="utf-8")
    if many:
        (kept / "mlruns.json").write_text(json.dumps(many, indent=1) + "\n", encoding="utf-8")


def unpack(kept, folder):
    """Writes below `folder` what `pack` has kept."""
    back = {new: old for old, new in RENAMED.items()}
    for path in sorted(p for p in kept.rglob("*") if p.is_file()):
        first, _, rest = str(path.relative_to(kept)).partition("/")
        to = folder / back.get(first, first) / rest if rest else folder / first
        to.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        if path.name == "mlruns.json":
            for name, value in json.loads(text).items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(value, encoding="utf-8")
        elif path.name.endswith(".safetensors.json"):
            to.with_suffix("").write_bytes(from_text(text))
        else:
            to.write_text(text, encoding="utf-8")
