"""live.py - a reader of `tutti report --live`: follows a run that goes on and then ends, as a browser does."""
# SPDX-License-Identifier: Apache-2.0
import fcntl
import http.client
import json
import os
import re
import socket
import subprocess

PATIENCE = 60  # seconds for one answer; nothing is late on a busy machine
TRIES = 4      # of a connection that the server has dropped


class Training:
    """The folder of a run as if this process trained it: it holds the lock, and the record says so."""

    def __init__(self, folder):
        self.folder = folder
        self.ended = json.loads((folder / "record.json").read_text())
        self.lock = open(folder / ".lock", "w", encoding="utf-8")
        self.lock.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        self.lock.flush()
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.write({key: value for key, value in self.ended.items() if key != "ended"} | {"status": "running"})

    def write(self, record):
        (self.folder / "new.json").write_text(json.dumps(record))
        os.rename(self.folder / "new.json", self.folder / "record.json")

    def log(self):
        """One more batch, whose values are those of the last one."""
        with open(self.folder / "log.jsonl", "r+", encoding="utf-8") as f:
            row = [row for row in map(json.loads, f) if "loss/train/total" in row.get("values", {})][-1]
            f.write(json.dumps(row | {"batch": row["batch"] + 1}) + "\n")

    def end(self):
        self.write(self.ended)

    def close(self):
        self.lock.close()


def ask(port, path):
    """The answer to a request that was tried until it was taken; None: nobody answers."""
    for _ in range(TRIES):
        try:
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            c.request("GET", path)
            return c.getresponse()
        except (OSError, http.client.HTTPException):
            continue
    return None


def page(port):
    """The page without the times of the record; None: it cannot be had."""
    for _ in range(TRIES):
        answer = ask(port, "/")
        try:
            text = answer.read().decode() if answer and answer.status == 200 else None
        except (OSError, http.client.HTTPException):
            continue
        return text and re.sub(r'"(seconds|started|ended|generated)": ?[0-9.e+-]+', "", text)
    return None


def changes(port, training):
    """(the kinds of events, the values that came) until the stream ends; the run logs a batch, and ends once that is told."""
    kinds, points, last = set(), [], 0
    training.log()
    for _ in range(TRIES):
        answer = ask(port, f"/events?after={last}")
        if not answer or answer.status != 200:
            break
        kind = ""
        try:
            for line in map(bytes.decode, answer):
                key, _, value = line.rstrip("\n").partition(": ")
                kind = value if key == "event" else kind
                last = int(value) if key == "id" else last
                if key == "data":
                    kinds.add(kind)
                    points += [series["y"] for run in json.loads(value).get("runs", []) for series in run["series"]]
                    training.end()
        except (OSError, http.client.HTTPException):
            pass
        if "end" in kinds:
            break
    return sorted(kinds), points


def follow(command, folder, env):
    """Runs the command on the run of `folder` and reads all that it serves, to the end of the run; the process that has
    ended, whose stdout has that too."""
    training = Training(folder / "runs/small")
    with open(folder / "stderr.txt", "w+", encoding="utf-8", errors="replace") as errors:
        p = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace")
        try:
            address = re.match(r"http://127\.0\.0\.1:(\d+)/", p.stdout.readline())
            seen = [page(int(address[1]))] if address else []
            if address:
                seen.append(changes(int(address[1]), training))
            training.end()
            said = p.communicate(timeout=PATIENCE)[0]
        finally:
            p.kill()
            p.wait()
            training.close()
        errors.seek(0)
        return subprocess.CompletedProcess(command, p.returncode, json.dumps([seen, said]), errors.read())
