"""Datasets for PyTorch: the tensors that ``DataLoader`` gives are what the dataset holds, for any number of workers."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import benchmark_data
from benchmark_data import reading
from benchmark_data.errors import InvalidInput, UnknownName

ROOT = Path(__file__).parents[2]


def test_missing_package():
    program = "import sys; sys.modules['torch'] = None; import benchmark_data.torch"  # torch cannot be unloaded here
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "MissingExtra: benchmark_data.torch: expected the package torch" in done.stderr
    assert "pip install 'offaxis[torch]'" in done.stderr


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'offaxis[torch]'")


@pytest.fixture(scope="module")
def provider(torch):
    import benchmark_data.torch

    return benchmark_data.torch


def test_items_are_tensors_of_what_the_dataset_holds(torch, provider, tiny_family):
    dataset = tiny_family.configs["plus_2"]
    fields = ("image", "label", "value", "scaled", "index", "extra_rotation")
    data = provider.Images(dataset, split="test", fields=fields)
    item, expected = data[1], reading.Images(dataset, split="test", fields=fields)[1]
    assert [part.dtype for part in item] == [torch.uint8, torch.int64, *[torch.float32] * 2, torch.int64, torch.float32]
    assert item[0].shape == (3, 6, 4)
    assert np.array_equal(item[0].permute(1, 2, 0), expected[0])
    assert all(np.array_equal(part, right) for part, right in zip(item[1:], expected[1:], strict=True))


def test_forms_of_images(torch, provider, tiny_grid):
    pixels = tiny_grid.images(range(12))
    assert provider.Images(tiny_grid, dtype=torch.float32)[0][0].dtype == torch.float32
    whole = {
        (dtype, layout): provider.Images(tiny_grid, fields="image", dtype=dtype, layout=layout)[:]
        for dtype in ("uint8", "float32")
        for layout in ("CHW", "HWC")
    }
    assert np.array_equal(whole["uint8", "HWC"], pixels)
    assert np.array_equal(whole["uint8", "CHW"], pixels.transpose(0, 3, 1, 2))
    for layout in ("CHW", "HWC"):
        floats = whole["float32", layout]
        assert floats.dtype == torch.float32
        assert np.array_equal(floats, whole["uint8", layout].numpy().astype(np.float32) / np.float32(255))
    for dtype in (torch.float32, np.float32, np.dtype("float32")):
        assert provider.Images(tiny_grid, dtype=dtype)[0][0].dtype == torch.float32
    with pytest.raises(UnknownName, match=r"dtype of images: .*Did you mean 'float32'"):
        provider.Images(tiny_grid, dtype="float")
    with pytest.raises(UnknownName, match="layout of images: expected one of CHW, HWC"):
        provider.Images(tiny_grid, layout="NCHW")


@pytest.mark.parametrize("how", ["mirrored", "read-only"])
def test_images_as_a_source_of_ones_own_may_return_them(how, torch, provider, tiny_grid):
    def change(images, rows, labels):
        if how == "mirrored":
            return images[:, :, ::-1]
        return np.broadcast_to(np.uint8(7), images.shape)

    own = dataclasses.replace(tiny_grid, name="mine", source=benchmark_data.Derived(tiny_grid, change))
    data = provider.Images(own, fields="image", layout="HWC")
    assert np.array_equal(data[:], own.images(range(12)))
    data[:].zero_()


def read(loader):
    return [np.concatenate(parts) for parts in zip(*loader, strict=True)]


def test_every_way_of_loading_gives_the_same(torch, provider, tiny_family):
    dataset = tiny_family.configs["plus_1"]
    data = provider.Images(dataset, split="train", fields=("image", "label", "index"))
    expected = [dataset.images(range(8)).transpose(0, 3, 1, 2), dataset.labels(range(8)), np.arange(8)]
    load = torch.utils.data.DataLoader
    whole_batches = torch.utils.data.BatchSampler(range(8), 3, drop_last=False)
    loaders = [
        load(data, batch_size=3),
        load(data, batch_size=3, collate_fn=provider.collate),
        load(data, sampler=whole_batches, batch_size=None),
        load(torch.utils.data.Subset(data, range(8)), batch_size=3, collate_fn=provider.collate),
        load(torch.utils.data.ConcatDataset([data]), batch_size=3, collate_fn=provider.collate),
        provider.loader(data, 3),
        data.batches(3),
    ]
    bare = provider.Images(dataset, split="train", fields="image")
    for pixels in (load(bare, batch_size=3), provider.loader(bare, 3)):
        assert np.array_equal(np.concatenate(list(pixels)), expected[0])
    for loader in loaders:
        assert all(np.array_equal(a, b) for a, b in zip(read(loader), expected, strict=True)), loader


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_same_batches_for_any_number_of_workers(context, provider):
    data = provider.Images("xysquares", rows=range(0, 2600, 10), fields=("image", "index"))
    alone = read(provider.loader(data, 64, shuffle_seed=1))
    assert sorted(alone[1]) == list(range(0, 2600, 10))
    assert np.array_equal(alone[0], data.dataset.images(alone[1]).transpose(0, 3, 1, 2))
    shared = read(provider.loader(data, 64, shuffle_seed=1, num_workers=2, multiprocessing_context=context))
    assert all(np.array_equal(a, b) for a, b in zip(alone, shared, strict=True))


@pytest.mark.parametrize("workers", [{}, {"num_workers": 1}, {"num_workers": 1, "persistent_workers": True}])
def test_each_pass_takes_the_next_epoch(workers, provider):
    data = provider.Images("xysquares", rows=range(12), fields="index")
    loader = provider.loader(data, 5, shuffle_seed=2, **workers)
    passes = [np.concatenate(list(loader)).tolist() for _ in range(3)]
    assert passes == [reading.order(range(12), seed=2, epoch=epoch).tolist() for epoch in range(3)]
    loader.batch_sampler.set_epoch(1)
    assert loader.state_dict() == {"epoch": 1, "batches": 0}  # before its first batch
    assert np.concatenate(list(loader)).tolist() == passes[1]


def test_processes_get_equally_many_whole_batches(provider, tiny_grid):
    data = provider.Images(tiny_grid, rows=range(11), fields="index")
    shares = [provider.loader(data, 2, shuffle_seed=0, shard=(i, 3), drop_last=True) for i in range(3)]
    batches = [[len(batch) for batch in share] for share in shares]
    assert batches == [[2], [2], [2]]
    assert [len(share) for share in shares] == [1, 1, 1]
    ragged = [provider.loader(data, 2, shuffle_seed=0, shard=(i, 3)) for i in range(3)]
    assert sorted(np.concatenate([np.concatenate(list(share)) for share in ragged])) == list(range(11))
    assert [len(share) for share in ragged] == [len(list(share)) for share in ragged] == [2, 2, 2]
    with pytest.raises(InvalidInput, match="batch_size: expected at least 1, received 0"):
        provider.Batches(10, 0)
    with pytest.raises(InvalidInput, match="number of items: expected at least 0, received -2"):
        provider.Batches(-2, 4)


@pytest.mark.parametrize("option", ["shuffle", "sampler", "batch_sampler"])
def test_a_loader_draws_its_own_batches(option, torch, provider):
    data = provider.Images("xysquares", rows=range(12), fields="index")
    value = {"shuffle": True, "sampler": torch.utils.data.SequentialSampler(data), "batch_sampler": [[1], [2]]}[option]
    with pytest.raises(
        InvalidInput, match=r"loader: expected no shuffle .* shuffle_seed=0\. .*DataLoader\(.*=collate\)"
    ):
        provider.loader(data, 4, **{option: value})
    assert len(list(provider.loader(data, 4, shuffle=False, sampler=None))) == 3


@pytest.mark.parametrize("data", ["xysquares", benchmark_data.load("xysquares")])
def test_a_loader_takes_no_name_and_no_dataset(data, provider):
    with pytest.raises(InvalidInput, match=r"loader: expected Images or Pairs, such as Images\('dsprites'\), received"):
        provider.loader(data, 4)


def test_pairs(torch, provider):
    options = {"changed": 2, "seed": 9, "fields": ("image", "label"), "length": 100}
    data, plain = provider.Pairs("xysquares", **options), reading.Pairs("xysquares", **options)
    loaded = [
        (a.clone(), b.clone(), c.clone(), d.clone(), e.clone()) for (a, b), (c, d), e in provider.loader(data, 32)
    ]
    (first, label), (second, other), changed = plain[:]
    right = [first.transpose(0, 3, 1, 2), label, second.transpose(0, 3, 1, 2), other, changed]
    for found, expected in zip(map(torch.cat, zip(*loaded, strict=True)), right, strict=True):
        assert np.array_equal(found, expected)
    assert changed.dtype == bool
    stacked = next(iter(torch.utils.data.DataLoader(data, batch_size=100)))  # without our collate
    assert torch.equal(stacked[1][0], torch.from_numpy(right[2]))


def test_it_loads_neither_tensorflow_nor_datasets(torch):
    program = (
        "import sys, benchmark_data; assert 'torch' not in sys.modules; import benchmark_data.torch as t;"
        "t.Images('xysquares')[0];"
        "print([m for m in ('tensorflow', 'tensorflow_datasets', 'datasets', 'keras', 'jax') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_travels_to_a_worker_is_small(provider):
    assert len(pickle.dumps(provider.Images("room3d", dtype="float32"))) < 1000


def test_the_example_of_the_readme_runs(torch):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    [example] = [block for block in blocks if "benchmark_data.torch" in block]
    assert len([line for line in example.splitlines() if line.strip()]) <= 5
    names: dict = {}
    exec(example, names)
    images, labels = next(iter(names["batches"]))
    assert (images.dtype, tuple(images.shape)) == (torch.float32, (64, 3, 64, 64))
    assert tuple(labels.shape) == (64, 6)
    assert len(names["data"].dataset.space.factors) == 6
    assert "images (64, 3, 64, 64), labels (64, 6)" in example


def test_a_negative_epoch_is_named(provider):
    with pytest.raises(InvalidInput, match="epoch: expected at least 0, received -1"):
        provider.Batches(np.int64(10), 4, shuffle_seed=0).set_epoch(-1)


def test_a_place_that_an_epoch_does_not_have_is_named(provider, tiny_grid):
    loader = provider.loader(provider.Images(tiny_grid, rows=range(10)), 4)
    with pytest.raises(InvalidInput, match="done: expected at most 3, the number of batches per epoch, received 99"):
        loader.load_state_dict({"epoch": 0, "batches": 99})
    with pytest.raises(InvalidInput, match="done: expected at least 0, received -1"):
        loader.batch_sampler.set_epoch(0, -1)


@pytest.mark.parametrize("seed", [-1, 2**64, 0.5, "1"])
def test_a_bad_seed_is_refused_before_the_first_pass(provider, seed):
    with pytest.raises(InvalidInput, match=r"seed: expected an integer in \[0, 2\*\*64\), received"):
        provider.Batches(10, 4, shuffle_seed=seed)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_goes_on_after_a_kill_in_mid_epoch(workers, provider, tmp_path):
    """As torchdata's StatefulDataLoader: ``state_dict`` in a process that is killed, ``load_state_dict`` in another."""
    program = f"""
import json, os, pathlib, signal
import benchmark_data.torch as provider
if __name__ == "__main__":
    data = provider.Images("xysquares", split="train[:50]", fields="index")
    loader = provider.loader(data, 8, shuffle_seed=3, num_workers={workers})
    list(loader)
    batches = iter(loader)
    for _ in range(4):
        next(batches)
    pathlib.Path({str(tmp_path / "state.json")!r}).write_text(json.dumps(loader.state_dict()))
    next(batches)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    data = provider.Images("xysquares", split="train[:50]", fields="index")

    def loader():
        return provider.loader(data, 8, shuffle_seed=3, num_workers=workers)

    uninterrupted, resumed = loader(), loader()
    epochs = [[batch.tolist() for batch in uninterrupted] for _ in range(3)]
    resumed.load_state_dict(json.loads((tmp_path / "state.json").read_text()))
    assert resumed.state_dict() == {"epoch": 1, "batches": 4}
    assert [batch.tolist() for batch in resumed] == epochs[1][4:]
    assert [batch.tolist() for batch in resumed] == epochs[2]
    assert resumed.state_dict() == uninterrupted.state_dict() == {"epoch": 3, "batches": 0}
