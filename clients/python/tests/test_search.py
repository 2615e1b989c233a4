"""The programs of docs/search.md, which print what their comments say."""

import os
import re
import subprocess
import sys
from pathlib import Path

from server import Server

PAGE = (Path(__file__).parents[3] / "docs/search.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


def test_the_page(server: Server, tmp_path: Path) -> None:
    environment = {**os.environ, "HAYSTACK_TELEMETRY_ENABLED": "False", "AKIN_URL": server.url}
    command = [sys.executable, "-c", "\n".join(BLOCKS)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"^print\(.*\)  # (.*)$", "\n".join(BLOCKS), re.M)
    assert done.stdout.splitlines() == shown and shown


def test_recipes_are_short() -> None:
    for part, recipes, lines_max in (
        ("def search(", 2, 15),
        ("def search_grouped(", 1, 15),
        ("def follow(", 1, 15),
        ("class ", 2, 30),
    ):
        blocks = [block.splitlines() for block in BLOCKS if part in block]
        lines = [len([line for line in block if line]) for block in blocks]
        assert len(lines) == recipes and max(lines) <= lines_max
