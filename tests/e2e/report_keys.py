"""report_keys.py CHROMIUM FILE.html FOLDER - a report by keyboard alone, as a screen reader has it, and to the eye: light,
dark and narrow.  Screenshots go into FOLDER."""
# SPDX-License-Identifier: Apache-2.0
import atexit
import os
import sys

from chromium import Browser

program, page, folder = sys.argv[1:]
browser = Browser(program, os.path.join(folder, "profile"))
atexit.register(browser.close)
ADDRESS = "file://" + os.path.abspath(page)
faults = []


def hold(what, true, *more):
    print("ok:" if true else "FAILED:", what, *(more if not true else ()))
    if not true:
        faults.append(what)


# Who has the focus: what it is, whether it is in sight, and whether the eye can tell.
FOCUSED = """(() => {
  const e = document.activeElement, r = e.getBoundingClientRect(), s = getComputedStyle(e);
  const all = [...document.querySelectorAll("*")], head = document.querySelector("header");
  const covered = getComputedStyle(head).position === "sticky" && !head.contains(e) && !e.matches(".skip") ? head.getBoundingClientRect().bottom : 0;
  return {place: e === document.body ? -1 : all.indexOf(e), what: e.tagName.toLowerCase() + (e.id ? "#" + e.id : ""),
          seen: r.bottom > covered && (r.top >= covered - 1 || r.height > innerHeight - covered) && r.right > 0 && r.top < innerHeight && r.left < innerWidth && r.width > 0,
          marked: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2};
})()"""
# Places of all that a keyboard has to reach.
REACHABLE = """(() => {
  const all = [...document.querySelectorAll("*")];
  return all.filter((e) => e.matches("a[href], button, input, select, summary, [tabindex='0']") && !e.disabled && e.checkVisibility()).map((e) => all.indexOf(e));
})()"""


def focus():
    return browser.ask(FOCUSED)


def walk(width, height):
    """Through the page by Tab, and back."""
    browser.show(ADDRESS, width, height)
    want, unseen, unmarked = browser.ask(REACHABLE), [], []

    def step(shift=False):
        browser.press("Tab", shift)
        now = focus()
        if now["place"] >= 0:
            unseen.extend([] if now["seen"] else [now["what"]])
            unmarked.extend([] if now["marked"] else [now["what"]])
        return now["place"]

    hold(f"{width} pixels: Tab reaches all that can be used, in the order of the page", [step() for _ in want] == want)
    hold(f"{width} pixels: and leaves it", step() in (-1, want[0]))  # to the browser, or around
    browser.ask(f"document.querySelectorAll('*')[{want[-1]}].focus()")
    hold(f"{width} pixels: Shift and Tab lead back", [step(True) for _ in want[1:]] == want[-2::-1])
    hold(f"{width} pixels: what has the focus is in sight", not unseen, unseen)
    hold(f"{width} pixels: and marked", not unmarked, unmarked)


