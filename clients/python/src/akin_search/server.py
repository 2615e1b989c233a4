"""A server of this process, for notebooks and tests."""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections import deque
from pathlib import Path
from typing import Any, Deque, Dict, Iterator, List, Mapping, Optional, Union

from ._command import program
from .client import Client
from .errors import ServerFailed

_LOG_LINES = 50


class Server:
    """`akin serve` on a free port of the loopback interface.

        with akin_search.Server() as server, server.client() as client:
            client.insert("news/1", "The night bus will stop at the old fish market.")

    The documents are stored in `directory`, or in a temporary directory that is removed when the
    server stops. `settings` are settings of the configuration file by their whole names, such as
    `{"collection.passages.words": 32}`. `command` is the program, by default the `akin` that was
    installed with this package, or else that of `PATH`.

    The constructor returns when the server accepts requests, and raises `ServerFailed` if it does
    not start. The server stops with `close()`, at the end of the `with` block, or when the Python
    process exits.
    """

    def __init__(
        self,
        directory: Union[str, "os.PathLike[str]", None] = None,
        *,
        settings: Optional[Mapping[str, object]] = None,
        command: Union[str, "os.PathLike[str]", None] = None,
    ) -> None:
        self._temporary = None if directory is not None else tempfile.mkdtemp(prefix="akin-")
        self.directory = Path(directory if directory is not None else str(self._temporary))
        self._log: Deque[str] = deque(maxlen=_LOG_LINES)
        self._process: Optional["subprocess.Popen[str]"] = None
        try:
            arguments = [program(command, ServerFailed), "serve"]
            arguments += ["--listen", "127.0.0.1:0", "--data-dir", str(self.directory)]
            self._process = process = _start(arguments, settings or {})
            atexit.register(self.close)
            self.url = self._wait_for_url(process)
        except BaseException:
            self.close()
            raise
        # The server would wait for a reader of its log once the pipe is full.
        threading.Thread(target=self._read_log, args=(process,), daemon=True).start()

    def client(self, **options: Any) -> Client:
        """A new client of this server; `options` are those of `Client`."""
        return Client(self.url, **options)

    def close(self) -> None:
        """Stops the server, which finishes its requests first, and waits until it has ended."""
        atexit.unregister(self.close)
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait_for_url(self, process: "subprocess.Popen[str]") -> str:
        for line in self._lines(process):
            entry = _json(line)
            if "address" in entry:
                return f"http://{entry['address']}"
        status = process.wait()
        log = "".join(self._log).strip()
        raise ServerFailed(f"akin serve ended with status {status}: {log}")

    def _read_log(self, process: "subprocess.Popen[str]") -> None:
        for _ in self._lines(process):
            pass

    def _lines(self, process: "subprocess.Popen[str]") -> Iterator[str]:
        """The lines of the log, the last of which are kept."""
        assert process.stderr is not None
        for line in process.stderr:
            self._log.append(line)
            yield line


def _start(arguments: List[str], settings: Mapping[str, object]) -> "subprocess.Popen[str]":
    environment = {**os.environ, **{_variable(name): _text(settings[name]) for name in settings}}
    # The log is read as JSON, whatever the user's own settings say.
    environment.update({"AKIN__LOG__FORMAT": "json"})
    try:
        return subprocess.Popen(
            arguments, env=environment, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
    except OSError as error:
        raise ServerFailed(f"cannot run {arguments[0]}: {error}") from error


def _variable(setting: str) -> str:
    return "AKIN__" + setting.upper().replace(".", "__")


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _json(line: str) -> Dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
