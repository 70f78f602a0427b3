#!/usr/bin/env python3
"""failing_server.py ROOT PORT_FILE [PORT [REQUESTS]] - serves the files of ROOT on this machine, and fails on purpose: the
first request for a file is answered with status 503, the second with half of the file.  After REQUESTS requests it is gone.
Writes its port into PORT_FILE."""
import functools
import http.server
import os
import sys

SEEN = {}  # requests for each file


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.0"  # a connection a request

    def do_GET(self):
        if sum(SEEN.values()) == LAST:
            print(f"the server is gone after {LAST} requests", flush=True)
            os._exit(0)
        SEEN[self.path] = SEEN.get(self.path, 0) + 1
        if SEEN[self.path] == 1:
            self.send_error(503)
        else:
            super().do_GET()

    def copyfile(self, source, outputfile):
        data = source.read()
        outputfile.write(data[: len(data) // 2] if SEEN[self.path] == 2 else data)

    def log_message(self, *_):
        pass


root, port_file = sys.argv[1:3]
port, LAST = int((sys.argv[3:4] or ["0"])[0]), int((sys.argv[4:5] or ["1000000"])[0])
server = http.server.HTTPServer(("127.0.0.1", port), functools.partial(Handler, directory=root))
with open(port_file + ".part", "w", encoding="utf-8") as file:
    file.write(str(server.server_address[1]))
os.rename(port_file + ".part", port_file)
server.serve_forever()
