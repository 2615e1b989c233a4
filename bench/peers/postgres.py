"""Measures akin over PostgreSQL, and datasketch over Redis, with made-up documents of 120 words.

Rates depend on what else the machine does; the processor time of a document does not. So each row
has both, and the rate that two cores without other work reach by that time."""

import argparse
import datetime
import glob
import json
import os
import random
import select
import shutil
import socket
import subprocess
import tempfile
import textwrap
import threading
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path

CLIENTS = 64
SINGLES = 20_000
CROWD = 20_000
REPLACED = 20_000
PEER = 10_000
PAGES = Path(__file__).parents[2] / "docs"
SIZE = (
    "SELECT sum(pg_total_relation_size(oid)) FROM pg_class "
    "WHERE relkind = 'r' AND relnamespace = 'akin'::regnamespace"
)


def words(seed: int) -> list[str]:
    return [f"w{number}" for number in random.Random(seed).choices(range(50_000), k=120)]


def text(number: int) -> str:
    """Every fifth document is an edition of the one before it, with two words changed."""
    if number % 5 != 4:
        return " ".join(words(number))
    edition, made = words(number - 1), random.Random(number)
    for _ in range(2):
        edition[made.randrange(120)] = f"x{made.randrange(1_000_000)}"
    return " ".join(edition)


def of_template(number: int) -> str:
    return " ".join(words(10**9)[:100] + words(2 * 10**9 + number)[:20])


