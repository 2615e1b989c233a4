"""Near-duplicates as a service, as one writes it by hand: FastAPI, and a library's index in memory.

One worker: the index is in the process, so a second worker would have another one. Nothing is on
disk: a restart begins empty. Matches are told by the estimates of the sketches.
"""

import socket
import sys

import uvicorn
from datasketch import MinHash, MinHashLSH
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel
from rensa import RMinHash, RMinHashLSH

import given


class Document(BaseModel):
    id: str
    text: str


def datasketch_sketch(text):
    sketch = MinHash(num_perm=given.SLOTS)
    sketch.update_batch(given.shingles(text))
    return sketch


def rensa_sketch(text):
    sketch = RMinHash(126, given.SEED)
    sketch.update(given.shingles(text))
    return sketch


def peer(library):
    if library == "datasketch":
        return datasketch_sketch, MinHashLSH(threshold=given.THRESHOLD, num_perm=given.SLOTS)
    return rensa_sketch, RMinHashLSH(given.THRESHOLD, 126, 21)


def service(library):
    app = FastAPI()
    sketch_of, index = peer(library)
    ids, numbers, sketches = [], {}, []

    def matches(sketch, own):
        near = []
        for number in index.query(sketch):
            if number == own:
                continue
            estimate = sketch.jaccard(sketches[number])
            if estimate >= given.THRESHOLD:
                near.append({"id": ids[number], "resemblance": estimate})
        return sorted(near, key=lambda match: -match["resemblance"])

    @app.post("/documents", status_code=201)
    async def add(document: Document):
        sketch = sketch_of(document.text)
        duplicates = matches(sketch, numbers.get(document.id))
        if document.id not in numbers:
            number = numbers[document.id] = len(ids)
            ids.append(document.id)
            sketches.append(sketch)
            index.insert(number, sketch)
        return {"id": document.id, "duplicates": duplicates}

    @app.get("/similar")
    async def similar(id: str, limit: int = 20):
        number = numbers.get(id)
        if number is None:
            raise HTTPException(404, "there is no such document")
        return {"matches": matches(sketches[number], number)[:limit]}

    return app


def main(library):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # Who connects before the service is up has to wait, not to be refused.
    listener.listen(1024)
    print(f"listening on 127.0.0.1:{listener.getsockname()[1]} ", flush=True)
    config = uvicorn.Config(
        service(library), loop="uvloop", http="httptools", access_log=False, log_level="warning"
    )
    uvicorn.Server(config).run(sockets=[listener])


main(sys.argv[1])
