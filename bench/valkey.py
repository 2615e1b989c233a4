"""akin over Valkey beside datasketch with its Redis storage: inserts, lookups, memory.

Both get the same made-up documents in turns, so that the machine's other work falls on both.
datasketch's sketches are made beforehand and not timed; akin gets texts over HTTP, cuts them,
looks each up and answers what is near it, and stores sets, so that it can verify. datasketch has
the bands that it chooses, and 21 of 6 rows, with which it finds as much. Its storage does not
support a Redis Cluster, so it has one server without replicas and without files; akin has three with
an append-only file, each with a replica. Memory is that of the masters without the buffers of
replication.

The CPU microseconds of an operation are those of all its servers: akin and the masters, or datasketch
(which is this program) and its server. akin's clients, which are in this program, are not counted.

With --masters akin alone runs over other numbers of masters afterwards, a new cluster for each.

With --write the tables replace the former ones in docs/scaling.md.
"""

import argparse
import collections
import concurrent.futures
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import redis
from datasketch import MinHash, MinHashLSH

THRESHOLD = 0.8
SLOTS = 128
WORDS = 120
BATCH = 500
PROBES = 100
SENDERS = 4


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def program(*names: str) -> str:
    found = (shutil.which(name) for name in names)
    return next(path for path in found if path)


PAGE = Path(__file__).parent.parent / "docs" / "scaling.md"


