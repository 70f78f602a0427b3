"""every_folders.py - what plugins' folders say of their run in every_test.py: defaults of the object, ranks.json, check.json.

ranks.json has members of a run in which the plugin does something.  It may have "no_run" instead, the reason why there is
none, and "refused": {value of "sharding": the sentence with which the plugin refuses it}.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib

PLUGINS = pathlib.Path(__file__).resolve().parent.parent.parent / "plugins"


def read(path):
    """Members of a run from a file; a text that lies in the run's folder there lies beside it here."""
    return json.loads(path.read_text(encoding="utf-8").replace('"corpus.txt"', '"../corpus.txt"'))


def all_objects(root):
    """[(folder, kind, name)] of all objects of the plugins below a folder."""
    found = [(path.parent, one) for path in sorted(root.glob("*/*/plugin.json")) for one in read(path)["objects"]]
    return [(folder, one["kind"], one["name"]) for folder, one in found]


def objects(kind, root=PLUGINS):
    """[(folder, name)] of the objects of a kind."""
    return [(folder, name) for folder, one, name in all_objects(root) if one == kind]


def own(folder, names=("ranks.json", "check.json")):
    """What the first file of a plugin's folder that is there says of its run; {} where there is none."""
    for path in (folder / name for name in names):
        if path.exists():
            return read(path)
    return {}


def told(key, root=PLUGINS):
    """{(kind, name): value} of the objects whose ranks.json has this key, which is no member of a run."""
    ranks = [((kind, name), own(folder, ["ranks.json"])) for folder, kind, name in all_objects(root)]
    return {one: says[key] for one, says in ranks if key in says}


def refused():
    """{(kind, name, value of "sharding"): the sentence with which the plugin refuses it}."""
    return {(*one, sharding): text for one, texts in told("refused").items() for sharding, text in texts.items()}


def each(kind, default, root=PLUGINS):
    """{name: members of a run} of the objects of a kind: default(name) with the members of its folder."""
    none = told("no_run", root)
    return {name: default(name) | {key: value for key, value in own(folder).items() if key != "refused"}
            for folder, name in objects(kind, root) if (kind, name) not in none}
