"""An event handler that stores the forms sent by a portal."""

import queue
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs


class Handler:
    def __enter__(self):
        forms = self.forms = queue.Queue()

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                forms.put(parse_qs(body.decode(), keep_blank_values=True))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server.server_port}/event"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def wait(self):
        return self.forms.get(timeout=30)

    def __exit__(self, *_):
        self.server.shutdown()
