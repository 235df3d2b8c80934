"""What the tests of archives share: a cache of their own, small versions of the declarations, a server on loopback."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import http.server
import io
import sys
import threading
import time
from types import MappingProxyType

import numpy as np
import pytest
from PIL import Image

from benchmark_data import draws
from benchmark_data.archives.archive import Precomputed
from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.dataset import Dataset, Family
from benchmark_data.factors import Factor, FactorSpace, FactorTable
from benchmark_data.sources import Rendered, Selected
from benchmark_data.types import Extra, Source


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    """Keep every test out of the user's own cache."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("OFFAXIS_CACHE", str(folder))
    monkeypatch.delenv("OFFAXIS_MANUAL_DIR", raising=False)
    return folder


@pytest.fixture(autouse=True, scope="module")
def tfds_registry():
    """Forget the builders that a module registered, so that another one can register its own under the same names."""
    before = _registered().copy()
    yield
    for name in _registered().keys() - before:
        del _registered()[name]


def _registered():
    if "tensorflow_datasets" not in sys.modules:
        return {}
    from tensorflow_datasets.core import registered

    return registered._DATASET_REGISTRY


def png(pixels):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture
def shrink():
    """Return a dataset's declaration for a smaller archive: fewer values and rows, no published hashes or figures."""

    def make(dataset, sizes=None, splits=None, statistics=None, selected=(), archive=None):
        source, splits = dataset.source, splits or {}
        selected = [selected] if isinstance(selected, range) else list(selected)
        if isinstance(source, Precomputed):
            base = make(source.base, sizes, selected=selected, archive=archive)
            source = dataclasses.replace(source, base=base, statistics=statistics or PublishedStatistics())
            return dataclasses.replace(dataset, source=source, space=source.space, splits=splits)
        if isinstance(source, Selected):
            base = make(source.base, sizes, selected=selected[1:], archive=archive)
            source = dataclasses.replace(source, base=base, rows=selected[0])
            return dataclasses.replace(dataset, source=source, space=source.space, splits=splits)
        changes = dict(archive or {})
        if sizes:
            changes["factors"] = tuple(
                Factor(f.name, f.values[:n], f.kind, f.unit, f.labels[:n])
                for f, n in zip(source.factors, sizes, strict=True)
            )
            if source.grid:
                changes["rows"] = int(np.prod(sizes))
        unknown = {"size": None, "sha256": "", "md5": "", "urls": ()}
        changes["distributions"] = tuple(
            dataclasses.replace(
                distribution, files=tuple(dataclasses.replace(d, **unknown) for d in distribution.files)
            )
            for distribution in source.distributions
        )
        source = dataclasses.replace(source, statistics=statistics or PublishedStatistics(), **changes)
        return dataclasses.replace(
            dataset, source=source, space=source.space, image_shape=source.image_shape, splits=splits
        )

    return make