def by_keyboard():
    browser.show(ADDRESS, 1280, 900)
    browser.press("Tab")
    first = focus()
    hold("the first key leads to the link past the navigation, which is then in sight", first["what"] == "a" and first["seen"] and browser.ask("document.activeElement.className === 'skip'"), first)
    browser.press("Enter")
    hold("which leads to the runs", browser.ask("location.hash === '#runs'"))

    walk(320, 700)
    walk(1280, 900)

    def at(selector):
        browser.ask(f"document.querySelector({selector!r}).focus()")

    at("#runs-table input")
    browser.press(" ")
    hold("the space bar hides a run", browser.ask("state.hidden.size === 1 && !document.activeElement.checked"))
    browser.press(" ")
    at("#smooth")
    browser.press("ArrowRight")
    hold("arrows smooth", browser.ask("$('smooth-out').textContent === '0.01'"))
    at("#theme")
    before = browser.ask("state.theme")
    browser.press("Enter")
    hold("Enter changes the colours", browser.ask("state.theme") != before)
    at("figure canvas")
    browser.press("+")
    zoomed = browser.ask("state.zoom") or [0, 0]
    hold("+ looks closer", zoomed[1] > zoomed[0] and not browser.ask("$('reset').disabled"))
    said = browser.ask("$('range').textContent")
    hold("and the range is told", str(round(zoomed[0])) in said and said.startswith("batch "), said, zoomed)
    browser.press("ArrowRight")
    moved = browser.ask("state.zoom") or [0, 0]
    hold("an arrow moves", moved[0] > zoomed[0] and abs((moved[1] - moved[0]) - (zoomed[1] - zoomed[0])) < 1e-6)
    browser.press("0")
    hold("0 shows all again, and it is told", browser.ask("state.zoom === null && $('range').textContent === ''"))
    hold("the chart still has the focus", browser.ask("document.activeElement.tagName === 'CANVAS'"))
    at("figure summary")
    browser.press("Enter")
    hold("Enter opens a table beside a chart", browser.ask("document.activeElement.parentNode.open && document.activeElement.parentNode.querySelector('td').checkVisibility()"))
    at("#filter")
    count = browser.ask("document.querySelectorAll('#charts figure').length")
    browser.type("loss/train")
    few = browser.ask("document.querySelectorAll('#charts figure').length")
    hold("a filter leaves the charts that it names", 0 < few < count, few, count)
    hold("and tells how many", browser.ask("$('filter-out').textContent").startswith(f"{few} of "), browser.ask("$('filter-out').textContent"))


def property_of(node, name):
    return next((p["value"].get("value") for p in node.get("properties", ()) if p["name"] == name), None)


def as_read_aloud():
    """The accessibility tree, which a screen reader gets."""
    browser.show(ADDRESS, 1280, 900)
    nodes = [n for n in browser.send("Accessibility.getFullAXTree")["nodes"] if not n["ignored"]]
    role = lambda n: n["role"]["value"]
    name = lambda n: n.get("name", {}).get("value", "").strip()
    of = lambda *roles: [n for n in nodes if role(n) in roles]
    hold("the page has a title and a language", name(of("RootWebArea")[0]) and browser.ask("document.documentElement.lang === 'en'"))
    hold("one of each landmark", all(len(of(r)) == 1 for r in ("banner", "navigation", "main", "contentinfo")), {r: len(of(r)) for r in ("banner", "navigation", "main", "contentinfo")})
    nameless = [role(n) for n in nodes if property_of(n, "focusable") and role(n) != "RootWebArea" and not name(n)]
    hold("all that can have the focus has a name", not nameless, nameless)
    hold("pictures and charts have words", of("image", "img") and all(name(n) for n in of("image", "img")))
    levels = [property_of(n, "level") for n in of("heading")]
    hold("headings have names, begin with the first level and leave none out", all(name(n) for n in of("heading")) and levels[0] == 1 and levels.count(1) == 1 and all(b <= a + 1 for a, b in zip(levels, levels[1:])), levels)
    shown = browser.ask("[...document.querySelectorAll('main > section:not([hidden])')].map((s) => s.querySelector('h2').textContent)")
    regions = [name(n) for n in of("region")]
    hold("sections are regions with their headings' names", all(h in regions for h in shown), shown, regions)
    bare = browser.ask("[...document.querySelectorAll('table')].filter((t) => t.checkVisibility() && (!t.querySelector('th[scope=col]') || !t.querySelector('th[scope=row]')) && !t.querySelector('td[colspan], .answer')).length")
    hold("tables have heads for rows and columns", of("table") and of("columnheader") and of("rowheader") and bare == 0, bare)
    hold("colours are told in words too: the marks of runs are silent", browser.ask("[...document.querySelectorAll('.swatch')].every((s) => s.getAttribute('aria-hidden') === 'true')"))
    hold("charts say which keys they have", browser.ask("[...document.querySelectorAll('#charts canvas')].every((c) => document.getElementById(c.getAttribute('aria-describedby')).textContent.includes('keyboard'))"))
    live = [n for n in of("status")]
    hold("what changes is told: range and filter are of role status", len(live) >= 2, len(live))


