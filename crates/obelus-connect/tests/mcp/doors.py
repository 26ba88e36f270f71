"""Servers that need a login, and the authorization server for them, with the standard library only.

    doors.py FILE

It writes its port to FILE. `/mcp` is a server, `/brief` one whose tokens expire at once. The others misbehave: `/plain`
names an address that is not https, `/large` has endless metadata, `/moved` redirects requests for its metadata, `/other`
claims to be another server, `/false` has an authorization server that claims to be another one, `/open` has one that
does not announce PKCE.

`/as/authorize` logs in every caller at once. `/seen` returns the received requests.
"""

import base64
import hashlib
import json
import os
import secrets
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLS = ["echo", "header", "write", "revoke", "forget"]
METADATA = "/.well-known/oauth-protected-resource/"

seen = []
codes = {}  # code -> (PKCE challenge, redirect address, scopes)
access = {}  # token -> scopes
refresh = {}  # token -> scopes


def give(scopes, lasts=3600, with_refresh=True):
    token = "access-" + secrets.token_hex(8)
    access[token] = scopes
    given = {"access_token": token, "token_type": "Bearer", "expires_in": lasts, "scope": " ".join(scopes)}
    if with_refresh:
        given["refresh_token"] = "refresh-" + secrets.token_hex(8)
        refresh[given["refresh_token"]] = scopes
    return given


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, value=None, **headers):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/seen":
            return self.reply(200, seen)
        seen.append({"path": url.path, "query": query, "authorization": self.headers.get("Authorization")})
        if url.path.startswith(METADATA):
            return self.resource(url.path[len(METADATA):])
        if url.path.startswith("/.well-known/oauth-authorization-server/"):
            return self.issuer(url.path.rsplit("/", 1)[1])
        if url.path == "/as/authorize":
            code = "code-" + secrets.token_hex(8)
            codes[code] = (query["code_challenge"], query["redirect_uri"], query.get("scope", "").split())
            back = urllib.parse.urlencode({"code": code, "state": query["state"]})
            return self.reply(302, Location=query["redirect_uri"] + "?" + back)
        self.reply(405 if url.path in ("/mcp", "/brief") else 404)

    def resource(self, name):
        if name == "moved":
            return self.reply(302, Location="http://elsewhere.example.test/metadata")
        if name == "large":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b" " * 65536)
            except OSError:
                self.close_connection = True
                return
        issuer = {"plain": "http://as.example.test", "false": HERE + "/false", "open": HERE + "/open"}.get(name)
        resource = "https://other.example.test/mcp" if name == "other" else f"{HERE}/{name}"
        document = {"resource": resource, "authorization_servers": [issuer or HERE + "/as"]}
        self.reply(200, {**document, "scopes_supported": ["read"]})

    def issuer(self, name):
        document = {
            "issuer": f"{HERE}/{'as' if name == 'false' else name}",
            "authorization_endpoint": HERE + "/as/authorize",
            "token_endpoint": HERE + "/as/token",
            "registration_endpoint": HERE + "/as/register",
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        }
        if name != "open":
            document["code_challenge_methods_supported"] = ["S256"]
        self.reply(200, document)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/as/register":
            seen.append({"path": self.path})
            return self.reply(201, {"client_id": "registered-1", **json.loads(body)})
        if self.path == "/as/token":
            form = dict(urllib.parse.parse_qsl(body.decode()))
            seen.append({"path": self.path, "form": form, "authorization": self.headers.get("Authorization")})
            return self.token(form)
        message = json.loads(body)
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        metadata = HERE + METADATA.rstrip("/") + self.path
        if token not in access:
            return self.reply(401, **{"WWW-Authenticate": f'Bearer resource_metadata="{metadata}"'})
        if "id" not in message:
            return self.reply(202)
        method, params = message.get("method"), message.get("params", {})
        if method == "initialize":
            info = {"name": "doors", "version": "1"}
            given = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            return self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": given})
        if method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            return self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": tools}})
        if method != "tools/call":
            return self.reply(400)
        name = params["name"]
        if name == "write" and "write" not in access[token]:
            words = f'Bearer error="insufficient_scope", scope="write", resource_metadata="{metadata}"'
            return self.reply(403, **{"WWW-Authenticate": words})
        if name in ("revoke", "forget"):
            access.clear()
        if name == "forget":
            refresh.clear()
        words = self.headers["Authorization"] if name == "header" else name
        given = {"content": [{"type": "text", "text": words}]}
        self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": given})

    def token(self, form):
        grant = form.get("grant_type")
        lasts = 1 if form.get("resource", "").endswith("/brief") else 3600
        if not form.get("resource", "").startswith(HERE):
            return self.reply(400, {"error": "invalid_target"})
        if grant == "authorization_code":
            proof, back, scopes = codes.pop(form["code"], (None, None, None))
            shown = hashlib.sha256(form["code_verifier"].encode()).digest()
            if proof != base64.urlsafe_b64encode(shown).decode().rstrip("=") or back != form["redirect_uri"]:
                return self.reply(400, {"error": "invalid_grant"})
            return self.reply(200, give(scopes, lasts))
        if grant == "refresh_token" and form["refresh_token"] in refresh:
            return self.reply(200, give(refresh.pop(form["refresh_token"]), lasts))
        if grant == "client_credentials":
            who = base64.b64decode((self.headers.get("Authorization") or "Basic ").removeprefix("Basic "))
            if who != b"robot:robot-secret-77":
                return self.reply(401, {"error": "invalid_client", "error_description": "who?\x1b[2J"})
            return self.reply(200, give(form.get("scope", "").split(), lasts, with_refresh=False))
        self.reply(400, {"error": "invalid_grant"})


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
HERE = f"http://127.0.0.1:{server.server_address[1]}"
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
