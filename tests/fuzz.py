"""Damaged and hostile files at every public door: each is taken, or refused by an error of ours that is printable.

``python tests/fuzz.py --minutes 60`` goes on as long as one likes; ``tests/test_fuzz.py`` tries a fixed number. A case
is a function of its number, so that ``--first N --cases 1`` repeats it.
"""

import argparse
import collections
import faulthandler
import io
import json
import random
import re
import resource
import runpy
import shutil
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from pathlib import Path

import h5py
import numpy as np
import onnx
import PIL.Image
import safetensors.numpy
from onnx import TensorProto, helper

import benchmark_data
from baselines import Run, run_folder
from benchmark_data.archives import containers, npz, store
from benchmark_data.errors import DamagedFile, OffaxisError
from benchmark_data.inspect import audit, audit_text
from leaderboard.metrics import mig
from leaderboard.reading import graphs, representations
from leaderboard.report import formats, integrity
from leaderboard.scoring import candidates, submission
from leaderboard.store import results_tree

HERE = Path(__file__).parent
NASTY = [None, True, -1, 0, 10**30, 1e308, float("nan"), float("inf"), "", "\x1b[2J\u202e", "x" * 10_000, [], [[]], {}]
NASTY += [{"a": {}}, "../../etc/passwd", "\ud800", "0", [None], -(2**63), 0.5, "toy/small", [1] * 1_000]


def board(at):
    raised([*integrity.check(at)])
    formats.terminal(results_tree.read_all(at), "")


def raised(problems):
    for problem in problems:
        raise problem


def metrics(at):
    for file in sorted(at.iterdir()):
        found = representations.codes(file)
        representations.activations(file)
        mig.score(found.codes, found.factors)


def run(at):
    opened = Run.open(at)
    _ = opened.history, opened.image_shape
    run_folder.read_arrays(run_folder.Snapshots(at).path(opened.step) / "weights.npz")
    candidates.load(at)


def archives(at):
    npz.read_named(at / "a.npz", {"a": npz.ArraySpec("f", (None, 3))})
    [*containers.npz_slabs(at / "a.npz", "a").slabs, *containers.hdf5_slabs(at / "a.h5", "a").slabs]
    list(containers.zip_members(at / "a.zip", bool))
    [list(containers.tar_members(at / name, bool)) for name in ("a.tar", "a.tar.gz")]


DOORS = {
    **{door.__name__: door for door in (board, metrics, run, archives)},
    "submit": lambda at: raised(submission.check(at).problems),
    "audit": lambda at: audit_text.summary(audit.audit(benchmark_data.from_folder(at, "my"), traversals=2, pairs=5)),
    "prepared": lambda at: store.Store(at).images(np.arange(4)),
    "encoder": lambda at: graphs.inspect((at / "encoder.onnx").read_bytes()),
}


