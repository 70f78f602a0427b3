"""schema_test.py - plugin.schema.json against every manifest of this tree; run from its root."""
# SPDX-License-Identifier: Apache-2.0
import copy
import glob
import json
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: python3 has no jsonschema")
    sys.exit(77)

# Fixtures whose fault is one that a schema sees; those of all others lie elsewhere.
REFUSED = {"unknown_key", "wrong_type", "dotdot", "newer_format"}


def read(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def cases(good):
    """Manifests that the host refuses, each made out of a good one."""
    def but(change):
        m = copy.deepcopy(good)
        change(m)
        return m

    params = lambda m: m["objects"][0]["params"]
    yield "unknown kind", but(lambda m: m["objects"][0].update(kind="optimiser"))
    yield "no objects", but(lambda m: m.update(objects=[]))
    yield "an id without a dot", but(lambda m: m.update(id="good"))
    yield "a version of two parts", but(lambda m: m.update(version="1.2"))
    yield "an absolute library", but(lambda m: m["library"].update(path="/good.so"))
    yield "unknown trait", but(lambda m: m["objects"][0].update(traits=["fast"]))
    yield "a default and required", but(lambda m: params(m)["rate"].update(required=True))
    yield "no default", but(lambda m: params(m)["rate"].pop("default"))
    yield "bounds of a string", but(lambda m: params(m)["text"].update(min=1))
    yield "unknown unit", but(lambda m: params(m)["every"].update(units=["h"]))
    yield "an enum without values", but(lambda m: params(m)["mode"].pop("values"))
    yield "a list without items", but(lambda m: params(m)["sizes"].pop("items"))
    yield "unknown key of an item", but(lambda m: params(m)["sizes"]["items"].update(maxi=1))
    for test in (None, "flag", {}, [], {"flag": []}, {"flag": {}}, {"flag": {"like": 1}}, {"count": {"min": "1"}},
                 {"text": {"is": [["a"]]}}, [{}], {"Flag": True}):
        yield f"the condition {test}", but(lambda m: m["objects"][0].update(events=[{"name": "batch_end", "when": test}]))
    yield "a number for a list in format 1.0", but(lambda m: m.update(format="1.0"))
    yield "a number for a list of none", but(lambda m: params(m)["sizes"].update(scalar=0))
    yield "a number for a number", but(lambda m: params(m)["count"].update(scalar=1))
    yield "a setting called id", but(lambda m: params(m).update(id=params(m)["flag"]))


def main():
    schema = read("sdk/schema/plugin.schema.json")
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    failed = checked = 0
    paths = sorted(glob.glob("plugins/*/*/plugin.json") + glob.glob("sdk/*/plugin.json")
                   + glob.glob("tests/fixtures/*/plugin.json"))
    for path in paths:
        faults = [f"{e.json_path}: {e.message}" for e in validator.iter_errors(read(path))]
        refuse = path.startswith("tests/fixtures/") and path.split("/")[2] in REFUSED
        checked += 1
        if bool(faults) != refuse:
            failed += 1
            print(f"{path}: {faults or 'accepted'}")
    for name, manifest in cases(read("tests/fixtures/good/plugin.json")):
        checked += 1
        if validator.is_valid(manifest):
            failed += 1
            print(f"{name}: accepted")
    print(f"{checked - failed} passed, {failed} failed")
    return 1 if failed or not paths else 0


sys.exit(main())