class Server:
    """A web server on loopback that can misbehave. ``served`` lists the requests: (path, Range header, status)."""

    def __init__(self):
        self.files, self.behaviour, self.served = {}, {}, []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                server.answer(self)

            def log_message(self, *args):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, name, content, **behaviour):
        """Serve ``content`` and give its address.

        Behaviour: ``cut`` bytes after which the connection breaks (each time), ``stall`` seconds of silence half-way,
        ``status``, ``location``, ``type``, ``ranges`` (False: parts cannot be asked for), ``etag``, ``length`` (False:
        not announced), ``announced`` (how it is written), ``encoding`` (only named), ``after`` a function called once
        the headers are out.
        """
        self.files[f"/{name}"], self.behaviour[f"/{name}"] = content, behaviour
        return f"http://127.0.0.1:{self._server.server_port}/{name}"

    def answer(self, request):
        content, how = self.files.get(request.path), self.behaviour.get(request.path, {})
        wanted = request.headers.get("Range")
        tag = how.get("etag", f'"{hashlib.md5(content or b"").hexdigest()}"')
        start, status = 0, how.get("status", 200 if content is not None else 404)
        if wanted and how.get("ranges", True) and request.headers.get("If-Range", tag) == tag and status == 200:
            start, status = int(wanted.removeprefix("bytes=").rstrip("-")), 206
            if start >= len(content):
                start, status, content = 0, 416, b""
        self.served.append((request.path, wanted, status))
        content = content or b""
        request.send_response(status)
        if "location" in how:
            request.send_header("Location", how["location"])
        request.send_header("Content-Type", how.get("type", "application/octet-stream"))
        if "encoding" in how:
            request.send_header("Content-Encoding", how["encoding"])
        if tag:
            request.send_header("ETag", tag)
        if status == 206:
            request.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if how.get("length", True):
            request.send_header("Content-Length", how.get("announced", "{0}").format(len(content) - start))
        request.send_header("Connection", "close")
        request.end_headers()
        body = content[start:]
        try:
            if "stall" in how:
                request.wfile.write(body[: len(body) // 2])
                request.wfile.flush()
                time.sleep(how["stall"])
            request.wfile.write(body[: how["cut"]] if "cut" in how else body)
        except OSError:
            pass  # The client hung up, as it may.
        request.close_connection = True


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def png_bytes():
    return png


@pytest.fixture(scope="session")
def tiny_grid():
    """Twelve grey images of 5 x 7 pixels on a full grid, in one split."""

    def pixels(labels):  # local, so that it travels to worker processes by value
        seeds = labels @ np.array([97, 13])
        return (draws.bits(5, seeds, 35) % np.uint64(256)).astype(np.uint8).reshape(-1, 5, 7, 1)

    return Dataset(
        name="tiny_grid",
        version="1.2.3",
        space=FactorSpace(
            Factor("shape", (1, 2, 3), "categorical", labels=("square", "ellipse", "heart")),
            Factor("angle", (0, 0.5, 1, 1.5), "cyclic", unit="rad"),
        ),
        source=Rendered(pixels),
        image_shape=(5, 7, 1),
        description="Noise that depends on the labels.",
        citation="@misc{tiny, title={Tiny}}",
        license="MIT",
        homepage="https://example.org/tiny",
    )


@pytest.fixture(scope="session")
def tiny_family():
    """Two configs of colour images with a label table, two splits of unequal length, extra arrays and a defect."""
    table = np.array([[0, 1], [1, 0], [0, 299], [1, 150], [1, 1], [0, 2], [1, 3], [0, 4], [0, 5], [1, 6], [1, 7]])
    factors = Factor("smiling", (0, 1), "binary", labels=("no", "yes")), Factor("identity", range(300), "categorical")

    @dataclasses.dataclass(frozen=True)
    class WithExtras(Source):
        plus: int
        extras = MappingProxyType(
            {
                "rotation": Extra((3, 3), "float64", "rotation matrix"),
                "landmark": Extra((2,), "int32", "x and y, px"),
            }
        )

        def images(self, indices, labels):
            pixels = (draws.bits(6, indices, 72) % np.uint64(200)).astype(np.uint8) + self.plus
            return pixels.astype(np.uint8).reshape(-1, 6, 4, 3)

        def extra(self, name, indices):
            if name == "rotation":
                return draws.normal(7, indices, 9).reshape(-1, 3, 3)
            return (draws.bits(8, indices, 2) % np.uint64(400)).astype(np.int32) - 200

    return Family(
        *(
            Dataset(
                name="tiny_family",
                config=f"plus_{plus}",
                parameters={"plus": plus},
                version="2.0.1",
                space=FactorTable(*factors, rows=len(table), read=lambda: table),
                source=WithExtras(plus),
                image_shape=(6, 4, 3),
                description=f"Noise plus {plus}.",
                citation="@misc{tiny, title={Tiny}}",
                license="Apache-2.0",
                homepage="https://example.org/tiny",
                defects=("Row 3 is blurred.",),
                splits={"train": range(8), "test": range(8, 11)},
            )
            for plus in (1, 2)
        ),
        default="plus_2",
    )


@pytest.fixture
def disk_full():
    """A context in which no file grows beyond some bytes, as on a full disk; the operating system refuses the rest."""
    resource = pytest.importorskip("resource")

    @contextlib.contextmanager
    def full(size):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:  # before pytest writes its own report, which may go to a file
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return full
