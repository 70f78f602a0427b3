"""report_page.py FILE.html RUN_FOLDER... - the page asks nothing of a network, its data are those of the logs."""
# SPDX-License-Identifier: Apache-2.0
import html.parser
import json
import math
import re
import sys

VOID = {"meta", "input", "br", "link", "img", "hr"}


class Page(html.parser.HTMLParser):
    """Elements with their attributes, what scripts and styles hold, and every element that was not closed."""

    def __init__(self):
        super().__init__()
        self.elements, self.open, self.texts, self.crossed = [], [], {}, []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop()[0] != tag:
            self.crossed.append(tag)

    def handle_data(self, text):
        if self.open and self.open[-1][0] in ("script", "style"):
            tag, attrs = self.open[-1]
            key = attrs.get("id") or tag
            self.texts.setdefault(key, []).append(text)


def series_of(folder):
    values = {}
    for line in open(f"{folder}/log.jsonl"):
        line = json.loads(line)
        if line["kind"] == "metrics":
            for name, value in line["values"].items():
                values.setdefault(name, []).append((line["batch"], value))
    return values


def check_media(run, folder):
    """Each table and image of the page is one of the log; the last of each name is there."""
    logged = {}
    for line in open(f"{folder}/log.jsonl"):
        line = json.loads(line)
        if line["kind"] in ("table", "images"):
            name = line["name"].removesuffix(f"_step_{line['batch']}")
            logged.setdefault((name, line["kind"]), {})[line["batch"]] = line
    shown = {}
    for m in run["media"]:
        key = (m["name"], "images" if "images" in m else "table")
        shown.setdefault(key, []).append(m["batch"])
        line = logged[key][m["batch"]]
        if line["kind"] == "images":
            assert m["images"] == line["images"][:64] and m["all"] == len(line["images"])
            for part in ("predicted", "expected"):
                assert m[part] == line.get(part, [])[:64], part
            assert m["masks"] == [{"name": k, "images": v} for k, v in line.get("masks", {}).items()]
        elif len(line["data"]) == len(line["columns"]) - 1:
            assert (m["columns"], m["rows"], m["data"]) == (line["columns"], len(line["data"]), line["data"])
        else:
            judge = line["columns"].index("correct") if "correct" in line["columns"] else None
            wrong = [r for r in line["data"][100:] if judge is not None and r[judge] is False]
            assert m["columns"] == line["columns"] and m["rows"] == len(line["data"])
            assert m["data"] == line["data"][:100] + wrong[:100], m["name"]
    assert set(shown) == set(logged), (shown.keys(), logged.keys())
    for name, batches in shown.items():
        assert batches == sorted(batches) and len(batches) == min(12, len(logged[name])), (name, batches)
        assert {batches[0], batches[-1]} == {min(logged[name]), max(logged[name])}, (name, batches)


def check_curve(curve, logged):
    points = list(zip(curve["x"], curve["y"]))
    assert curve["n"] == len(logged), (curve["name"], curve["n"], len(logged))
    if len(points) == len(logged):
        assert points == logged, curve["name"]
        return
    assert len(logged) > 2000 >= len(points) - 2, (len(logged), len(points))
    assert set(points) <= set(logged), curve["name"]  # no number that was not logged
    numbers = [v for _, v in logged if not isinstance(v, str)]
    shown = [v for _, v in points if not isinstance(v, str)]
    assert (min(numbers), max(numbers)) == (min(shown), max(shown)) == (curve["least"], curve["greatest"])
    assert points[0] == logged[0] and points[-1] == logged[-1], curve["name"]
    mean = sum(numbers) / len(numbers)
    assert math.isclose(sum(curve["m"]) / len(curve["m"]), mean, rel_tol=1e-2, abs_tol=1e-9), curve["name"]


text = open(sys.argv[1]).read()
page = Page()
page.feed(text)
assert not page.crossed and not page.open, (page.crossed, page.open)
for tag, attrs in page.elements:
    assert tag not in ("link", "iframe", "img", "object", "embed", "base"), tag
    for name, value in attrs.items():
        assert name not in ("src", "srcset", "data", "action", "background"), (tag, name)
        assert name != "href" or value.startswith("#"), value
        assert name == "onsubmit" or not name.startswith("on"), (tag, name)
style = "".join(page.texts["style"])
assert "url(" not in style and "@import" not in style
assert "sourceMappingURL" not in text
own = page.texts["script"][-1]
assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|innerHTML|outerHTML|insertAdjacentHTML|eval)\b", own)
policy = [a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
assert policy and policy[0].startswith("default-src 'none'"), policy

ids = {a["id"] for _, a in page.elements if "id" in a}
for _, attrs in page.elements:
    assert attrs.get("aria-labelledby", "title") in ids, attrs
    assert attrs.get("for", "title") in ids, attrs
    assert not attrs.get("href") or attrs["href"][1:] in ids, attrs
assert [t for t, _ in page.elements if t in ("h1", "main", "nav", "header")] == ["header", "h1", "nav", "main"]

raw = "".join(page.texts["data"])
assert "<" not in raw
data = json.loads(raw)
assert len(data["runs"]) == len(sys.argv) - 2, len(data["runs"])
for run, folder in zip(data["runs"], sys.argv[2:]):
    assert run["folder"] == folder, (run["folder"], folder)
    record = json.load(open(f"{folder}/record.json"))
    assert run["name"] == record["name"]
    logged = series_of(folder)
    assert {s["name"] for s in run["series"]} == set(logged), set(logged) ^ {s["name"] for s in run["series"]}
    for curve in run["series"]:
        check_curve(curve, logged[curve["name"]])
    check_media(run, folder)
    assert run["memory"] == record.get("memory")
    for row in run["timeline"]["rows"]:
        assert sum(c[1] for c in row["cells"]) == row["ran"] <= row["asked"] == sum(c[2] for c in row["cells"])
        assert all(0 <= c[0] < run["timeline"]["bins"] for c in row["cells"])
print(f"{len(data['runs'])} runs, {sum(len(r['series']) for r in data['runs'])} curves")
