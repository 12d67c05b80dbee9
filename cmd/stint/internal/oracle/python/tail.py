class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "service"
    disable_nagle_algorithm = True
    wbufsize = -1  # an answer leaves in one piece

    def handle_request(self):
        try:
            length = int(self.headers.get("Content-Length") or 0)
        except ValueError:
            length = -1
        if not 0 <= length <= MAX_BODY or self.headers.get("Transfer-Encoding"):
            self.close_connection = True
            self.answer(400, {"error": {"code": "length", "field": None}})
            return
        raw = self.rfile.read(length) if length else b""
        status, body = respond(self.command, self.path, raw)
        self.answer(status, body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_request

    def answer(self, status, body):
        self.send_response_only(status)
        if body is not None:
            data = json.dumps(body).encode("ascii")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        else:
            self.end_headers()
        self.wfile.flush()

    def log_message(self, format, *args):
        pass


LOCK = threading.Lock()


def respond(method, target, raw):
    """The status and the body of the answer to a request."""
    path, _, query = target.partition("?")
    parts = [urllib.parse.unquote(part) for part in path.split("/")[1:]]
    row_id = None
    if len(parts) > 1 and parts[0] != "analytics":
        if re.fullmatch(r"-?\d{1,18}", parts[1], re.ASCII):
            row_id = int(parts[1])
        parts[1] = "*"
    try:
        function = ROUTES.get(method + " /" + "/".join(parts))
        if function is None:
            raise Refused(404, "not_found")
        call = Call(raw, urllib.parse.parse_qs(query, keep_blank_values=True), row_id)
        with LOCK:
            return function(call)
    except Refused as refusal:
        return refusal.status, error_body(refusal.code, refusal.field)
    except Exception as problem:  # a fault of this program must not end it
        print("internal error: %s %s: %r" % (method, path, problem), file=sys.stderr)
        return 500, error_body("internal", None)


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128


def main():
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    port = os.environ.get("PORT", "")
    if not port.isdigit():
        sys.exit("PORT is not set")
    with Server(("127.0.0.1", int(port)), Handler) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
