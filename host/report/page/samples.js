// samples.js - what a run has shown of its data: images with their classes, tables of answers, confusion matrices, texts.
"use strict";

const PNG = /^[A-Za-z0-9+/]+={0,2}$/;
const MATRIX_MOST = 40; // classes that have cells of their own; above, the matrix is a picture

// A picture of the log; null where the text is none.
function picture(base64, media, text) {
  if (!PNG.test(base64 || "")) return null;
  const img = element("img", { src: "data:image/png;base64," + base64, alt: text, loading: "lazy" });
  const scale = Math.max(1, Math.min(Math.round(112 / Math.max(media.width, media.height, 1)), 8));
  img.style.width = media.width * scale + "px";
  return img;
}

function images(media) {
  const called = (c) => (c < 0 ? "unknown" : media.classes && media.classes[c] !== undefined ? media.classes[c] : "class " + c);
  const grid = element("div", { class: "pictures" });
  media.images.forEach((base64, k) => {
    const said = media.predicted[k], right = media.expected[k], answered = said !== undefined && right !== undefined && right >= 0;
    const words = answered ? (said === right ? "right: " + called(said) : "wrong: " + called(said) + ", it is " + called(right)) : said !== undefined ? "predicted: " + called(said) : "";
    const img = picture(base64, media, "Sample " + k + (words ? ", " + words : ""));
    if (!img) return;
    const masks = media.masks.map((m) => element("figure", { class: "mask" }, picture(m.images[k], media, m.name + " of sample " + k), element("figcaption", null, m.name)));
    grid.append(element("figure", { class: "picture" }, element("div", { class: "side" }, img, ...masks),
      answered ? element("figcaption", { class: said === right ? "good" : "bad" }, (said === right ? "✓ " : "✗ ") + called(said), said === right ? null : element("span", null, "it is " + called(right))) : element("figcaption", null, words || "sample " + k)));
  });
  const more = media.all > media.images.length ? element("p", { class: "hint" }, "The first " + media.images.length + " of " + media.all + " images.") : null;
  return element("div", null, grid, more);
}

// A table whose columns behind the first are its rows: how often one class is taken for another.
const isMatrix = (m) => m.columns && m.rows > 1 && m.columns.length === m.rows + 1 && m.data.length === m.rows && m.data.every((row, k) => String(row[0]) === m.columns[k + 1] && row.slice(1).every((v) => typeof v === "number"));

// The classes most often taken for others.
function confusions(m) {
  const all = [];
  m.data.forEach((row, r) => row.slice(1).forEach((v, c) => { if (r !== c && v > 0) all.push([v, m.columns[r + 1], m.columns[c + 1]]); }));
  return all.sort((a, b) => b[0] - a[0]);
}

function matrix(m, title) {
  const most = Math.max(...m.data.map((row) => Math.max(...row.slice(1)))) || 1, worst = confusions(m);
  const told = element("p", { class: "hint" }, worst.length ? "Most often confused: " + worst.slice(0, 3).map(([v, a, b]) => a + " taken for " + b + " (" + number(v) + ")").join(", ") + "." : "No class is taken for another.");
  if (m.rows > MATRIX_MOST) {
    const canvas = element("canvas", { width: m.rows, height: m.rows, role: "img", class: "matrix", "aria-label": title + ", " + m.rows + " classes. " + told.textContent }), paint = canvas.getContext("2d");
    canvas.repaint = () => {
      paint.clearRect(0, 0, m.rows, m.rows);
      m.data.forEach((row, r) => row.slice(1).forEach((v, c) => { if (v > 0) { paint.fillStyle = "rgba(" + css("--cell") + "," + (0.15 + 0.85 * (v / most)) + ")"; paint.fillRect(c, r, 1, 1); } }));
    };
    canvas.repaint();
    return element("div", null, canvas, told);
  }
  const table = element("table", { class: "matrix" }, element("caption", null, "Rows are targets, columns predictions."), element("thead", null, element("tr", null, element("td"), ...m.columns.slice(1).map((c) => element("th", { scope: "col" }, c)))));
  const body = table.appendChild(element("tbody"));
  m.data.forEach((row, r) => {
    body.append(element("tr", null, element("th", { scope: "row" }, String(row[0])), ...row.slice(1).map((v, c) => {
      const cell = element("td", { class: "num" + (r === c ? " diagonal" : ""), title: m.columns[r + 1] + " taken for " + m.columns[c + 1] }, number(v));
      cell.style.background = "rgba(var(--cell), " + 0.5 * (v / most) + ")";
      return cell;
    })));
  });
  return element("div", null, element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, table), told);
}

