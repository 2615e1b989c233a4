"""first_results.py WHEEL [NOTE]: from an empty directory to a first result, for each door of akin.

The programs are those of the pages. Each door has a virtual environment and a directory of its own,
and begins when the door before it has ended. Writes the table of docs/quickstart.md. Needs the
network. NOTE, such as "a build without optimisations", stands above the table.
"""

import http.server
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = 60


def programs(page):
    """The Python blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


def program(page, part):
    """The first Python block of a page with this part."""
    return next(block for block in programs(page) if part in block)


def recipe(page, last):
    """The Python blocks of a page up to the first with this part."""
    blocks = programs(page)
    return "".join(blocks[: 1 + next(at for at, block in enumerate(blocks) if last in block)])


SERVER = "akin serve 2> serve.log & until akin health > health.log 2>&1; do sleep 0.1; done"

SPIDER = program("docs/crawling.md", "import scrapy")

# Each door: its extras, its files, its commands, and what the last command prints.
DOORS = {
    "a crawl (Scrapy)": (
        "scrapy",
        {"pages.py": SPIDER},
        [SERVER, "scrapy runspider --nolog pages.py --output pages.jsonl", "wc -l < pages.jsonl"],
        f"{PAGES // 2 + 1}",
    ),
    "a result page (SQLite)": (
        "",
        {"search.py": recipe("docs/search.md", "results = search(")},
        [SERVER, "python search.py"],
        "['c.example/2', 'b.example/7']",
    ),
    "a table (Polars)": (
        "polars,pyarrow",
        {"table.py": "import akin_search\n" + program("docs/clients.md", "akin_search.dedup(")},
        ["python table.py"],
        "['a.example', 'b.example', 'a.example']",
    ),
    "a program of one's own": (
        "",
        {"notebook.py": "import akin_search\n" + program("docs/clients.md", "akin_search.Server(")},
        ["python notebook.py"],
        "1",
    ),
    "a server with a key, its metrics and a backup": (
        "",
        {},
        [
            "key=$(akin keys create --name operator --actions read,write,admin,metrics)",
            "export AKIN_API_KEY=$key",
            SERVER,
            "echo 'The night bus stops at the old fish market.' > bus.txt",
            "akin import --quiet bus.txt",
            "akin backup --output today.akin.zst",
            'curl -s -H "authorization: Bearer $key" $AKIN_URL/metrics | grep ^akin_documents{',
        ],
        "akin_documents{",
    ),
}


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


class Site(http.server.BaseHTTPRequestHandler):
    """Pages that a first page names; of each two, the second nearly repeats the first."""

    def do_GET(self):
        if self.path == "/":
            body = "".join(f'<a href="/{page}">{page}</a>' for page in range(PAGES))
            body = f"<p>All pages of the site, by their numbers</p>{body}"
        else:
            page = int(self.path[1:])
            words = " ".join(f"w{page // 2}x{word}" for word in range(60))
            body = f"<p>{words} copy {page % 2}</p>"
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(f"<!doctype html><title>page</title>{body}".encode())

    def log_message(self, *_):
        pass


def measured(command, directory, environment):
    """Wall seconds and processor seconds of a command and its children, and what it prints."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["bash", "-euc", command]
    options = {"cwd": directory, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run(command, check=False, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{command[-1]}\n{done.stdout}{done.stderr}")
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return time.monotonic() - began, spent, done.stdout


def measure(wheel, door, site):
    """The row of a door."""
    extras, files, commands, expected = DOORS[door]
    directory = Path(tempfile.mkdtemp(prefix="akin-first-"))
    # No other akin is in reach, and no package of an earlier door.
    path = f"{directory}/venv/bin:/usr/bin:/bin"
    environment = {"PATH": path, "HOME": str(directory), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    proxies = [name for name in os.environ if name.lower().endswith("_proxy") or "PIP_" in name]
    environment |= {name: os.environ[name] for name in proxies} | {"NO_PROXY": "127.0.0.1"}
    address = free_address()
    environment |= {"AKIN__SERVER__LISTEN": address, "AKIN_URL": f"http://{address}"}
    wanted = f"{wheel}[{extras}]" if extras else str(wheel)
    install = f"{sys.executable} -m venv venv && pip install --quiet --no-cache-dir '{wanted}'"
    try:
        installed, spent, _ = measured(install, directory, environment)
        for name, text in files.items():
            (directory / name).write_text(text.replace("https://example.org/", site))
        # The server ends with the shell that started it.
        stop = "trap 'kill $(jobs -p) 2> /dev/null && wait' EXIT"
        script = "\n".join([stop, *commands])
        seconds, spent_more, printed = measured(script, directory, environment)
    finally:
        shutil.rmtree(directory)
    if expected not in printed:
        sys.exit(f"{door}: {expected!r} is not in {printed!r}")
    lines = [line for text in files.values() for line in text.splitlines() if line.strip()]
    figures = [f"{figure:.1f}" for figure in (installed, seconds, spent + spent_more)]
    row = f"| {' | '.join([door, str(len(commands) + 1), str(len(lines)), *figures])} |"
    print(row, flush=True)
    return row


def main():
    wheel = Path(sys.argv[1]).resolve()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{server.server_port}/"
    rows = [measure(wheel, door, site) for door in DOORS]
    page = ROOT / "docs/quickstart.md"
    columns = ["", "commands", "lines", "seconds to install", "to the result", "CPU seconds"]
    load = f"{os.cpu_count()} cores with a load average of {os.getloadavg()[2]:.0f}"
    head = [
        ", ".join([load, *sys.argv[2:], time.strftime("%Y-%m-%d")]) + ":",
        "",
        f"| {' | '.join(columns)} |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    table = "\n".join([*head, *rows])
    begin, end = "<!-- doors: written by bench/first_results.py -->\n", "<!-- /doors -->"
    before, rest = page.read_text().split(begin)
    page.write_text(before + begin + table + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
