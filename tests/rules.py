"""The alert rules over the metrics of a real server: `rules.py PROMTOOL AKIN`.

The server has imported 110,000 documents and taken a snapshot. An hour in which its figures stand
still, but for the age of the snapshot, is played to promtool: no alert may fire. Then the cause of
an alert is put into these very series, and the alert has to fire.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

PROMTOOL, AKIN = sys.argv[1:3]
RULES = Path(__file__).resolve().parents[1] / "deploy" / "prometheus" / "akin.rules.yml"
DOCUMENTS = 110_000

# The metrics whose values are the cause of an alert, with these values.
CAUSES = {
    "AkinDown": {"up": 0},
    "AkinCollectionUnavailable": {"akin_collections_unavailable": 1},
    "AkinDiskLow": {"akin_disk_free_bytes": 1},
    "AkinMemoryHigh": {"process_resident_memory_bytes": 1e15},
    "AkinRequestMemoryShort": {"akin_memory_reserved_bytes": 1e15},
    "AkinSnapshotOld": {"akin_log_rows": 200_000, "akin_snapshot_age_seconds": 100_000},
    "AkinWalLarge": {"akin_wal_bytes": 2e9},
}


def call(url: str, body: bytes | None = None, media: str = "application/json") -> bytes:
    request = urllib.request.Request(url, body, {"content-type": media} if body is not None else {})
    with urllib.request.urlopen(request, timeout=300) as response:
        return response.read()


def scrape() -> list[str]:
    """The metrics of a server after an import and a snapshot."""
    with tempfile.TemporaryDirectory() as scratch:
        server = subprocess.Popen(
            [AKIN, "serve", "--listen", "127.0.0.1:0", "--data-dir", f"{scratch}/data"],
            stderr=subprocess.PIPE, text=True,
        )
        try:
            address = next(filter(None, (re.search(r'"address":"([^"]+)"', line) for line in server.stderr)))
            url = f"http://{address[1]}"
            lines = (json.dumps({"id": str(n), "text": f"the night bus {n} stops"}) for n in range(DOCUMENTS))
            call(f"{url}/documents?check=false", "\n".join(lines).encode(), "application/x-ndjson")
            call(f"{url}/snapshots", b"")
            deadline = time.monotonic() + 120
            while json.loads(call(f"{url}/stats"))["log_rows"] > 0:
                assert time.monotonic() < deadline, "no snapshot was taken"
                time.sleep(0.1)
            return call(f"{url}/metrics").decode().splitlines()
        finally:
            server.terminate()
            server.wait(60)


def alerts(samples: list[tuple[str, str, str]]) -> str:
    """What promtool says of the alerts after an hour with these samples; empty if none fires."""
    names = re.findall(r"- alert: (\w+)", RULES.read_text())
    series = [
        {"series": f"{name}{{{labels}}}", "values": f"{value}{'+60' if 'age_seconds' in name else '+0'}x90"}
        for name, labels, value in samples
    ]
    rules = [{"eval_time": "80m", "alertname": name, "exp_alerts": []} for name in names]
    tests = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": rules}],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump(tests, file)
        file.flush()
        run = subprocess.run([PROMTOOL, "test", "rules", file.name], capture_output=True, text=True)
    return "" if run.returncode == 0 else run.stdout + run.stderr


own = 'job="akin",instance="akin:2546"'
samples = [("up", own, "1")]
for line in scrape():
    if found := re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line):
        name, labels, value = found.groups()
        samples.append((name, f"{labels},{own}" if labels else own, value))

fired = alerts(samples)
assert not fired, f"a server that idles in good health raises alerts:\n{fired}"
for alert, values in CAUSES.items():
    missing = values.keys() - {name for name, _, _ in samples}
    assert not missing, f"{alert}: the server has no {missing}"
    caused = [(name, labels, str(values.get(name, value))) for name, labels, value in samples]
    assert alert in alerts(caused), f"{alert} does not fire for {values}"
print(f"no alert of a server that idles after {DOCUMENTS} writes; {len(CAUSES)} fire for their causes")