const cellText = (v) => (v === null ? "–" : typeof v === "number" ? number(v) : Array.isArray(v) ? v.map(cellText).join(", ") : String(v));

// Answers, with a box for the wrong ones alone where the table says which are right.
function answers(m, title) {
  const table = element("table"), judge = m.columns.indexOf("correct"), shown = m.columns.map((c, k) => k).filter((k) => m.columns[k] !== "run_name");
  const body = head(table, shown.map((k) => ({ text: m.columns[k] }))), box = element("input", { type: "checkbox" });
  const show = () => {
    body.replaceChildren();
    for (const row of m.data)
      if (!box.checked || row[judge] === false)
        body.append(element("tr", null, ...shown.map((k) => element("td", { class: k === judge ? (row[k] ? "good" : "bad") : "answer" }, k === judge ? (row[k] ? "✓ right" : "✗ wrong") : cellText(row[k])))));
  };
  box.addEventListener("change", show);
  show();
  return element("div", null, judge < 0 ? null : element("label", { class: "inline" }, box, " wrong answers alone"),
    element("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": title }, table),
    element("p", { class: "hint" }, m.data.length < m.rows ? m.data.length + " of " + m.rows + " rows: the first" + (judge < 0 ? "." : ", and wrong answers behind them.") : m.rows + " rows."));
}

// Blocks with a choice of the batch, by their titles; filled again when there is more to choose from.
const blocks = new Map();

// Shows one of `items`, each with its batch, by `show`; the last one until another is chosen.
function showBlock(parent, k, title, items, show) {
  $("samples").hidden = false;
  let block = blocks.get(parent + title);
  if (!block) {
    const pick = element("select", { "aria-label": "Batch of " + title }), hold = element("div");
    block = { pick, items, show: () => hold.replaceChildren(show(block.items[Number(pick.value)])) };
    pick.addEventListener("change", block.show);
    $(parent).append(element("div", { class: "media" }, element("h3", null, swatch(k), title, " ", pick), hold));
    blocks.set(parent + title, block);
  }
  const { pick } = block, last = pick.selectedIndex === pick.options.length - 1, before = block.items[Number(pick.value)];
  block.items = items;
  pick.replaceChildren(...items.map((m, i) => element("option", { value: i }, "batch " + m.batch)));
  pick.value = last || !items.includes(before) ? items.length - 1 : items.indexOf(before);
  block.show();
}

function media() {
  const order = (m) => (m.images ? 0 : isMatrix(m) ? 1 : 2);
  runs.forEach((r, k) => {
    const names = [...new Set(r.media.map((m) => m.name))].map((name) => r.media.filter((m) => m.name === name)).sort((a, b) => order(a[0]) - order(b[0]));
    for (const all of names) {
      const title = all[0].name + " of " + label(k);
      showBlock("media", k, title, all, (m) => (m.images ? images(m) : isMatrix(m) ? matrix(m, title) : answers(m, title)));
    }
  });
}

function texts() {
  runs.forEach((r, k) => {
    const own = r.messages.filter((m) => m.level === "info"), title = "Texts of " + label(k);
    if (!own.length) return;
    const batches = [...new Set(own.map((m) => m.batch))].map((batch) => ({ batch, text: own.filter((m) => m.batch === batch).map((m) => m.text).join("\n") }));
    showBlock("texts", k, title, batches, (m) => element("pre", { tabindex: "0", role: "region", "aria-label": title }, m.text));
  });
}
