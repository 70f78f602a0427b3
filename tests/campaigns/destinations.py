"""destinations.py - where the loggers of a run write and send: files, a process, a server on loopback."""
# SPDX-License-Identifier: Apache-2.0
import http.server
import subprocess
import threading


class Server(http.server.BaseHTTPRequestHandler):
    """A webhook, as much of a tracking server as a run needs, and files."""
    protocol_version = "HTTP/1.1"  # connections stay, so that they count the same at every look

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        text = self.server.files.get(self.path, b"{}")
        if "experiments" in self.path:
            text = b'{"experiment": {"experiment_id": "1", "lifecycle_stage": "active"}, "experiment_id": "1"}'
        elif "runs/create" in self.path or "runs/get" in self.path:
            text = b'{"run": {"info": {"run_id": "r1", "run_uuid": "r1", "artifact_uri": "mlflow-artifacts:/1/r1/artifacts"}}}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


def serve():
    """One that answers on loopback until it is shut down; what it gives for a path is put into its `files`."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.files = {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def loggers(tutti, port, batches):
    """All that write or send, every so many batches where it is theirs to say, of those that this build has; and the
    names of the others."""
    known = subprocess.run([tutti, "plugins", "list"], capture_output=True, text=True, check=False).stdout
    given = [{"name": "jsonl", "flush_interval": 1}, {"name": "file"}, {"name": "tensorboard"}, {"name": "console"},
             {"name": "pipe", "command": ["sh", "-c", "exec cat >/dev/null"], "log_traces": True},
             {"name": "slack", "webhook_url": f"http://127.0.0.1:{port}/hook", "log_interval": f"{batches}ba"},
             {"name": "mlflow", "tracking_uri": f"http://127.0.0.1:{port}"}]
    there = [one for one in given if f"org.tutti.{one['name']} " in known]
    return there, [one["name"] for one in given if one not in there]
