// report.js - draws a report out of the data in its page; nothing is asked of a network.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const runs = data.runs;
const $ = (id) => document.getElementById(id);
const PALETTE = {
  light: ["#2557c7", "#d1570c", "#13806b", "#a2339c", "#8a6d00", "#c2185b", "#0f7fa8", "#5d4bb7", "#4f7a1c", "#6d4c41"],
  dark: ["#82aaff", "#ffa45c", "#4fd6b8", "#e08be6", "#e6cf5a", "#ff8ab5", "#63cdf5", "#b5a6ff", "#a8d86b", "#cbb1a4"],
};
const DASHES = [[], [6, 3], [2, 2]];
const state = { axis: "x", smooth: 0, log: false, zoom: null, hidden: new Set(), theme: "light" };
const charts = new Set();

// element("td", {class: "num"}, "text", child ...): texts never become markup.
function element(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) if (value !== null && value !== false) e.setAttribute(key, value === true ? "" : value);
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = (k) => PALETTE[state.theme][k % 10];
const dash = (k) => DASHES[Math.floor(k / 10) % DASHES.length];
const label = (k) => (runs.filter((r) => r.name === runs[k].name).length > 1 ? runs[k].folder : runs[k].name);

function number(v) {
  if (v === null || v === undefined) return "–";
  if (typeof v !== "number") return String(v);
  const a = Math.abs(v);
  if (a !== 0 && (a >= 1e7 || a < 1e-4)) return v.toExponential(3);
  return String(Number(v.toPrecision(6)));
}
function duration(s) {
  if (s < 10) return s.toFixed(1) + " s";
  if (s < 60) return Math.round(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + Math.round(s % 60) + " s";
  return Math.floor(s / 3600) + " h " + Math.floor((s / 60) % 60) + " min";
}
const date = (s) => new Date(s * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC";

// ---- tables ----

function head(table, titles) {
  table.append(element("thead", null, element("tr", null, ...titles.map((t) => element("th", { scope: "col", class: t.num ? "num" : null }, t.text || t)))));
  return table.appendChild(element("tbody"));
}

function swatch(k) {
  const s = element("span", { class: "swatch", "aria-hidden": "true", "data-run": k });
  s.style.borderTopColor = colour(k);
  s.style.borderTopStyle = dash(k).length ? (dash(k)[0] > 3 ? "dashed" : "dotted") : "solid";
  return s;
}

function runsTable() {
  const body = head($("runs-table"), ["Run", "Status", "Started", { text: "Duration", num: true }, { text: "Batches", num: true }, "Best", "Machine", "Folder"]);
  runs.forEach((r, k) => {
    const box = element("input", { type: "checkbox", checked: true, "aria-label": "Show " + label(k) + " in the charts" });
    box.addEventListener("change", () => { box.checked ? state.hidden.delete(k) : state.hidden.add(k); refresh(); });
    const status = element("td"), seconds = element("td", { class: "num" }), batches = element("td", { class: "num" }), best = element("td");
    r.fillRow = () => {
      status.replaceChildren(element("span", { class: "state " + r.status }, r.status), ...(r.error ? [element("div", { class: "none" }, r.error)] : []));
      seconds.textContent = duration(r.seconds);
      batches.textContent = r.batches;
      best.replaceChildren(r.metric === null ? element("span", { class: "none" }, "–") : element("span", null, number(r.best) + " ", element("span", { class: "none" }, r.metric)));
    };
    r.fillRow();
    body.append(element("tr", null,
      element("th", { scope: "row" }, box, swatch(k), r.name), status,
      element("td", null, date(r.started)), seconds, batches, best,
      element("td", { title: r.machine || "" }, (r.host || "") + (r.machine ? ", " + r.machine.split(",").slice(0, 2).join(",") : "")),
      element("td", null, r.folder)));
  });
}

function warningsTable() {
  const all = runs.flatMap((r, k) => r.messages.filter((m) => m.level === "warning" || m.level === "error").map((m) => ({ k, m })));
  if (!all.length) return;
  $("warnings").hidden = false;
  const body = head($("warnings-table"), ["Run", "Level", { text: "Batch", num: true }, "From", "Message"]);
  for (const { k, m } of all)
    body.append(element("tr", null, element("th", { scope: "row" }, swatch(k), runs[k].name), element("td", { class: m.level }, m.level),
      element("td", { class: "num" }, String(m.batch)), element("td", null, m.component), element("td", { class: "wrap" }, m.text)));
}

function settingsTable() {
  const several = runs.length > 1;
  $("same-label").hidden = !several;
  const show = () => {
    const table = $("settings-table");
    table.replaceChildren();
    const rows = data.settings.filter((s) => !several || s.differs || $("same").checked);
    const body = head(table, ["Setting", ...runs.map((r, k) => ({ text: label(k) }))]);
    if (!rows.length) body.append(element("tr", null, element("td", { colspan: runs.length + 1, class: "none" }, "The runs have the same settings.")));
    for (const s of rows)
      body.append(element("tr", null, element("th", { scope: "row" }, s.path),
        ...s.values.map((v) => element("td", { class: v === null ? "none" : s.differs && several ? "differs" : null }, v === null ? "–" : v.length > 90 ? v.slice(0, 87) + "…" : v))));
  };
  $("same").addEventListener("change", show);
  show();
}

// ---- curves ----

// An exponential mean whose beginning is not drawn to zero; gaps stay.
function smooth(y, weight) {
  let mean = 0, sum = 0;
  return y.map((v) => {
    if (typeof v !== "number") return v;
    mean = mean * weight + v;
    sum = sum * weight + 1;
    return mean / sum;
  });
}

// Of the points in sight the least and the greatest of every pixel.
function decimate(xs, ys, from, to, pixels) {
  let a = 0, b = xs.length;
  while (a + 1 < xs.length && xs[a + 1] < from) a++;
  while (b > a + 1 && xs[b - 2] > to) b--;
  const point = (i) => ({ x: xs[i], y: typeof ys[i] === "number" ? ys[i] : NaN });
  const columns = Math.max(1, Math.floor(pixels)), out = [], per = (b - a) / columns;
  if (per <= 2) { for (let i = a; i < b; i++) out.push(point(i)); return out; }
  for (let p = 0; p < columns; p++) {
    const first = Math.floor(a + p * per), last = Math.min(b, Math.floor(a + (p + 1) * per));
    let low = -1, high = -1;
    for (let i = first; i < last; i++) {
      if (typeof ys[i] !== "number") continue;
      if (low < 0 || ys[i] < ys[low]) low = i;
      if (high < 0 || ys[i] > ys[high]) high = i;
    }
    if (low < 0) { if (first < last) out.push(point(first)); continue; }
    out.push(point(Math.min(low, high)));
    if (low !== high) out.push(point(Math.max(low, high)));
  }
  return out;
}

// The same of a series that was drawn so before: moving the smoothing changes the means alone.
function decimated(s, xs, from, to, pixels) {
  const key = [state.axis, s.y.length, from, to, pixels].join();
  if (s.drawnKey !== key) {
    s.drawnKey = key;
    s.drawn = decimate(xs, s.y, from, to, pixels);
  }
  return s.drawn;
}

function rangeOf(series) {
  let from = Infinity, to = -Infinity;
  series.forEach((s, k) => {
    const xs = s && s[state.axis];
    if (!xs || !xs.length || state.hidden.has(k)) return;
    from = Math.min(from, xs[0]);
    to = Math.max(to, xs[xs.length - 1]);
  });
  return from > to ? [0, 1] : from === to ? [from - 0.5, to + 0.5] : [from, to];
}

function datasets(series, pixels, [from, to]) {
  const sets = [];
  series.forEach((s, k) => {
    if (!s || state.hidden.has(k)) return;
    const xs = s[state.axis], weight = state.smooth / 100, line = { label: label(k), borderColor: colour(k), borderDash: dash(k), run: k };
    const single = xs.length === 1;
    if (!weight || xs.length < 3) {
      sets.push({ ...line, borderWidth: 1.7, pointRadius: single ? 4 : xs.length < 25 ? 2.5 : 0, pointBackgroundColor: colour(k), data: decimated(s, xs, from, to, pixels) });
      return;
    }
    const means = s.m, mx = means ? s["m" + state.axis] : xs;
    // Behind the means a column of two pixels is enough for the eye, and for them one of three.
    sets.push({ ...line, label: "", borderColor: colour(k) + "38", borderDash: [], borderWidth: 1, data: decimated(s, xs, from, to, pixels / 2) });
    sets.push({ ...line, borderWidth: 2.2, data: decimate(mx, smooth(means || s.y, weight), from, to, pixels / 3) });
  });
  return sets;
}

function options(title) {
  const ink = css("--soft"), grid = css("--grid");
  return {
    responsive: true, maintainAspectRatio: false, animation: false, parsing: false, normalized: true,
    interaction: { mode: "nearest", axis: "x", intersect: false },
    elements: { point: { radius: 0, hitRadius: 6 }, line: { tension: 0 } },
    scales: {
      x: { type: "linear", ticks: { color: ink, maxRotation: 0, autoSkipPadding: 18, callback: (v) => (state.axis === "t" ? duration(v) : v.toLocaleString("en")) }, grid: { color: grid }, border: { color: grid } },
      y: { type: state.log ? "logarithmic" : "linear", ticks: { color: ink, maxTicksLimit: 7, callback: (v) => number(v) }, grid: { color: grid } },
    },
    plugins: {
      legend: { display: false },
      tooltip: {
        filter: (item, i, all) => item.dataset.label !== "" && all.findIndex((o) => o.dataset.run === item.dataset.run && o.dataset.label !== "") === i,
        itemSort: (a, b) => b.parsed.y - a.parsed.y,
        callbacks: {
          title: (items) => (items.length ? (state.axis === "t" ? duration(items[0].parsed.x) : "batch " + items[0].parsed.x.toLocaleString("en")) : title),
          label: (item) => " " + item.dataset.label + "  " + number(item.parsed.y),
          labelColor: (item) => ({ borderColor: item.dataset.borderColor, backgroundColor: item.dataset.borderColor }),
        },
      },
    },
  };
}

function setZoom(zoom) {
  state.zoom = zoom;
  $("reset").disabled = !zoom;
  const ends = zoom && zoom.map((v) => (state.axis === "t" ? duration(Math.max(0, v)) : String(Math.round(v))));
  $("range").textContent = zoom ? (state.axis === "t" ? "" : "batch ") + ends[0] + " to " + ends[1] : "";
  refresh();
}

// Drags, double clicks and keys of a chart.
function zoomable(canvas, box, chart, whole) {
  let start = null, band = null;
  const at = (event) => Math.max(chart().chartArea.left, Math.min(chart().chartArea.right, event.offsetX));
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    start = at(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (start === null) return;
    if (!band) band = box.appendChild(element("div", { class: "band" }));
    band.style.left = Math.min(start, at(event)) + "px";
    band.style.width = Math.abs(at(event) - start) + "px";
  });
  const end = (event) => {
    const x = chart().scales.x, from = start, to = start === null ? null : at(event);
    if (band) band.remove();
    start = band = null;
    if (from !== null && Math.abs(to - from) > 5) setZoom([x.getValueForPixel(Math.min(from, to)), x.getValueForPixel(Math.max(from, to))]);
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", () => { if (band) band.remove(); start = band = null; });
  canvas.addEventListener("dblclick", () => setZoom(null));
  canvas.addEventListener("keydown", (event) => {
    const [a, b] = state.zoom || whole(), w = b - a;
    const to = { "+": [a + w / 4, b - w / 4], "=": [a + w / 4, b - w / 4], "-": [a - w / 2, b + w / 2], ArrowLeft: [a - w / 4, b - w / 4], ArrowRight: [a + w / 4, b + w / 4], 0: null, Escape: null }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    setZoom(to);
  });
}

function summary(name) {
  const table = element("table");
  const body = head(table, ["Run", { text: "values", num: true }, { text: "first", num: true }, { text: "last", num: true }, { text: "least", num: true }, { text: "greatest", num: true }]);
  const details = element("details", null, element("summary", null, "Table of " + name), table);
  details.fill = (series) => {
    body.replaceChildren();
    series.forEach((s, k) => {
      if (s) body.append(element("tr", null, element("th", { scope: "row" }, swatch(k), runs[k].name), ...[s.n, s.y[0], s.y[s.y.length - 1], s.least, s.greatest].map((v) => element("td", { class: "num" }, number(v)))));
    });
  };
  return details;
}

function figure(name) {
  const series = runs.map((r) => r.byName.get(name) || null);
  const canvas = element("canvas", { tabindex: "0", role: "img", "aria-describedby": "chart-keys" });
  const box = element("div", { class: "plot" }, canvas), table = summary(name);
  const fig = element("figure", { "data-name": name }, element("h3", null, name), box, table);
  const entry = { chart: null, canvas, series, dirty: true, visible: false };
  entry.tell = () => {
    canvas.setAttribute("aria-label", name + " over the batch: " + series.map((s, k) => (s ? label(k) + " ends at " + number(s.y[s.y.length - 1]) : "")).filter(Boolean).join("; "));
    table.fill(series);
  };
  entry.tell();
  entry.draw = () => {
    entry.dirty = false;
    const pixels = Math.max(200, Math.round(box.clientWidth)), range = state.zoom || rangeOf(series), sets = datasets(series, pixels, range), o = options(name);
    o.scales.x.min = range[0];
    o.scales.x.max = range[1];
    if (entry.chart) { entry.chart.options = o; entry.chart.data.datasets = sets; entry.chart.update("none"); return; }
    entry.chart = new Chart(canvas, { type: "line", data: { datasets: sets }, options: o });
  };
  zoomable(canvas, box, () => entry.chart, () => rangeOf(series));
  charts.add(entry);
  canvas.entry = entry;
  watcher.observe(canvas);
  return fig;
}

// Charts are drawn when they come into sight, and again then when something has changed.
const watcher = new IntersectionObserver((seen) => {
  for (const s of seen) {
    const entry = s.target.entry;
    entry.visible = s.isIntersecting;
    if (entry.visible && entry.dirty) entry.draw();
  }
}, { rootMargin: "300px" });

let pending = false;
function refresh() {
  for (const c of charts) c.dirty = true;
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    for (const c of charts) if (c.visible) c.draw();
  });
}

