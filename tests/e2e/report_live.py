"""report_live.py TUTTI RUN_FOLDER TRAINER - follows a run by its page and its stream, ends the run, and compares with its log."""
# SPDX-License-Identifier: Apache-2.0
import atexit
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys

tutti, folder, trainer = sys.argv[1], sys.argv[2], int(sys.argv[3])
LOSS = "loss/train/total"
interrupted = False
PATIENCE = 120  # seconds for one answer; nothing is late on a busy machine


@atexit.register
def end_trainer():
    if not interrupted:  # this program has failed
        os.kill(trainer, signal.SIGKILL)


def start():
    p = subprocess.Popen([tutti, "report", "--live", folder], stdout=subprocess.PIPE, text=True)
    atexit.register(p.kill)
    line = p.stdout.readline()
    address = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/ shows the runs until they end; Ctrl-C ends it earlier\n", line)
    assert address, line
    return p, int(address[1])


def ask(port, path, method="GET", **headers):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    c.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    return c.getresponse()


def raw(port, text):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
        s.sendall(text)
        return s.makefile("rb").readline().decode()


class Stream:
    def __init__(self, port, after, **headers):
        self.answer = ask(port, f"/events?after={after}", **headers)
        assert self.answer.status == 200 and self.answer.headers["Content-Type"] == "text/event-stream"

    def next(self):
        """(number, name, data) of the next event; None: the stream has ended."""
        fields = {}
        while True:
            line = self.answer.readline().decode()
            if not line:
                return None
            if line == "\n" and "event" in fields:
                return int(fields.get("id", 0)), fields["event"], json.loads(fields["data"])
            key, _, value = line.rstrip("\n").partition(": ")
            fields[key] = value


def page_of(port):
    answer = ask(port, "/")
    text = answer.read().decode()
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "connect-src 'self'" in text and text.count("default-src 'none'") == 1
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    return data, int(re.search(r"const liveAfter = (\d+);", text)[1])


def points(run):
    """The batches and losses of a run of the page, or of an event."""
    return [pair for s in run["series"] if s["name"] == LOSS for pair in zip(s["x"], s["y"])]


server, port = start()
data, number = page_of(port)
assert data["runs"][0]["status"] == "running", data["runs"][0]["status"]

# Who asks otherwise.
for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS"):
    answer = ask(port, "/", method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET"), (method, answer.status)
for path in ("/record.json", "/../record.json", "//", "/%2e%2e/record.json", "/events/", "/./", "/report.js", "/favicon.ico"):
    assert ask(port, path).status == 404, path
assert ask(port, "/", Host="evil.example").status == 403
assert ask(port, "/events", Host=f"evil.example:{port}").status == 403
assert re.search(" 40[03] ", raw(port, b"GET / HTTP/1.1\r\n\r\n")) and " 403 " in raw(port, b"GET / HTTP/1.0\r\n\r\n")
assert " 404 " in raw(port, f"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
with socket.socket() as other:  # loopback has more addresses, and none of them is another machine's
    assert other.connect_ex(("127.0.0.2", port)) != 0
taken = subprocess.run([tutti, "report", "--live", folder, "--port", str(port)], capture_output=True, text=True)
assert taken.returncode == 1 and f"port {port} of 127.0.0.1 cannot be had" in taken.stderr, taken

# A second server ends by Ctrl-C, and its streams with it.
other, other_port = start()
stream = Stream(other_port, page_of(other_port)[1])
assert stream.next()[1] == "change"
other.send_signal(signal.SIGINT)
while stream.next():
    pass
assert other.wait(PATIENCE) == 0 and other.stdout.read() == "stopped; runs that train go on\n"

# What is logged arrives; a reader that lost the connection gets the rest.
seen, told = points(data["runs"][0]) if data["runs"][0]["series"] else [], 0
whole = len(seen) <= 2000  # else the page has a part of them
stream = Stream(port, number)
while told < 3:
    event, name, change = stream.next()
    assert name == "change" and event == number + told + 1, (event, name)
    (run,) = change["runs"]
    seen += points(run)
    told += 1
again = Stream(port, 0, Last_Event_ID=str(number + 1))
assert again.next()[0] == number + 2
os.kill(trainer, signal.SIGTERM)
interrupted = True
last = run
while True:
    event, name, change = stream.next()
    if name == "end":
        break
    assert name == "change", name
    (last,) = change["runs"]
    seen += points(last)
assert stream.next() is None and last["status"] == "interrupted", last["status"]
while (event := again.next()) and event[1] == "change":
    pass
assert event[1] == "end" and again.next() is None
assert server.wait(PATIENCE) == 0
assert server.stdout.read() == f"{folder}: interrupted after {last['batches']} batches\n"

logged = []
for line in open(f"{folder}/log.jsonl"):
    line = json.loads(line)
    if line["kind"] == "metrics" and LOSS in line["values"]:
        logged.append((line["batch"], line["values"][LOSS]))
assert not whole or seen == logged, (len(seen), len(logged))
assert seen[-1] == logged[-1] and last["timeline"] is not None
print(f"{told} events, {len(logged)} batches")
