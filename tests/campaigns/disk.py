"""disk.py - a disk that loses power: recorded calls on files are replayed, and what was not synced by then is lost, or not."""
# SPDX-License-Identifier: Apache-2.0
import os

LINK = "latest.safetensors"  # leads to a checkpoint once it counts
LOSSES = ("all", "least", "some", "some more")  # what there is of what was not synced


class Disk:
    """What a disk holds while recorded calls are replayed: names, which are safe once their folder is synced, and
    bytes, which are once their file is."""

    def __init__(self):
        self.names = []  # (folder, change) in order; a change is a function of a dict of names
        self.safe = {}   # folder: how many of self.names are safe there
        self.bytes = {}  # inode: (synced, [(offset, data) or a length])
        self.folders = {}
        self.acknowledged = None  # the last checkpoint's path: the link leads there once it counts
        self.links = {}

    def name(self, path, change):
        self.names.append((os.path.dirname(path), change))

    def step(self, call, inode, offset, path, to, data):
        synced, unsynced = self.bytes.setdefault(inode, (b"", []))
        if call == "create":
            if offset:
                unsynced.append(0)
            self.name(path, lambda names: names.setdefault(path, inode))
        elif call in ("write", "pwrite", "writev", "pwritev"):
            unsynced.append((offset, data))
        elif call == "truncate":
            unsynced.append(offset)
        elif call == "rename":
            self.name(to, lambda names: path in names and names.update({to: names.pop(path)}))
            if os.path.basename(to) == LINK and path in self.links:
                self.acknowledged = os.path.join(os.path.dirname(to), self.links.pop(path))
        elif call == "symlink":
            self.links[path] = to
            self.name(path, lambda names: names.update({path: to}))
        elif call == "unlink":
            self.name(path, lambda names: names.pop(path, None))
        elif call == "mkdir":
            self.folders[inode] = path
            self.name(path, lambda names: names.setdefault(path, None))
        elif call == "fsync":
            self.sync(inode, path, synced, unsynced)

    def sync(self, inode, path, synced, unsynced):
        if not os.path.isdir(path):
            self.bytes[inode] = (applied(synced, unsynced), [])
            return
        self.safe[path] = len(self.names)

    def put(self, source, target, how, rng):
        """Writes what is left of folder `source` to `target`; how: one of LOSSES, of what is not safe."""
        names = {}
        kept = {folder: rng.randrange(len(self.names) + 1) for folder, _ in self.names}
        for k, (folder, change) in enumerate(self.names):
            if how == "all" or k < self.safe.get(folder, 0) or (how.startswith("some") and k < kept[folder]):
                change(names)
        for path, what in sorted(names.items()):
            if not path.startswith(str(source)):
                continue
            place = target / os.path.relpath(path, source)
            if not place.parent.is_dir():
                continue  # its folder is lost
            if what is None:
                place.mkdir(exist_ok=True)
            elif isinstance(what, str):
                place.symlink_to(what)
            else:
                synced, unsynced = self.bytes[what]
                if how == "least":
                    unsynced = []
                elif how.startswith("some"):
                    unsynced = [torn(one, rng) for one in unsynced if rng.random() < 0.5]
                place.write_bytes(applied(synced, unsynced))


def torn(one, rng):
    return one if isinstance(one, int) else (one[0], one[1][:rng.randrange(len(one[1]) + 1)])


def applied(data, changes):
    data = bytearray(data)
    for one in changes:
        if isinstance(one, int):
            del data[one:]
            data.extend(bytes(one - len(data)))
        else:
            offset, new = one
            data.extend(bytes(max(0, offset - len(data))))
            data[offset:offset + len(new)] = new
    return bytes(data)


def recorded(path, folder):
    """The calls of a record, of a process in that folder."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        call, inode, offset, size, name, to = data[at:end].decode().split(" ")
        at = end + 1 + int(size)
        to = os.path.join(folder, to) if call in ("rename", "link") else to
        yield call, int(inode), int(offset), os.path.join(folder, name), to, data[end + 1:at]
