#!/usr/bin/env python3
"""file_server.py - a server of this machine's files for tests: what a bucket of S3 and a web server are to who loads
from them.  Its first path says how it behaves:

    /models/...         a bucket: GET, HEAD with ranges and ETags, PUT, lists (list-type=2)
    /status-403/...     answers with that status
    /garbage/...        the file's length, in other bytes
    /page/...           a page of HTML, with status 200
    /cut/...            ends after half of what was asked for, once for each file
    /turns/...          NAME.0 for the first request, NAME.1 for the second, and so on in turn: a file that is replaced
    /damaged-1/...      one bit is wrong, in the first answer for each file
    /damaged/...        in every one

    file_server.py ROOT PORT_FILE LOG
"""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import http.server
import os
import sys
import threading
import urllib.parse
from xml.sax.saxutils import escape

ROOT, PORT_FILE, LOG = sys.argv[1:]
SEEN = {}
LOCK = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def split(self):
        """How to behave, the file, and the query."""
        path, _, query = self.path.partition("?")
        first, _, rest = urllib.parse.unquote(path).lstrip("/").partition("/")
        with open(LOG, "a", encoding="utf-8") as log:
            log.write(f"{self.command} {urllib.parse.unquote(self.path)} {self.headers.get('Range', '')}\n")
        keeps = "models" if first in ("models", "cut", "garbage", "damaged", "damaged-1", "turns") else first
        return first, os.path.join(ROOT, keeps, rest), urllib.parse.parse_qs(query)

    def reply(self, status, body, headers=(), length=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.send_header("Connection", "close")
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = True

    def once(self, path):
        """Whether this is the first request for it."""
        return self.turn(path) == 0

    def turn(self, path):
        """How often it was asked for before."""
        with LOCK:
            SEEN[path] = SEEN.get(path, -1) + 1
            return SEEN[path]

    def do_GET(self):
        how, path, query = self.split()
        if how.startswith("status-"):
            return self.reply(int(how[7:]), b"<Error><Code>AccessDenied</Code></Error>")
        if how == "page":
            return self.reply(200, b"<html><body>Please sign in.</body></html>")
        if "list-type" in query:
            return self.list(path, query)
        if how == "turns":
            path += f".{self.turn(path) % 2}"
        if not os.path.isfile(path):
            return self.reply(404, b"<Error><Code>NoSuchKey</Code></Error>")
        with open(path, "rb") as file:
            data = file.read()
        tag, status, begin, headers = f'"{hashlib.md5(data).hexdigest()}"', 200, 0, []
        wanted = self.headers.get("Range")
        if wanted and self.headers.get("If-Range", tag) == tag:
            begin, status = int(wanted.removeprefix("bytes=").rstrip("-")), 206
            headers = [("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")]
        body = bytearray(data[begin:])
        if how == "garbage":
            body = bytearray(b"nonsense" * (len(body) // 8 + 1))[:len(body)]
        if how == "damaged" or (how == "damaged-1" and self.once(self.path)):
            body[-100] ^= 4
        whole = len(body)
        if how == "cut" and self.once(self.path):
            body = body[:whole // 2]
        return self.reply(status, bytes(body), [("ETag", tag), *headers], whole)

    do_HEAD = do_GET

    def list(self, bucket, query):
        """Two a page, so that pages count."""
        prefix, after = query.get("prefix", [""])[0], query.get("continuation-token", [""])[0]
        keys = sorted(os.path.relpath(os.path.join(folder, name), bucket)
                      for folder, _, names in os.walk(bucket) for name in names)
        keys = [key for key in keys if key.startswith(prefix) and "/" not in key[len(prefix):] and key > after]
        more = len(keys) > 2
        text = "".join(f"<Contents><Key>{escape(key)}</Key></Contents>" for key in keys[:2])
        if more:
            text += f"<IsTruncated>true</IsTruncated><NextContinuationToken>{escape(keys[1])}</NextContinuationToken>"
        return self.reply(200, f"<ListBucketResult>{text}</ListBucketResult>".encode())

    def do_PUT(self):
        _, path, _ = self.split()
        data = self.rfile.read(int(self.headers["Content-Length"]))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".part", "wb") as file:
            file.write(data)
        os.rename(path + ".part", path)
        self.reply(200, b"", [("ETag", f'"{hashlib.md5(data).hexdigest()}"')])


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with open(PORT_FILE + ".part", "w", encoding="utf-8") as file:
        file.write(str(server.server_address[1]))
    os.rename(PORT_FILE + ".part", PORT_FILE)
    server.serve_forever()


if __name__ == "__main__":
    main()