# The least contrast of any text in sight with what is behind it; text that is large may have less.
CONTRAST = """(() => {
  const parse = (c) => { const v = c.match(/[\\d.]+/g).map(Number); return v.length < 4 ? [...v, 1] : v; };
  const over = (top, under) => [0, 1, 2].map((k) => top[k] * top[3] + under[k] * (1 - top[3]));
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const text = [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join("");
    if (!text || !e.checkVisibility() || ["SCRIPT", "STYLE", "NOSCRIPT", "OPTION"].includes(e.tagName) || e.disabled) continue;
    const layers = [];
    for (let p = e; p; p = p.parentElement) layers.push(parse(getComputedStyle(p).backgroundColor));
    let behind = [255, 255, 255];
    for (const l of layers.reverse()) behind = over(l, behind);
    const s = getComputedStyle(e), a = light(over(parse(s.color), behind)), b = light(behind);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), large = parseFloat(s.fontSize) >= 24 || (parseFloat(s.fontSize) >= 18.7 && Number(s.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(text.slice(0, 40) + " " + ratio.toFixed(2));
  }
  return found;
})()"""
# Of a picture of the page: how light its corner is, and which of the runs' colours are in it.
PIXELS = """(async (data) => {
  const image = new Image();
  image.src = "data:image/png;base64," + data;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width;
  canvas.height = image.height;
  const paint = canvas.getContext("2d");
  paint.drawImage(image, 0, 0);
  const all = paint.getImageData(0, 0, image.width, image.height).data, plots = [...document.querySelectorAll("#charts canvas")].map((c) => c.getBoundingClientRect());
  const seen = runs.map(() => 0), wanted = runs.map((r, k) => colour(k).match(/[0-9a-f]{2}/g).map((h) => parseInt(h, 16)));
  for (const p of plots)
    for (let y = Math.max(0, Math.round(p.top)); y < Math.min(image.height, p.bottom); y++)
      for (let x = Math.round(p.left); x < Math.min(image.width, p.right); x++) {
        const at = 4 * (y * image.width + x);
        wanted.forEach((w, k) => { if (w.every((v, c) => Math.abs(v - all[at + c]) < 6)) seen[k]++; });
      }
  return {corner: (all[0] + all[1] + all[2]) / 3, width: image.width, seen};
})"""


def to_the_eye():
    for theme in ("light", "dark"):
        browser.show(ADDRESS, 1280, 900, theme)
        pale = browser.ask(CONTRAST)
        hold(f"{theme}: texts stand out from what is behind them", not pale, pale)
        browser.picture(os.path.join(folder, f"top-{theme}.png"))
        browser.ask("document.getElementById('curves').scrollIntoView()")
        browser.wait("[...charts].filter((c) => c.visible).every((c) => c.chart && !c.dirty) && [...charts].some((c) => c.visible)")
        browser.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
        seen = browser.ask(PIXELS + f"({browser.picture(os.path.join(folder, f'curves-{theme}.png'))!r})")
        hold(f"{theme}: the screenshot has its background", seen["width"] == 1280 and (seen["corner"] > 200) == (theme == "light"), seen)
        hold(f"{theme}: and a curve of each run", all(n > 20 for n in seen["seen"]), seen)
    browser.show(ADDRESS, 320, 700)
    wide = browser.ask("document.documentElement.scrollWidth")
    browser.picture(os.path.join(folder, "narrow.png"))
    hold("on 320 pixels nothing has to be scrolled sideways but tables", wide <= 320, wide)


by_keyboard()
as_read_aloud()
to_the_eye()
sys.exit(1 if faults else 0)
