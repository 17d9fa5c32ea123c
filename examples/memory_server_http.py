"""The example memory over HTTP, for the `http` bridge. Nothing but Python is needed.

python examples/memory_server_http.py FOLDER PORT

GET    /about                                what it is
DELETE /users/NS                             forget a user, or a new one
POST   /memories   {user, items: [...]}      remember
POST   /search     {user, query, limit, chars}
POST   /ask        {user, question}          answer, from what it remembers
POST   /users/NS/reindex                     throw the index away
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import unquote

from memory_server import ABOUT, Store


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: Store
    lock = Lock()

    def do_GET(self):
        self.serve(lambda *_: {"version": ABOUT["build"], "embedder": "none"})

    def do_DELETE(self):
        self.serve(lambda parts, _: self.store.reset(parts[1]))

    def do_POST(self):
        self.serve(self.post)

    def post(self, parts, body):
        if parts == ["memories"]:
            self.store.write(body["user"], body["items"])
            return {"stored": len(body["items"])}
        if parts == ["search"]:
            hits = self.store.search(body["user"], body["query"], body.get("limit"), body.get("chars"))
            return {"results": hits}
        if parts == ["ask"]:
            said, read = self.store.ask(body["user"], body["question"])
            return {"answer": said, "used": read}
        if parts[0] == "users" and parts[2:] == ["reindex"]:
            return self.store.drop_derived(parts[1])
        raise KeyError(self.path)

    def serve(self, work):
        length = int(self.headers.get("Content-Length", 0))
        try:
            body = json.loads(self.rfile.read(length) or "{}")
            with self.lock:
                status, answer = 200, work([unquote(part) for part in self.path.strip("/").split("/")], body)
        except Exception as error:  # a failure is told, never an empty list
            status, answer = 500, {"error": f"{type(error).__name__}: {error}"}
        data = json.dumps(answer or {}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    Handler.store = Store(sys.argv[1])
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