def cpu_seconds(pid: int) -> float:
    """Of all threads of a process, to the nanosecond."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            total += int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0])
        except OSError:
            pass  # the thread has ended
    return total / 1e9


# All that were started, so that each ends with this program.
STARTED: list[subprocess.Popen] = []


def start(*command: str, **options) -> subprocess.Popen:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, **options)
    STARTED.append(process)
    return process


def end_all() -> None:
    for process in reversed(STARTED):
        process.kill()
        process.wait()


class Node:
    def __init__(self, directory: Path, *settings: str) -> None:
        directory.mkdir()
        self.port = free_port()
        server = program("valkey-server", "redis-server", "valkey-check-rdb", "redis-check-rdb")
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(directory)]
        options += ["--save", "", "--logfile", "log", *settings]
        name = os.path.basename(server).replace("check-rdb", "server")
        self.pid = start(name, *options, executable=server).pid
        self.client = redis.Redis(port=self.port)
        until(lambda: self.client.ping(), "a node answers")

    def used_memory(self) -> int:
        memory = self.client.info("memory")
        buffers = memory.get("mem_total_replication_buffers", memory["mem_replication_backlog"])
        return int(memory["used_memory"]) - int(buffers)


def until(is_so, what: str, seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if is_so():
                return
        except (redis.exceptions.RedisError, OSError, http.client.HTTPException):
            pass
        time.sleep(0.05)
    raise TimeoutError(what)


class Valkey:
    SETTINGS = (
        *("--cluster-enabled", "yes", "--zset-max-listpack-entries", "256"),
        *("--repl-diskless-sync-delay", "0"),
    )

    def __init__(self, directory: Path, plain: bool, masters: int) -> None:
        self.count = masters
        settings = (*self.SETTINGS, "--appendonly", "no" if plain else "yes")
        self.nodes = [
            Node(directory / str(n), "--cluster-port", str(free_port()), *settings)
            for n in range(masters if plain else 2 * masters)
        ]
        self.addresses = [f"127.0.0.1:{node.port}" for node in self.nodes]
        client = program("valkey-cli", "redis-cli")
        create = [client, "--cluster", "create", *self.addresses]
        create += ["--cluster-replicas", "0" if plain else "1", "--cluster-yes"]
        subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
        until(self.is_whole, "Valkey is whole")

    def is_whole(self) -> bool:
        states = [node.client.cluster("INFO") for node in self.nodes]
        are_ok = all(state["cluster_state"] == "ok" for state in states)
        return are_ok and len(self.masters()) == self.count

    def masters(self) -> list[Node]:
        return [node for node in self.nodes if node.client.info("replication")["role"] == "master"]

    def used_memory(self) -> int:
        return sum(node.used_memory() for node in self.masters())

    def commands(self) -> int:
        return sum(n.client.info("stats")["total_commands_processed"] for n in self.masters())


class Akin:
    name = "akin"

    def __init__(self, arguments: argparse.Namespace, directory: Path, masters: int = 3) -> None:
        self.valkey = Valkey(directory, arguments.plain, masters)
        expected = arguments.documents + arguments.more
        self.add = "/documents" if arguments.check else "/documents?check=false"
        self.port = free_port()
        environment = {
            **os.environ,
            "AKIN__STORAGE__BACKEND": "valkey",
            "AKIN__VALKEY__NODES": json.dumps(self.valkey.addresses),
            "AKIN__VALKEY__DOCUMENTS_EXPECTED": str(expected),
            "AKIN__COLLECTION__STORE__TEXT": "false",
            "AKIN__LOG__LEVEL": "error",
            # All senders are one client.
            "AKIN__SERVER__CLIENT_SHARE_PERCENT": "100",
            **dict(setting.split("=", 1) for setting in arguments.set),
        }
        serve = [arguments.akin, "serve", "--listen", f"127.0.0.1:{self.port}"]
        serve += ["--data-dir", str(directory / "akin")]
        (directory / "akin").mkdir()
        server = start(*serve, env=environment)
        until(lambda: server.poll() or self.call("GET", "/readyz", b"")[0] == 200, "akin is ready")
        if server.returncode:
            sys.exit("akin did not start")
        self.empty = self.valkey.used_memory()
        self.pid = server.pid

    def cpu(self) -> tuple[float, float]:
        """Of akin, and of the masters."""
        masters = sum(cpu_seconds(node.pid) for node in self.valkey.masters())
        return cpu_seconds(self.pid), masters

    def call(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request(method, path, body, {"content-type": "application/x-ndjson"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def send(self, path: str, lines: list[dict]) -> list[dict]:
        body = "".join(json.dumps(line) + "\n" for line in lines).encode()
        status, answer = self.call("POST", path, body)
        assert status == 200, answer[:1000]
        answers = [json.loads(line) for line in answer.splitlines()]
        failed = [answer for answer in answers if answer.get("status") in (None, "failed")]
        return answers if path.startswith("/similar") or not failed else self.refuse(failed)

    def refuse(self, failed: list[dict]) -> list[dict]:
        raise RuntimeError(json.dumps(failed[0]))

    def in_batches(self, path: str, lines: list[dict], size: int) -> list[dict]:
        batches = [lines[first : first + size] for first in range(0, len(lines), size)]
        with concurrent.futures.ThreadPoolExecutor(SENDERS) as senders:
            answers = senders.map(lambda batch: self.send(path, batch), batches)
            return [answer for batch in answers for answer in batch]

    def insert(self, documents: list[dict]) -> None:
        self.in_batches(self.add, documents, BATCH)

    def look_up(self, documents: list[dict]) -> list[set[str]]:
        probes = [{"text": document["text"]} for document in documents]
        answers = self.in_batches(f"/similar?threshold={THRESHOLD}", probes, PROBES)
        return [{match["id"] for match in answer["matches"]} for answer in answers]

    def used_memory(self) -> int:
        return self.valkey.used_memory() - self.empty


class Datasketch:
    def __init__(self, directory: Path, params: tuple[int, int] | None) -> None:
        self.node = Node(directory / f"datasketch-{params}")
        storage = {
            "type": "redis",
            "basename": b"datasketch",
            "redis": {"host": "127.0.0.1", "port": self.node.port},
        }
        self.index = MinHashLSH(
            threshold=THRESHOLD, num_perm=SLOTS, params=params, storage_config=storage
        )
        self.name = f"datasketch, {self.index.b} bands of {self.index.r} rows"
        self.sketches: dict[str, MinHash] = {}
        self.empty = self.node.used_memory()

    def cpu(self) -> tuple[float, float]:
        return cpu_seconds(os.getpid()), cpu_seconds(self.node.pid)

    def insert(self, documents: list[dict]) -> None:
        with self.index.insertion_session() as session:
            for document in documents:
                session.insert(document["id"], self.sketches[document["id"]])

    def look_up(self, documents: list[dict]) -> list[set[str]]:
        return [set(self.index.query(self.sketches[document["id"]])) for document in documents]

    def used_memory(self) -> int:
        return self.node.used_memory() - self.empty


def shingles(text: str) -> list[bytes]:
    words = text.split()
    return [" ".join(words[first : first + 3]).encode() for first in range(len(words) - 2)]


def sketches(documents: list[dict]) -> dict[str, MinHash]:
    made = MinHash.bulk([shingles(document["text"]) for document in documents], num_perm=SLOTS)
    return {document["id"]: sketch for document, sketch in zip(documents, made)}


def made_up(count: int, chance: random.Random) -> list[dict]:
    """Every fourth document is an edition of the one before it, with two words changed."""
    documents: list[dict] = []
    for number in range(count):
        if number % 4 == 3:
            words = documents[-1]["text"].split()
            for _ in range(2):
                words[chance.randrange(WORDS)] = f"x{chance.randrange(10**6)}"
        else:
            words = [f"w{chance.randrange(50_000)}" for _ in range(WORDS)]
        documents.append({"id": f"document-{number:09}", "text": " ".join(words)})
    return documents


def measured(peer, rates: dict, name: str, count: int, work):
    """Notes the operations a second, and the CPU microseconds of each in the peer and its servers."""
    before, began = peer.cpu(), time.perf_counter()
    result = work()
    took, after = time.perf_counter() - began, peer.cpu()
    rates[name].append(count / took)
    used = [(now - then) / count * 1e6 for now, then in zip(after, before)]
    rates[f"{name} client"].append(used[0])
    rates[f"{name} nodes"].append(used[1])
    return result


def found_share(documents: list[dict], found: list[set[str]]) -> float:
    """The share of editions whose original was found."""
    editions = [n for n in range(len(documents)) if n % 4 == 3]
    hits = sum(documents[n - 1]["id"] in found[n] for n in editions)
    return hits / len(editions)


def run(arguments: argparse.Namespace, directory: Path) -> None:
    akin = Akin(arguments, directory)
    others = [Datasketch(directory, params) for params in (None, (21, 6))]
    peers = [akin, *others]
    chance = random.Random(17)
    rates: dict[str, dict[str, list[float]]] = {
        peer.name: collections.defaultdict(list) for peer in peers
    }
    per_round = arguments.documents // arguments.rounds // 4 * 4
    for number in range(arguments.rounds):
        documents = made_up(per_round, chance)
        for document in documents:
            document["id"] = f"{number}-{document['id']}"
        made = sketches(documents)
        for other in others:
            other.sketches = made
        for peer in peers:
            of = rates[peer.name]
            measured(peer, of, "inserts", per_round, lambda: peer.insert(documents))
        for peer in peers:
            of = rates[peer.name]
            found = measured(peer, of, "lookups", per_round, lambda: peer.look_up(documents))
            of["found"].append(found_share(documents, found))
    stored = per_round * arguments.rounds
    memory = {peer.name: peer.used_memory() / stored for peer in peers}
    lines = [*about(arguments, akin, stored), "", *table(rates, memory)]
    print("\n".join(lines), flush=True)
    lines += grow(akin, arguments.more, stored, chance)
    lines += spread(arguments, directory, chance)
    if arguments.write:
        write(lines)


def about(arguments: argparse.Namespace, akin: Akin, stored: int) -> list[str]:
    server = akin.valkey.nodes[0].client.info("server")
    program = "Valkey " + server["valkey_version"] if "valkey_version" in server else None
    program = program or "Redis " + server["redis_version"]
    nodes = "3 masters" if arguments.plain else "3 masters with a replica each"
    checked = "each insert checked" if arguments.check else "without checks"
    return [
        f"{time.strftime('%Y-%m-%d')}, {program}, {nodes}, {checked}: {stored:,} documents of "
        f"{WORDS} words in {arguments.rounds} turns."
    ]


def write(lines: list[str]) -> None:
    begin, end = "<!-- bench/valkey.sh -->\n", "<!-- /bench/valkey.sh -->"
    before, rest = PAGE.read_text().split(begin)
    after = rest.split(end, 1)[1]
    PAGE.write_text(before + begin + "\n".join(lines) + "\n" + end + after)


def table(rates: dict, memory: dict) -> list[str]:
    lines = [
        "| | inserts/s | CPU µs an insert: client, nodes | lookups/s | CPU µs a lookup | B a document "
        "| editions found |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, of in rates.items():
        middle = {key: np.median(values) for key, values in of.items()}
        cells = [f"{middle['inserts']:,.0f}"]
        cells += [f"{middle['inserts client']:,.0f}, {middle['inserts nodes']:,.0f}"]
        cells += [f"{middle['lookups']:,.0f}"]
        cells += [f"{middle['lookups client']:,.0f}, {middle['lookups nodes']:,.0f}"]
        cells += [f"{memory[name]:,.0f}", f"{middle['found']:.4f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def grow(akin: Akin, more: int, stored: int, chance: random.Random) -> list[str]:
    """akin alone, further: what a document takes, and how many commands."""
    step = max(more // 10 // 4 * 4, 4)
    lines = []
    for first in range(0, more, step):
        if first == 0:
            lines += ["", "| documents | inserts/s | B a document | commands an insert |"]
            lines += ["|--:|--:|--:|--:|"]
        documents = made_up(step, chance)
        for document in documents:
            document["id"] = f"more-{first}-{document['id']}"
        before, rates = akin.valkey.commands(), collections.defaultdict(list)
        measured(akin, rates, "inserts", step, lambda: akin.insert(documents))
        commands = (akin.valkey.commands() - before) / step
        stored += step
        rate, bytes_each = rates["inserts"][0], akin.used_memory() / stored
        lines.append(f"| {stored:,} | {rate:,.0f} | {bytes_each:,.0f} | {commands:.1f} |")
        print(lines[-1], flush=True)
    return lines


def spread(arguments: argparse.Namespace, directory: Path, chance: random.Random) -> list[str]:
    """akin alone over other numbers of masters: what an operation costs in all processes."""
    lines = []
    for masters in arguments.masters:
        if not lines:
            columns = ["masters", "CPU µs an insert: akin, nodes", "CPU µs a lookup", "commands an insert"]
            lines += ["", f"| {' | '.join(columns)} |", "|--:|--:|--:|--:|"]
            print("\n".join(lines), flush=True)
        end_all()
        STARTED.clear()
        below = directory / f"masters-{masters}"
        below.mkdir()
        akin, rates = Akin(arguments, below, masters), collections.defaultdict(list)
        per_round = arguments.documents // arguments.rounds // 4 * 4
        # The first turn fills the cluster and is not counted.
        for number in range(3):
            documents = made_up(per_round, chance)
            for document in documents:
                document["id"] = f"{number}-{document['id']}"
            before = akin.valkey.commands()
            measured(akin, rates, "inserts", per_round, lambda: akin.insert(documents))
            rates["commands"].append((akin.valkey.commands() - before) / per_round)
            measured(akin, rates, "lookups", per_round, lambda: akin.look_up(documents))
        middle = {name: np.median(values[1:]) for name, values in rates.items()}
        cpu = lambda of: f"{middle[f'{of} client']:,.0f}, {middle[f'{of} nodes']:,.0f}"
        cells = [cpu("inserts"), cpu("lookups")]
        lines.append(f"| {masters} | {' | '.join(cells)} | {middle['commands']:.1f} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--akin", required=True)
    parser.add_argument("--documents", type=int, default=40_000, help="for both")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--more", type=int, default=0, help="for akin alone, afterwards")
    parser.add_argument("--plain", action="store_true", help="without replicas and append-only file")
    parser.add_argument("--masters", type=int, nargs="*", default=[], help="further numbers of masters")
    parser.add_argument("--write", action="store_true", help="the tables into docs/scaling.md")
    parser.add_argument("--check", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--set", action="append", default=[], help="AKIN__… of akin's, as NAME=VALUE")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as directory:
        try:
            run(parser.parse_args(), Path(directory))
        finally:
            end_all()


main()
