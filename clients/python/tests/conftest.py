from typing import Iterator

import pytest
from server import Server

import akin_search


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("akin")) as server:
        yield server


@pytest.fixture
def client(server: Server, request: pytest.FixtureRequest) -> Iterator[akin_search.Client]:
    """A client of a collection of the test's own."""
    name = request.node.originalname.replace("test_", "")[:60]
    with akin_search.Client(server.url) as root:
        root.create_collection(name)
        yield root.collection(name)
        root.remove_collection(name)