def cpu(pids: set[int]) -> float:
    """Seconds of processor time of processes and their children."""
    total = 0.0
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            pid, rest = int(stat.split("/")[2]), Path(stat).read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if pid in pids or int(rest[1]) in pids:
            total += sum(map(int, rest[11:15] if pid in pids else rest[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def requests(address: tuple[str, int], made: Iterable[bytes], expected: set[int]) -> int:
    """Sends the requests over connections that are kept, each after the answer to the last."""
    left, answered = iter(made), 0
    poll, sockets, buffers = select.epoll(), {}, {}
    for _ in range(CLIENTS):
        first = next(left, None)
        if first is None:
            break
        connection = socket.create_connection(address)
        sockets[connection.fileno()], buffers[connection.fileno()] = connection, b""
        poll.register(connection, select.EPOLLIN)
        connection.sendall(first)
    while sockets:
        for number, _ in poll.poll():
            connection = sockets[number]
            buffers[number] += connection.recv(1 << 18)
            head, found, body = buffers[number].partition(b"\r\n\r\n")
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            if not found or not length.strip() or len(body) < int(length):
                if found and b"chunked" in head.lower() and body.endswith(b"0\r\n\r\n"):
                    pass
                else:
                    continue
            status = int(head[9:12])
            if status not in expected:
                raise SystemExit(f"{status}: {body[:500]!r}")
            buffers[number] = b""
            answered += 1
            following = next(left, None)
            if following is None:
                poll.unregister(number)
                sockets.pop(number).close()
            else:
                connection.sendall(following)
    return answered


def post(path: str, document: dict) -> bytes:
    body = json.dumps(document).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()


class Postgres:
    def __init__(self, directory: str, shared_buffers: str):
        self.bin = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.directory, self.user = directory, []
        if os.geteuid() == 0:
            shutil.chown(directory, "postgres", "postgres")
            self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        options = ["-A", "trust", "-U", "akin", "--no-locale", "-E", "UTF8"]
        self.run("initdb", "-D", f"{directory}/data", *options)
        with open(f"{directory}/data/postgresql.conf", "a") as conf:
            conf.write(
                f"listen_addresses = ''\nunix_socket_directories = '{directory}'\n"
                f"shared_buffers = {shared_buffers}\nmax_wal_size = 8GB\nwal_compression = on\n"
                "max_locks_per_transaction = 256\nautovacuum_vacuum_cost_delay = 0\n"
                "autovacuum_naptime = 5s\n"
            )
        self.run("pg_ctl", "-D", f"{directory}/data", "-w", "-l", f"{directory}/log", "start")
        self.pid = int(Path(f"{directory}/data/postmaster.pid").read_text().splitlines()[0])
        self.url = f"postgres://akin@{directory.replace('/', '%2F')}/postgres"

    def run(self, program: str, *arguments: str) -> None:
        command = [*self.user, f"{self.bin}/{program}", *arguments]
        subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL)

    def sql(self, sql: str) -> str:
        command = ["psql", "-h", self.directory, "-U", "akin", "-d", "postgres", "-qtAc", sql]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def size(self) -> int:
        return int(self.sql(SIZE))

    def stop(self) -> None:
        self.run("pg_ctl", "-D", f"{self.directory}/data", "-m", "fast", "stop")


class Akin:
    """A server of akin on a database of its own."""

    def __init__(self, shared_buffers: str = "1GB"):
        self.directories = [tempfile.TemporaryDirectory() for _ in range(2)]
        self.database = Postgres(self.directories[0].name, shared_buffers)
        environment = {
            "AKIN__STORAGE__BACKEND": "postgres",
            "AKIN__POSTGRES__URL": self.database.url,
            "AKIN__LOG__FORMAT": "json",
        }
        self.process = subprocess.Popen(
            [os.environ["AKIN_BIN"], "serve", "--listen", "127.0.0.1:0"]
            + ["--data-dir", self.directories[1].name],
            env=os.environ | environment, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        for line in self.process.stderr:
            entry = json.loads(line)
            if entry.get("message") == "listening":
                host, port = entry["address"].split(":")
                self.address = (host, int(port))
            if entry.get("message") == "ready":
                break
        # What else it writes is read, lest it waits.
        threading.Thread(target=deque, args=(self.process.stderr, 0), daemon=True).start()

    def __enter__(self) -> "Akin":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()
        self.database.stop()
        for directory in self.directories:
            directory.cleanup()

    def measured(self, name: str, made: Iterable[bytes], expected: set[int]) -> list[str]:
        """A row: requests a second, and the processor time of akin and of PostgreSQL for each."""
        pids = (self.process.pid, self.database.pid)
        before, began = [cpu({pid}) for pid in pids], time.monotonic()
        count = requests(self.address, made, expected)
        seconds = time.monotonic() - began
        times = [(cpu({pid}) - of) / count for pid, of in zip(pids, before)]
        return row(name, count / seconds, *times)

    def vacuum(self) -> str:
        """Vacuums what was written, lest that falls among the lookups; returns the CPU seconds."""
        began = cpu({self.database.pid})
        self.database.sql("VACUUM ANALYZE")
        return three(cpu({self.database.pid}) - began)

    def create(self, name: str, settings: dict) -> None:
        body = json.dumps(settings).encode()
        head = f"PUT /collections/{name} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        requests(self.address, [head.encode() + body], {201})


def three(number: float) -> str:
    """With three digits that count."""
    if number == 0:
        return "0"
    exponent = int(f"{number:e}".split("e")[1])
    return f"{round(number, 2 - exponent):,.{max(0, 2 - exponent)}f}"


def row(name: str, rate: float, own: float, of_database: float) -> list[str]:
    by_time = os.cpu_count() / (own + of_database)
    row = [name, three(rate), three(own * 1e6), three(of_database * 1e6), three(by_time)]
    print(*row, sep="\t", flush=True)
    return row


def posts(collection: str, numbers: Iterable[int], made=text, version: int = 0) -> Iterable[bytes]:
    path = f"/collections/{collection}/documents"
    return (post(path, {"id": f"a{n}", "text": made(n + version)}) for n in numbers)


def of_collection(akin: Akin, name: str, documents: int, keys: str, settings: dict) -> list[list[str]]:
    """Inserts into an empty collection, inserts into a full one, and lookups."""
    akin.create(name, settings)
    empty, table = akin.database.size(), []
    # Made before they are sent, unless there are too many.
    fill = posts(name, range(documents))
    fill = fill if documents > 200_000 else list(fill)
    table.append(akin.measured(f"first {documents:,} inserts, {keys}", fill, {201}))
    each = (akin.database.size() - empty) / documents
    more = list(posts(name, range(documents, documents + SINGLES)))
    title = f"inserts after {documents:,}, {keys}, {three(each)} B a document"
    table.append(akin.measured(title, more, {201}))
    table[-1][0] += f", a vacuum of {akin.vacuum()} CPU seconds afterwards"
    chosen = random.Random(1)
    lookups = [
        get(f"/collections/{name}/similar?id=a{chosen.randrange(documents)}") for _ in range(SINGLES)
    ]
    table.append(akin.measured(f"lookups among {documents:,}, {keys}", lookups, {200}))
    return table


def of_crowd(akin: Akin) -> list[list[str]]:
    akin.create("crowd", {"scheme": {"threshold_min": 0.8}})
    table, part = [], CROWD // 4
    for first in range(0, CROWD, part):
        made = list(posts("crowd", range(first, first + part), of_template))
        title = f"inserts {first:,} to {first + part:,} of one template"
        table.append(akin.measured(title, made, {201}))
    return table


def of_replaced(akin: Akin) -> list[list[str]]:
    """Replaces every document several times, with other texts."""
    akin.create("replaced", {"scheme": {"threshold_min": 0.8}})
    empty, table, expected = akin.database.size(), [], {201}
    for version in range(6):
        made = list(posts("replaced", range(REPLACED), version=version * REPLACED * 5))
        what = f"replacement {version} of all" if version else "inserts"
        measured = akin.measured(f"{what} of {REPLACED:,} documents", made, expected)
        each = three((akin.database.size() - empty) / REPLACED)
        measured[0] += f", {each} B a document afterwards"
        table.append(measured)
        expected = {200}
    spent = akin.vacuum()
    each = three((akin.database.size() - empty) / REPLACED)
    table[-1][0] += f"; {each} after a vacuum of {spent} CPU seconds"
    return table


def of_akin(documents: int) -> list[list[str]]:
    with Akin() as akin:
        table = of_collection(akin, "nine", documents, "9 keys", {"scheme": {"threshold_min": 0.8}})
        table += of_collection(akin, "all", documents, "32 keys", {})
        return table + of_crowd(akin) + of_replaced(akin)


def of_large(documents: int) -> list[list[str]]:
    """With buffers for a sixth of the data, which has some 2,300 bytes a document."""
    with Akin(f"{documents * 2_300 // 6 >> 20}MB") as akin:
        settings = {"scheme": {"threshold_min": 0.8}}
        keys = "9 keys, buffers of a sixth"
        return of_collection(akin, "large", documents, keys, settings)


def of_datasketch() -> list[list[str]]:
    from datasketch import MinHash, MinHashLSH

    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/redis.sock"
        server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", directory]
            + ["--appendonly", "yes", "--appendfsync", "always"],
            stdout=subprocess.DEVNULL,
        )
        while not os.path.exists(path):
            time.sleep(0.01)
        storage = {"type": "redis", "redis": {"unix_socket_path": path}}
        index = MinHashLSH(threshold=0.8, num_perm=128, storage_config=storage)

        def sketch(document: str) -> MinHash:
            cut = document.split()
            made = MinHash(num_perm=128)
            made.update_batch([" ".join(cut[n : n + 3]).encode() for n in range(len(cut) - 2)])
            return made

        def insert(number: int) -> None:
            made = sketch(text(number))
            index.query(made)
            index.insert(f"a{number}", made)

        def measured(name: str, work) -> list[str]:
            before = (time.process_time(), cpu({server.pid}), time.monotonic())
            for number in range(PEER):
                work(number)
            after = (time.process_time(), cpu({server.pid}), time.monotonic())
            own, its, seconds = ((b - a) / PEER for a, b in zip(before, after))
            return row(name, 1 / seconds, own, its)

        table = [
            measured(f"datasketch over Redis: first {PEER:,} queries with inserts", insert),
            measured("datasketch over Redis: queries", lambda n: index.query(sketch(text(n)))),
        ]
        server.terminate()
        server.wait()
    return table


def write(page: str, table: list[list[str]]) -> None:
    """Replaces the table of a page."""
    model = next(line for line in open("/proc/cpuinfo") if line.startswith("model name"))
    told = (
        f"{' '.join(model.split(':')[1].split()[:2])}, {os.cpu_count()} cores shared by all, "
        f"{datetime.date.today()}: documents of 120 words, texts kept, checked and synced, "
        f"{CLIENTS} clients over HTTP (datasketch: one process without HTTP, texts not kept):"
    )
    lines = [
        *textwrap.wrap(told, 120),
        "",
        "| | a second | CPU µs of akin or Python | CPU µs of the database | a second by CPU time |",
        "|---|--:|--:|--:|--:|",
        *(f"| {' | '.join(of)} |" for of in table),
    ]
    path = PAGES / page
    begin, end = "<!-- postgres: written by bench/postgres.sh -->\n", "<!-- /postgres -->"
    before, _, rest = path.read_text().partition(begin)
    after = rest.partition(end)[2]
    path.write_text(before + begin + "\n".join(lines) + "\n" + end + after)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", type=int, nargs="?", default=100_000)
    parser.add_argument(
        "--large", type=int, nargs="*", default=[], help="documents with buffers for a sixth of them"
    )
    given = parser.parse_args()
    table, peer = of_akin(given.documents), of_datasketch()
    write("postgres.md", table + peer)
    write("benchmarks.md", table[1:3] + peer)
    large, shown = [], []
    for documents in given.large:
        rows = of_large(documents)
        large, shown = large + rows, shown + rows[1:]
        write("postgres.md", table + large + peer)
        write("benchmarks.md", table[1:3] + shown + peer)


if __name__ == "__main__":
    main()
