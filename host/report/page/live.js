
// live.js - takes in what the runs log while the page is open; the page has all events up to liveAfter.

function tellLive(text, state) {
  $("live").hidden = false;
  $("live").className = state;
  $("live").textContent = text;
}

// New points of a curve; of one that was made short, the means go on with the values themselves.
function addPoints(r, more) {
  const known = r.byName.get(more.name);
  if (!known) {
    r.series.push(more);
    r.byName.set(more.name, more);
    return true;
  }
  for (const key of ["x", "t", "y"]) for (const v of more[key]) known[key].push(v);
  if (known.m) more.y.forEach((v, i) => { if (typeof v === "number") { known.m.push(v); known.mx.push(more.x[i]); known.mt.push(more.t[i]); } });
  Object.assign(known, { n: more.n, least: more.least, greatest: more.greatest });
  return false;
}

function redo(id, fill) {
  $(id).replaceChildren();
  fill();
}

function takeIn(change) {
  let names = false;
  for (const { run, series, messages, media: shown, memory, ...state } of change.runs) {
    const r = runs[run], remembered = r.memory === null && memory !== null;
    Object.assign(r, state, { memory });
    r.fillRow();
    for (const s of series) names = addPoints(r, s) || names;
    r.messages.push(...messages);
    r.media.push(...shown);
    if (messages.some((m) => m.level !== "info")) redo("warnings-table", warningsTable);
    if (messages.some((m) => m.level === "info")) texts();
    if (shown.length) media();
    if (r.timeline.rows.length) redo("timelines", timelines);
    if (remembered) redo("memory-parts", memoryParts);
  }
  if (names) allCurves();
  else { for (const c of charts) c.tell(); refresh(); }
  fillNav();
}

function follow() {
  const source = new EventSource("events?after=" + liveAfter);
  source.addEventListener("open", () => tellLive("Live: the page follows what is logged.", "running"));
  source.addEventListener("change", (event) => takeIn(JSON.parse(event.data)));
  source.addEventListener("again", () => { source.close(); location.reload(); });
  source.addEventListener("end", () => { source.close(); tellLive("Nothing runs any more; the page stays as it is.", "finished"); });
  source.addEventListener("error", () => tellLive("The connection is lost; the page tries to get it back.", "warning"));
}
follow();
