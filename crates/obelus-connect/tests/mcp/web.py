"""A server over HTTP that misbehaves on demand, with the standard library only.

    web.py FILE [PORT]

It writes its port to FILE, and requires the header `Authorization: Bearer web-token-5150`.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLS = ["echo", "large", "large_event", "endless", "header", "html", "moved", "gone"]


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def result(self, message, result):
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())

    def do_GET(self):
        self.reply(405)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("Authorization") != "Bearer web-token-5150":
            return self.reply(401, **{"WWW-Authenticate": "Bearer"})
        method = message.get("method")
        if "id" not in message:
            return self.reply(202)
        if method == "initialize":
            info = {"name": "web", "version": "1"}
            version = "2025-11-25"
            return self.result(message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
        if method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            return self.result(message, {"tools": tools})
        if method != "tools/call":
            return self.reply(400, b"what?", "text/plain")
        self.call(message, message["params"]["name"])

    def call(self, message, name):
        def text(words):
            return {"content": [{"type": "text", "text": words}]}

        if name == "large":
            self.result(message, text("x" * (17 * 1024 * 1024)))
        elif name == "large_event":
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": text("x" * (17 * 1024 * 1024))})
            self.reply(200, b"data: " + body.encode() + b"\n\n", "text/event-stream")
        elif name == "endless":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b" " * 65536)
            except OSError:
                pass
            self.close_connection = True
        elif name == "header":
            self.result(message, text(self.headers["Authorization"]))
        elif name == "html":
            self.reply(200, b"<html>hello</html>", "text/html")
        elif name == "moved":
            self.reply(307, Location="http://elsewhere.example.test/mcp")
        elif name == "gone":
            os._exit(1)
        else:
            self.result(message, text("echo"))


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Server)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
