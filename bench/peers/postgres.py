"""Measures akin over PostgreSQL, and datasketch over Redis, with made-up documents of 120 words."""

import datetime
import glob
import json
import os
import random
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLIENTS = 64
SINGLES = 20_000
CROWD = 20_000
PEER = 10_000
PAGE = Path(__file__).parents[2] / "docs" / "postgres.md"


def words(seed: int) -> list[str]:
    made = random.Random(seed)
    return [f"w{made.randrange(50_000)}" for _ in range(120)]


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


def requests(address: tuple[str, int], made: list[bytes], expected: set[int]) -> None:
    """Sends the requests over connections that are kept, each after the answer to the last."""
    left = iter(made)
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
            following = next(left, None)
            if following is None:
                poll.unregister(number)
                sockets.pop(number).close()
            else:
                connection.sendall(following)


def post(path: str, document: dict) -> bytes:
    body = json.dumps(document).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()


class Postgres:
    def __init__(self, directory: str):
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
                "shared_buffers = 1GB\nmax_wal_size = 8GB\nwal_compression = on\n"
                "max_locks_per_transaction = 256\nautovacuum_vacuum_cost_delay = 0\n"
            )
        self.run("pg_ctl", "-D", f"{directory}/data", "-w", "-l", f"{directory}/log", "start")
        self.pid = int(Path(f"{directory}/data/postmaster.pid").read_text().splitlines()[0])
        self.url = f"postgres://akin@{directory.replace('/', '%2F')}/postgres"

    def run(self, program: str, *arguments: str) -> None:
        command = [*self.user, f"{self.bin}/{program}", *arguments]
        subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL)

    def number(self, sql: str) -> float:
        command = ["psql", "-h", self.directory, "-U", "akin", "-d", "postgres", "-qtAc", sql]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def stop(self) -> None:
        self.run("pg_ctl", "-D", f"{self.directory}/data", "-m", "fast", "stop")


class Akin:
    def __init__(self, directory: str, database: Postgres):
        environment = {
            "AKIN__STORAGE__BACKEND": "postgres",
            "AKIN__POSTGRES__URL": database.url,
            "AKIN__LOG__FORMAT": "json",
        }
        command = [os.environ["AKIN_BIN"], "serve", "--listen", "127.0.0.1:0", "--data-dir", directory]
        self.process = subprocess.Popen(
            command, env=os.environ | environment, stderr=subprocess.PIPE, text=True
        )
        for line in self.process.stderr:
            entry = json.loads(line)
            if entry.get("message") == "listening":
                host, port = entry["address"].split(":")
                self.address = (host, int(port))
            if entry.get("message") == "ready":
                break
        self.pids = {self.process.pid, database.pid}
        self.database = database

    def measured(self, made: list[bytes], expected: set[int]) -> tuple[float, float, float]:
        """Requests a second, and µs of processor time of akin and of PostgreSQL for each."""
        before = [cpu({pid}) for pid in (self.process.pid, self.database.pid)]
        began = time.monotonic()
        requests(self.address, made, expected)
        rate = len(made) / (time.monotonic() - began)
        after = [cpu({pid}) for pid in (self.process.pid, self.database.pid)]
        own, its = ((b - a) / len(made) * 1e6 for a, b in zip(before, after))
        return rate, own, its

    def create(self, name: str, settings: dict) -> None:
        body = json.dumps(settings).encode()
        head = f"PUT /collections/{name} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        requests(self.address, [head.encode() + body], {201})


def three(number: float) -> str:
    if number == 0:
        return "0"
    digits = max(0, 2 - int(f"{number:e}".split("e")[1]))
    return f"{round(number, 2 - int(f'{number:e}'.split('e')[1])):,.{digits}f}"


def of_akin(documents: int) -> list[list[str]]:
    rows = []
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as data:
        database = Postgres(directory)
        akin = Akin(data, database)
        size = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'akin'::regnamespace"
        for name, keys, settings in [
            ("nine", "9 keys", {"scheme": {"threshold_min": 0.8}}),
            ("all", "32 keys", {}),
        ]:
            akin.create(name, settings)
            empty, path = database.number(size), f"/collections/{name}/documents"
            fill = [post(path, {"id": f"a{n}", "text": text(n)}) for n in range(documents)]
            row = [f"{documents:,} singles from empty, {keys}"]
            rows.append(row + [three(of) for of in akin.measured(fill, {201})])
            bytes_each = (database.number(size) - empty) / documents
            more = [
                post(path, {"id": f"a{n}", "text": text(n)})
                for n in range(documents, documents + SINGLES)
            ]
            row = [f"inserts after {documents:,}, {keys}, {three(bytes_each)} B a document"]
            rows.append(row + [three(of) for of in akin.measured(more, {201})])
            chosen = random.Random(1)
            lookups = [
                get(f"/collections/{name}/similar?id=a{chosen.randrange(documents)}")
                for _ in range(SINGLES)
            ]
            rows.append([f"lookups, {keys}"] + [three(of) for of in akin.measured(lookups, {200})])
        akin.create("crowd", {"scheme": {"threshold_min": 0.8}})
        for first in range(0, CROWD, CROWD // 4):
            crowd = [
                post("/collections/crowd/documents", {"id": f"c{n}", "text": of_template(n)})
                for n in range(first, first + CROWD // 4)
            ]
            row = [f"inserts {first:,} to {first + CROWD // 4:,} of one template"]
            rows.append(row + [three(of) for of in akin.measured(crowd, {201})])
        akin.process.terminate()
        akin.process.wait()
        database.stop()
    return rows


def of_datasketch() -> list[list[str]]:
    from datasketch import MinHash, MinHashLSH

    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/redis.sock"
        server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "yes",
             "--appendfsync", "always", "--dir", directory],
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

        def measured(name: str, work) -> list[str]:
            before, began = (time.process_time(), cpu({server.pid})), time.monotonic()
            for number in range(PEER):
                work(number)
            rate = PEER / (time.monotonic() - began)
            own, its = time.process_time() - before[0], cpu({server.pid}) - before[1]
            return [name, three(rate), three(own / PEER * 1e6), three(its / PEER * 1e6)]

        def insert(number: int) -> None:
            made = sketch(text(number))
            index.query(made)
            index.insert(f"a{number}", made)

        rows = [
            measured(f"datasketch over Redis: queries and inserts of {PEER:,}, one process", insert),
            measured("datasketch over Redis: queries", lambda number: index.query(sketch(text(number)))),
        ]
        server.terminate()
        server.wait()
    return rows


def main() -> None:
    documents = int(sys.argv[1])
    model = next(line for line in open("/proc/cpuinfo") if line.startswith("model name"))
    rows = of_akin(documents) + of_datasketch()
    table = [
        f"{' '.join(model.split(':')[1].split()[:2])}, {os.cpu_count()} cores shared by all, {datetime.date.today()}: "
        f"documents of 120 words, texts kept, checked and synced, {CLIENTS} clients over HTTP "
        "(`bench/postgres.sh`):",
        "",
        "| | a second | CPU µs of akin or Python | CPU µs of the database |",
        "|---|--:|--:|--:|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    page = PAGE.read_text()
    begin, end = page.index("<!-- postgres:"), page.index("<!-- /postgres -->")
    begin = page.index("\n", begin) + 1
    PAGE.write_text(page[:begin] + "\n".join(table) + "\n" + page[end:])
    print("\n".join(table))


if __name__ == "__main__":
    main()
