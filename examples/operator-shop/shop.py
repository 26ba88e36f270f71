#!/usr/bin/env python3
"""A small shop on this machine, for the operator to work at: three pages of kettles, a basket to take things out of, and a
form for the delivery.

    python3 shop.py [PORT]        by default 8477; 0 takes any port that is free

It listens on 127.0.0.1 only, needs nothing but Python 3, and forgets everything when it ends.
"""

import html
import http.server
import sys
import threading
import urllib.parse

# The best rated one is dear, and the cheapest is bad: which is the best buy, only those know who have seen every page.
KETTLES = [
    ("Aurora", 42, 4.1), ("Breeze", 28, 3.2), ("Vector", 99, 4.9),
    ("Delta", 51, 4.4), ("Ember", 34, 4.5), ("Zenith", 20, 2.7),
    ("Spark", 35, 4.7), ("Quartz", 64, 4.6), ("Beacon", 37, 4.8),
]
ON_A_PAGE = 3
PAGES = -(-len(KETTLES) // ON_A_PAGE)

basket = {1: "Lamp", 2: "Armchair", 3: "Toaster"}
delivery = {}
lock = threading.Lock()

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><link rel="icon" href="data:,">
<style>body {{ font: 18px sans-serif; max-width: 40em; margin: 2em auto }} nav a {{ margin-right: 1em }}</style></head>
<body><nav><a href="/kettles">Kettles</a><a href="/basket">Basket</a><a href="/delivery">Delivery</a></nav><h1>{title}</h1>{body}</body></html>"""


def kettles(number):
    """A page of kettles, from 1, with a link to the next one where there is one."""
    shown = KETTLES[(number - 1) * ON_A_PAGE : number * ON_A_PAGE]
    rows = [f"<h2>{name}</h2><p>Price: {price} €. Rated {rating} of 5.</p>" for name, price, rating in shown]
    onward = f'<p><a href="/kettles/{number + 1}">Next page</a></p>' if number < PAGES else ""
    return PAGE.format(title="Kettles", body="".join(rows) + f"<p>Page {number} of {PAGES}</p>" + onward)


def things():
    """The basket: a form for each thing in it."""
    row = '<li>{name} <form method="post" action="/basket/{n}/delete"><button>Remove {name}</button></form></li>'
    with lock:
        rows = [row.format(n=n, name=html.escape(name)) for n, name in basket.items()]
    return PAGE.format(title="Basket", body=f"<ul>{''.join(rows)}</ul>" if rows else "<p>It is empty.</p>")


def where():
    """The form for the delivery, and what was last said in it."""
    with lock:
        said = "".join(f"<li>{html.escape(name)}: {html.escape(value)}</li>" for name, value in delivery.items())
    form = """<form method="post" action="/delivery"><p><label>Name <input name="name"></label></p>
<p><label>Street <input name="street"></label></p>
<p><label>Time <select name="time"><option>morning</option><option>evening</option></select></label></p>
<p><label><input type="checkbox" name="call"> Call before</label></p><button>Save the delivery</button></form>"""
    return PAGE.format(title="Delivery", body=(f"<p>Saved.</p><ul>{said}</ul>" if said else "") + form)


class Shop(http.server.BaseHTTPRequestHandler):
    """Answers browsers."""

    def do_GET(self):
        pages = {f"/kettles/{number}": number for number in range(1, PAGES + 1)} | {"/": 1, "/kettles": 1}
        if self.path in pages:
            self.answer(200, kettles(pages[self.path]))
        elif self.path == "/basket":
            self.answer(200, things())
        elif self.path == "/delivery":
            self.answer(200, where())
        else:
            self.answer(404, PAGE.format(title="Not found", body=""))

    def do_POST(self):
        if self.path == "/delivery":
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            with lock:
                delivery.clear()
                delivery.update(urllib.parse.parse_qsl(body))
            return self.see_other("/delivery")
        parts = self.path.strip("/").split("/")
        if len(parts) != 3 or parts[0] != "basket" or parts[2] != "delete" or not parts[1].isdecimal():
            return self.answer(404, PAGE.format(title="Not found", body=""))
        with lock:
            gone = basket.pop(int(parts[1]), None)
        if gone:
            print(f"removed from the basket: {gone}", flush=True)
        self.see_other("/basket")

    def see_other(self, path):
        self.send_response(303)
        self.send_header("Location", path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, status, page):
        body = page.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Only changes are worth a line."""


def main():
    try:
        port = int(sys.argv[1]) if len(sys.argv) > 1 else 8477
        shop = http.server.ThreadingHTTPServer(("127.0.0.1", port), Shop)
    except (ValueError, OverflowError, OSError) as why:
        sys.exit(f"shop.py: {why}; say another port: python3 shop.py PORT")
    print(f"the shop is open: http://127.0.0.1:{shop.server_port}", flush=True)
    try:
        shop.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