const GROUPS = [
  ["Loss, metrics, learning rate", /^(loss|metrics)\/|^lr/, true], ["Throughput", /^throughput\//, false], ["Algorithms", /^[a-z_]+\/(?!.*\.)[a-z_]+$/, false], ["Gradients and weights", /^(l2_norm|activations|moment|cosine|layer_grad)/, false], ["Other", /./, false],
];
// Within a group: losses, metrics of evaluations, of training, the others.
const RANKS = [/^loss\//, /^metrics\/(?!train\/)/, /^metrics\/train\//, /./];
const rank = (name) => RANKS.findIndex((pattern) => pattern.test(name));
const isSystem = (name) => /^(cpu|disk|network|gpu|swap|memory|device|time)[_/]/.test(name);

function groupOf(name) {
  return GROUPS.find(([, pattern]) => pattern.test(name))[0];
}

function addGroup(parent, title, names, open) {
  const grid = element("div", { class: "grid" });
  const group = element("details", { class: "group", open }, element("summary", null, title, element("span", null, names.length === 1 ? "1 chart" : names.length + " charts")), grid);
  const fill = () => { if (group.open && !grid.firstChild) grid.append(...names.map(figure)); };
  group.addEventListener("toggle", fill);
  parent.append(group);
  fill();
}

function allCurves() {
  const names = [...new Set(runs.flatMap((r) => r.series.map((s) => s.name)))], filter = $("filter").value.trim().toLowerCase();
  const shown = names.filter((n) => !filter || n.toLowerCase().includes(filter));
  for (const c of charts) { watcher.unobserve(c.canvas); if (c.chart) c.chart.destroy(); }
  charts.clear();
  $("filter-out").textContent = filter ? shown.length + " of " + names.length : "";
  $("charts").replaceChildren();
  $("system-charts").replaceChildren();
  for (const [title, , open] of GROUPS) {
    const of = shown.filter((n) => !isSystem(n) && groupOf(n) === title).sort((a, b) => rank(a) - rank(b));
    if (of.length) addGroup($("charts"), title, of, open || Boolean(filter));
  }
  if (!names.length) $("charts").append(element("p", { class: "none" }, "The runs have no log: the logger jsonl among the \"loggers\" of a run file writes one."));
  else if (!shown.length) $("charts").append(element("p", { class: "none" }, "No curve has this in its name."));
  const system = shown.filter(isSystem);
  $("system").hidden = !system.length;
  for (const [title, pattern, open] of [["Memory", /^memory\//, true], ["Processor", /^cpu/, false], ["Clocks", /^time\//, false], ["Other", /./, false]]) {
    const of = system.filter((n) => pattern.test(n) && (title !== "Other" || !/^(memory\/|cpu|time\/)/.test(n)));
    if (of.length) addGroup($("system-charts"), title, of, open || Boolean(filter));
  }
}

// ---- what algorithms did ----

function lane(row, bins) {
  const canvas = element("canvas", { width: bins, height: "1", role: "img", "aria-label": row.algorithm + " at " + row.event + ": ran " + row.ran + " of " + row.asked + " times" });
  const paint = canvas.getContext("2d");
  canvas.repaint = () => {
    paint.clearRect(0, 0, bins, 1);
    for (const [bin, ran, asked] of row.cells) {
      paint.fillStyle = "rgba(" + css("--cell") + "," + (ran ? 0.35 + 0.65 * (ran / asked) : 0.08) + ")";
      paint.fillRect(bin, 0, 1, 1);
    }
  };
  canvas.style.imageRendering = "pixelated";
  canvas.repaint();
  const time = row.us > 0 ? ", " + number(Number((row.us / Math.max(1, row.ran)).toPrecision(3))) + " µs a call" : "";
  return element("div", { class: "lane" }, element("div", { class: "who" }, row.algorithm, element("span", null, row.event)), canvas,
    element("div", { class: "much" }, row.ran + " of " + row.asked + time));
}

function timelines() {
  runs.forEach((r, k) => {
    if (!r.timeline.rows.length) return;
    $("algorithms").hidden = false;
    $("timelines").append(element("div", { class: "lanes" }, element("h3", null, swatch(k), label(k)),
      ...r.timeline.rows.map((row) => lane(row, r.timeline.bins)),
      element("div", { class: "lane" }, element("div"), element("div", { class: "scale" }, element("span", null, "batch 0"), element("span", null, "batch " + r.timeline.last)), element("div", { class: "much" }, "ran of asked"))));
  });
}

function stepParts() {
  runs.forEach((r, k) => {
    if (!r.profile.length) return;
    $("time").hidden = false;
    const most = Math.max(...r.profile.map((p) => p.self)), total = r.profile.reduce((s, p) => s + p.self, 0);
    const table = element("table"), body = head(table, ["Part", { text: "Calls", num: true }, { text: "ms a call", num: true }, { text: "own time, ms", num: true }, { text: "share", num: true }, ""]);
    for (const p of r.profile) {
      const bar = element("i");
      bar.style.width = (100 * p.self) / most + "%";
      body.append(element("tr", null, element("th", { scope: "row" }, p.name), ...[p.count, p.total / p.count / 1000, p.self / 1000].map((v) => element("td", { class: "num" }, number(Number(v.toPrecision(4))))),
        element("td", { class: "num" }, ((100 * p.self) / total).toFixed(1) + " %"), element("td", { "aria-hidden": "true" }, element("div", { class: "bar" }, bar))));
    }
    $("parts").append(element("h3", null, swatch(k), label(k)), element("p", { class: "hint" }, "Of the " + (r.profile.find((p) => p.name === "event/batch") || { count: 0 }).count + " batches that the profiler recorded; own time is without that of the parts inside."), element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Step time of " + label(k) }, table));
  });
}

// ---- memory ----

const MEMORY = [["weights", "weights"], ["gradients", "gradients"], ["optimizer", "optimizer state"], ["buffers", "buffers, such as running means"], ["halves", "copies of weights in low precision"], ["results", "results of forward and backward pass"]];

function bytes(v) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let k = 0;
  while (v >= 1024 && k < units.length - 1) { v /= 1024; k++; }
  return (k ? v.toFixed(v < 10 ? 2 : 1) : v) + " " + units[k];
}

function memoryTable(title, rows, all, name) {
  const table = element("table"), body = head(table, [title, { text: "Size", num: true }, { text: "share", num: true }, ""]);
  for (const [part, size] of rows) {
    const bar = element("i");
    bar.style.width = (100 * size) / (rows[0] ? Math.max(...rows.map((r) => r[1])) : 1) + "%";
    body.append(element("tr", null, element("th", { scope: "row" }, part), element("td", { class: "num" }, bytes(size)), element("td", { class: "num" }, ((100 * size) / all).toFixed(1) + " %"), element("td", { "aria-hidden": "true" }, element("div", { class: "bar" }, bar))));
  }
  return element("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": name }, table);
}

function memoryParts() {
  runs.forEach((r, k) => {
    if (!r.memory) return;
    $("memory").hidden = false;
    const parts = MEMORY.map(([key, text]) => [text, r.memory[key] || 0]).filter((p) => p[1] > 0), all = parts.reduce((s, p) => s + p[1], 0);
    const modules = r.memory.modules.map((m) => [m.name || "none of a module", m.bytes]);
    $("memory-parts").append(element("h3", null, swatch(k), label(k)), element("p", { class: "hint" }, bytes(all) + " that a training step takes on one process. At its fullest " + bytes(r.memory.peak) + " of the results are in use, by these modules:"),
      element("div", { class: "grid tops" }, memoryTable("Part", parts, all, "Memory of " + label(k)), memoryTable("Module", modules, r.memory.peak, "Memory of the modules of " + label(k))));
  });
}

// ---- the page ----

function setTheme(theme) {
  state.theme = theme;
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = theme === "dark" ? "Light" : "Dark";
  document.querySelectorAll(".swatch").forEach((s) => { s.style.borderTopColor = colour(Number(s.dataset.run)); });
  document.querySelectorAll(".lane canvas, canvas.matrix").forEach((c) => c.repaint());
  refresh();
}

// Links to the sections that are there; those that stand already stay.
function fillNav() {
  let before = null;
  for (const section of document.querySelectorAll("main > section:not([hidden])")) {
    const title = section.querySelector("h2"), link = $("nav").querySelector('[href="#' + section.id + '"]') || element("a", { href: "#" + section.id }, title.dataset.short || title.textContent);
    if (!link.parentNode) $("nav").insertBefore(link, before ? before.nextSibling : $("nav").firstChild);
    before = link;
  }
}

function controls() {
  $("smooth").addEventListener("input", () => { state.smooth = Number($("smooth").value); $("smooth-out").textContent = state.smooth ? (state.smooth / 100).toFixed(2) : "off"; refresh(); });
  $("axis").addEventListener("change", () => { state.axis = $("axis").value; setZoom(null); });
  $("log").addEventListener("change", () => { state.log = $("log").checked; refresh(); });
  $("filter").addEventListener("input", allCurves);
  $("reset").addEventListener("click", () => setZoom(null));
  $("theme").addEventListener("click", () => setTheme(state.theme === "dark" ? "light" : "dark"));
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", () => setTheme(system.matches ? "dark" : "light"));
  setTheme(system.matches ? "dark" : "light");
}

for (const r of runs) r.byName = new Map(r.series.map((s) => [s.name, s]));
const title = runs.length === 1 ? runs[0].name : runs.length + " runs";
document.title = title + " – training report";
$("title").textContent = title;
$("subtitle").textContent = "Report of " + date(data.generated) + ", tutti " + data.version;
$("footer").textContent = "Made by tutti " + data.version + ". This page is one file and asks nothing of a network.";
runsTable();
warningsTable();
settingsTable();
timelines();
stepParts();
memoryParts();
media();
texts();
controls();
allCurves();
fillNav();
document.documentElement.dataset.ready = "true";
