"""chrome_trace.py FILE... - holds files to the Chrome trace event format: fields, nesting, order of time."""
# SPDX-License-Identifier: Apache-2.0
import json
import sys


def check(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    events = json.loads(text)
    assert text.startswith("[\n") and text.endswith("\n]\n"), "one object a line"
    assert len(events) == len(text.splitlines()) - 2, "one object a line"
    open_spans, last, seen = {}, -1.0, set()
    for k, e in enumerate(events):
        where = f"event {k}: {e}"
        for key, kind in (("name", str), ("ph", str), ("ts", (int, float)), ("pid", int),
                          ("tid", int), ("args", dict)):
            assert isinstance(e.get(key), kind), f"{key}: {where}"
        assert e["ph"] in "BEiCM", where
        seen.add((e["ph"], e["name"]))
        if e["ph"] == "M":
            continue
        assert isinstance(e.get("cat"), str), where
        assert e["ts"] >= last, f"time goes back: {where}"
        last = e["ts"]
        stack = open_spans.setdefault((e["pid"], e["tid"]), [])
        if e["ph"] == "B":
            stack.append(e["name"])
        elif e["ph"] == "E":
            assert stack and stack.pop() == e["name"], f"ends what did not begin last: {where}"
        elif e["ph"] == "i":
            assert e.get("s") == "p", where
        elif e["ph"] == "C":
            assert e["args"] and all(isinstance(v, (int, float)) for v in e["args"].values()), where
    for stack in open_spans.values():
        assert not stack, f"never ends: {stack}"
    for name in ("process_name", "thread_name", "thread_sort_index", "process_sort_index",
                 "global_rank", "clock_sync_timestamp_us"):
        assert ("M", name) in seen, f"no {name}"
    return seen


def main():
    for path in sys.argv[1:]:
        try:
            seen = check(path)
        except (AssertionError, ValueError) as error:
            print(f"{path}: {error}")
            return 1
        print(f"{path}: {len(seen)} kinds of events")
    return 0


if __name__ == "__main__":
    sys.exit(main())
