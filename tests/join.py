"""Runs the queries of docs/engines-for-tables.md on made-up documents, and compares the outcome with akin's."""

import json
import os
import random
import re
import subprocess
import tempfile
from pathlib import Path

import duckdb

PAGE = Path(__file__).parent.parent / "docs" / "engines-for-tables.md"
AKIN = os.environ["AKIN_BIN"]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def corpus() -> list[dict[str, str]]:
    """Families of texts with up to six words changed, and some equal texts."""
    chance = random.Random(17)
    words = [f"w{number}" for number in range(3000)]
    documents = []
    for family in range(200):
        text = chance.choices(words, k=chance.randint(20, 120))
        for member in range(chance.randint(1, 5)):
            changed = list(text)
            for _ in range(chance.randint(0, 6)):
                changed[chance.randrange(len(text))] = chance.choice(words)
            documents.append({"id": f"f{family}-{member}", "text": " ".join(changed)})
    copy = " ".join(chance.choices(words, k=50))
    documents += [{"id": f"copy{number}", "text": copy} for number in range(20)]
    chance.shuffle(documents)
    return documents


def akin(*arguments: str) -> str:
    done = subprocess.run([AKIN, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def akin_pairs(mode: str) -> list[tuple[str, ...]]:
    lines = akin("pairs", "docs.jsonl", "--mode", mode, "--threshold", "0.8").splitlines()
    # The ids of a pair are in the natural order of numbers, and in the order of bytes in SQL.
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return sorted((*sorted(ids), resemblance) for *ids, resemblance in rows)


def akin_clusters() -> dict[str, str]:
    by = ("--threshold", "0.8", "--linkage", "single", "--keep", "id", "--annotate")
    lines = akin("dedup", "docs.jsonl", *by).splitlines()
    documents = [json.loads(line) for line in lines]
    return {document["id"]: document["representative"] for document in documents}


def rounded(pairs: list[tuple[str, str, float]]) -> list[tuple[str, ...]]:
    return sorted((a, b, f"{resemblance:.9f}") for a, b, resemblance in pairs)


def check(name: str, found: object, expected: object) -> None:
    assert found == expected, f"{name}: {found}\nakin: {expected}"


def check_duckdb() -> None:
    pairs, clusters, without_sets = blocks("sql")
    database = duckdb.connect()
    database.execute(pairs)
    verified, estimated = akin_pairs("verified"), akin_pairs("estimated")
    assert len(verified) > 300 and verified != estimated, "the documents tell the modes apart"
    check("pairs", rounded(database.sql("FROM pairs").fetchall()), verified)
    database.execute(clusters)
    check("clusters", dict(database.sql("FROM clusters").fetchall()), akin_clusters())
    database.execute(without_sets)
    check("estimated", rounded(database.sql("FROM pairs").fetchall()), estimated)


def check_spark() -> None:
    (program,) = (block for block in blocks("python") if "pyspark" in block)
    names: dict[str, object] = {}
    exec(program, names)
    pairs = [tuple(row) for row in names["spark"].table("pairs").collect()]
    check("pairs of Spark", rounded(pairs), akin_pairs("verified"))
    clusters = {row.id: row.representative for row in names["clusters"].collect()}
    check("clusters of Spark", clusters, akin_clusters())


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        Path("docs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in corpus()))
        akin("sketch", "docs.jsonl", "--sets", "--threshold", "0.8", "-o", "sketches.parquet")
        check_duckdb()
        if "AKIN_SPARK" in os.environ:
            check_spark()


main()