def sound(at):
    """Write what each door takes."""
    toy = runpy.run_path(str(HERE / "leaderboard/conftest.py"))["toy"]()
    load, names = benchmark_data.load, (*benchmark_data.names(), "toy")
    benchmark_data.load, benchmark_data.names = lambda name: toy if name[:3] == "toy" else load(name), lambda: names
    file, rng = submission.init(at / "submit", "mine", ["toy/small"], tier="smoke", seeds=1), np.random.default_rng(0)
    filled = re.sub(r'"(authors|license)": ""', r'"\1": "A"', file.read_text())
    file.write_text(filled.replace('"supervision": ""', '"supervision": "unsupervised"'))
    rows = np.load(at / "submit/toy/small/rows.npy")
    codes = (toy.labels(rows) + 0.1 * rng.standard_normal((60, 3))).astype(np.float32)
    np.savez(at / "submit/toy/small/seed_0.npz", indices=rows, codes=codes)
    published = HERE.parent / "leaderboard/published"
    shutil.copytree(published / "v1/room3d", at / "board/v1/room3d")
    shutil.copytree(HERE / "fixtures/run_0.1.0", at / "run")
    [(at / name).mkdir() for name in ("metrics", "audit", "archives", "encoder")]
    mean = helper.make_node("ReduceMean", ["numbers"], ["codes"], axes=[1, 2], keepdims=0)
    cast = helper.make_node("Cast", ["images"], ["numbers"], to=TensorProto.FLOAT)
    images = helper.make_tensor_value_info("images", TensorProto.UINT8, ["n", 64, 64, 3])
    graph = helper.make_graph([cast, mean], "means", [images], [helper.make_tensor_value_info("codes", 1, ["n", 3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), at / "encoder/encoder.onnx")
    np.savez_compressed(at / "metrics/a.npz", codes=codes, factors=toy.labels(rows), layers=np.array(["codes"]))
    safetensors.numpy.save_file(
        {"codes": codes, "factors": toy.labels(rows)}, at / "metrics/c.safetensors", {"layers": '["codes"]'}
    )
    for name in ("0.png", "1.jpg", "2.png", "3.jpg"):
        PIL.Image.fromarray(rng.integers(0, 255, (8, 8, 3), np.uint8)).save(at / "audit" / name)
    (at / "audit/labels.csv").write_text("file_name,size,kind\n0.png,1,a\n1.jpg,2,a\n2.png,1,b\n3.jpg,2,b\n")
    for kind in ("zip", "tar", "gztar"):
        shutil.make_archive(f"{at}/archives/a", kind, at / "audit")
    np.savez_compressed(at / "archives/a.npz", a=codes)
    h5py.File(at / "archives/a.h5", "w").create_dataset("a", data=codes, chunks=(16, 3), compression="gzip")
    writer = store.Writer(at / "prepared", name="x", rows=4, shape=(8, 8, 3), encoding="files")
    [writer.file(i, picture.read_bytes()) for i, picture in enumerate(sorted(at.glob("audit/*g")))]
    writer.finish()
    (at / "prepared/meta.json").write_text('{"rows": 4, "image_shape": [8, 8, 3], "encoding": "files"}')


def mutated(rng, path):
    """Return a file's bytes, changed: a value of its JSON, a member of its archive, or bytes anywhere."""
    content, kind = bytearray(path.read_bytes()), rng.random()
    if path.suffix == ".json" and kind < 0.7:
        found = rng.choice(
            [*re.finditer(rng.choice((rb'"[^"]*"|[^][{}:," \n]+', rb"[{[][^][{}]*[]}]")), content)] or [None]
        )
        if found:
            return content[: found.start()] + json.dumps(rng.choice(NASTY)).encode() + content[found.end() :]
    if path.suffix in (".npz", ".zip") and kind < 0.5:  # with the right checksums
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(made := io.BytesIO(), "w") as new:
            chosen = rng.choice(old.namelist())
            for name in old.namelist():
                new.writestr(name, changed(rng, bytearray(old.read(name)), 130) if name == chosen else old.read(name))
        return made.getvalue()
    return changed(rng, content, len(content) if kind < 0.8 else 300)


def changed(rng, content, reach):
    """Change, cut out, repeat or put in some bytes: anywhere, or among the first ones."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, size = rng.randrange(max(1, min(reach, len(content)))), rng.choice((1, 1, 2, 4, 8, 64, 10_000))
        nasty = rng.choice((b"\x00", b"\xff", b"\x7f", b"\x80", rng.randbytes(1), b"9", b",", b"\n")) * min(size, 64)
        span = content[at : at + size]
        content[at : at + size] = rng.choice((nasty, nasty, b"", span * 2, span[::-1], nasty + span))
    return bytes(content)


def tried(door, at):
    """Go through a door, and say what came of it: fine, refused, or what is wrong."""
    faulthandler.dump_traceback_later(100, exit=True)
    try:
        DOORS[door](at)
    except OffaxisError as error:
        # Readers of archives raise no other error of ours.
        right = isinstance(error, DamagedFile) or door not in ("archives", "prepared")
        return "refused" if right and str(error).replace("\n", "").isprintable() else repr(error)
    except Exception:
        return traceback.format_exc()
    return "fine"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option, usual in (("--minutes", 1.0), ("--first", 0), ("--cases", 2**60)):
        parser.add_argument(option, type=type(usual), default=usual)
    asked, counts, last = parser.parse_args(), collections.Counter(), time.monotonic()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        sound(place := Path(folder, "sound"))
        files = {door: sorted(path for path in (place / door).rglob("*") if path.is_file()) for door in DOORS}
        assert all(tried(door, place / door) == "fine" for door in DOORS), [tried(door, place / door) for door in DOORS]
        resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
        for number in range(asked.first, asked.first + asked.cases):
            if time.monotonic() > last + 60 * asked.minutes:
                break
            rng = random.Random(number)
            path = rng.choice(files[door := rng.choice(list(DOORS))])
            trial = Path(shutil.copytree(place / door, f"{folder}/{number}", copy_function=shutil.copy))
            (trial / path.relative_to(place / door)).write_bytes(mutated(rng, path))
            print(f"case {number}", end="\r", file=sys.stderr)
            said = tried(door, trial)
            shutil.rmtree(trial)
            counts[door, said if said in ("fine", "refused") else "wrong"] += 1
            if said not in ("fine", "refused"):
                print(f"case {number}, {path.relative_to(place)}: {said}", flush=True)
    for (door, what), count in sorted(counts.items()):
        print(f"{door:10} {what:8} {count:8,}")
    sys.exit(any(what == "wrong" for _, what in counts))
