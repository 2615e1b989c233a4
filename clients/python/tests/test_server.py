import os
import subprocess
import sys
from pathlib import Path

import pytest
from server import AKIN_BIN

import akin_search

BUS = "The night bus will stop at the old fish market instead of the pier, from Monday on."


def test_a_server_starts_with_settings_and_ends_with_its_block() -> None:
    settings = {"collection.shingles.size": 2, "collection.passages.words": 13}
    with (
        akin_search.Server(settings=settings, command=AKIN_BIN) as server,
        server.client() as client,
    ):
        client.insert("news/1", BUS)
        described = client.describe_collection("default")["settings"]
        directory = server.directory
        assert directory.is_dir()
    assert described["shingles"]["size"] == 2 and described["passages"]["words"] == 13
    assert not directory.exists()
    with (
        pytest.raises(akin_search.ConnectionFailed),
        akin_search.Client(server.url, patience_s=0) as client,
    ):
        client.stats()


def test_documents_stay_in_a_given_directory(tmp_path: Path) -> None:
    for stored in (0, 1):
        with akin_search.Server(tmp_path, command=AKIN_BIN) as server, server.client() as client:
            assert client.stats()["documents"] == stored
            client.insert("news/1", BUS)


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(akin_search.ServerFailed, match="storage.readers"):
        akin_search.Server(settings={"storage.readers": 0}, command=AKIN_BIN)
    with pytest.raises(akin_search.ServerFailed, match="no-such-program"):
        akin_search.Server(command=tmp_path / "no-such-program")


def test_the_command_of_path_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(akin_search.ServerFailed, match="not installed"):
        akin_search.Server()
    (tmp_path / "akin").symlink_to(AKIN_BIN)
    with akin_search.Server() as server, server.client() as client:
        assert client.stats()["documents"] == 0


def test_a_server_ends_with_the_process() -> None:
    """The program ends without `close`, by an exception."""
    program = "from akin_search import Server; "
    program += f"print(Server(command={AKIN_BIN!r}).url, flush=True); 1 / 0"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=dict(os.environ)
    )
    assert "ZeroDivisionError" in ended.stderr
    with akin_search.Client(ended.stdout.strip(), patience_s=0) as client:
        with pytest.raises(akin_search.ConnectionFailed):
            client.stats()
