"""The real server, and one that refuses."""

import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Dict, List, Tuple

AKIN_BIN = os.environ["AKIN_BIN"]


class Server:
    """`akin serve` on a loopback port, with its data in `directory`."""

    def __init__(self, directory: Path, *, with_keys: bool = False) -> None:
        self._directory = directory
        self._data = str(directory / "data")
        self._starts = 0
        self.key = ""
        if with_keys:
            command = [AKIN_BIN, "keys", "create", "--data-dir", self._data, "--name", "tests"]
            Path(self._data).mkdir()
            made = subprocess.run(
                [*command, "--actions", "read,write,admin"], capture_output=True, check=True
            )
            self.key = made.stdout.decode().strip()
        self.address = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        """After the first time at the same address."""
        self._starts += 1
        log = self._directory / f"log-{self._starts}"
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [AKIN_BIN, "serve", "--listen", self.address, "--data-dir", self._data],
                stderr=out,
            )
        with log.open() as lines:
            text = ""
            while '"address"' not in text or not text.endswith("\n"):
                assert self._process.poll() is None, log.read_text()
                text = (text if not text.endswith("\n") else "") + lines.readline()
        self.address = json.loads(text)["address"]
        self.url = f"http://{self.address}"

    def kill(self) -> None:
        """As a crash ends it."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


Reply = Tuple[int, Dict[str, str], bytes]


class Script:
    """A server that gives these replies, one after the other, and records what it was sent.

    A reply of status 0 closes the connection without one.
    """

    def __init__(self, *replies: Reply) -> None:
        self.requests: List[Tuple[str, str, bytes, Dict[str, str]]] = []
        script = self
        left = list(replies)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                script.requests.append((self.command, self.path, body, headers))
                status, sent, content = left.pop(0)
                if status == 0:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in {"content-length": str(len(content)), **sent}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)
                self.close_connection = "close" in sent.get("connection", "")

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> "Script":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def problem(status: int, code: str) -> bytes:
    return json.dumps({"status": status, "code": code, "title": code, "detail": "no"}).encode()


def lines(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)
