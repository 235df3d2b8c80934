"""PNG files, records and shards: read back with Pillow and with TFDS's own serialiser."""

from __future__ import annotations

import io
import zlib

import numpy as np
import pytest
from PIL import Image

import benchmark_data
from benchmark_data.errors import InvalidInput
from benchmark_data.publish import records


@pytest.mark.parametrize("compressor", ["libdeflate", "zlib"])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("filter_type", [0, 1])
def test_png_gives_the_pixels_back_in_eight_bits_per_channel(channels, filter_type, compressor, monkeypatch):
    if compressor == "zlib":
        monkeypatch.setattr(records, "_compress", zlib.compress)
    elif records.COMPRESSOR != "libdeflate":
        pytest.skip("deflate is not installed: pip install 'offaxis[fast]'")
    images = np.random.default_rng(0).integers(0, 256, (3, 5, 7, channels), np.uint8)
    images[1] = 0
    images[2] = 255 * (images[2] > 100)
    for image, png in zip(images, records.pngs(images, filter_type), strict=True):
        with Image.open(io.BytesIO(png)) as decoded:
            decoded.verify()
        with Image.open(io.BytesIO(png)) as decoded:
            assert decoded.mode == {1: "L", 3: "RGB", 4: "RGBA"}[channels]
            assert np.array_equal(np.asarray(decoded).reshape(image.shape), image)


def test_files_are_about_as_large_with_either_compressor(monkeypatch):
    images = benchmark_data.load("room3d").images(range(0, 480_000, 9_973))
    sizes = [sum(map(len, records.pngs(images, 1)))]
    monkeypatch.setattr(records, "_compress", zlib.compress)
    sizes.append(sum(map(len, records.pngs(images, 1))))
    assert abs(sizes[0] / sizes[1] - 1) < 0.05


def test_png_of_two_channels_is_refused():
    with pytest.raises(InvalidInput, match="1, 3 or 4 channels, received 2 channels"):
        records.pngs(np.zeros((1, 4, 4, 2), np.uint8), 0)


def test_the_smaller_filter_is_chosen():
    flat = benchmark_data.load("xysquares").images(range(8))
    ramp = np.broadcast_to(np.arange(64, dtype=np.uint8)[:, None], (4, 64, 64, 1)) + np.arange(
        4, dtype=np.uint8
    ).reshape(4, 1, 1, 1)
    shaded = np.ascontiguousarray(np.cumsum(ramp, axis=2, dtype=np.uint8))
    assert records.png_filter(flat) == 0
    assert records.png_filter(shaded) == 1


def test_png_is_smaller_than_pillows():
    images = benchmark_data.load("xysquares/spacing_4").images(range(0, 262_144, 4_001))
    ours = sum(map(len, records.pngs(images, 0)))
    pillows = 0
    for image in images:
        with io.BytesIO() as stream:
            Image.fromarray(image).save(stream, "PNG")
            pillows += len(stream.getvalue())
    assert ours < pillows


@pytest.mark.parametrize("name", ["tiny_grid", "tiny_family", "xysquares"])
def test_records_are_those_of_tfds_own_serialiser(name, request):
    tf = pytest.importorskip("tensorflow")
    import tensorflow_datasets as tfds

    from benchmark_data.tfds import features

    dataset = benchmark_data.load(name) if name == "xysquares" else request.getfixturevalue(name)
    dataset = dataset.configs["plus_2"] if name == "tiny_family" else dataset
    schema = features(dataset)
    serialiser = tfds.core.ExampleSerializer(schema.get_serialized_info())
    rows = range(1, 11)
    [batch] = records.batches(dataset, rows)
    labels, values = dataset.labels(rows), dataset.values(rows).astype(np.float32)
    for i, record in enumerate(records.Examples(dataset)(batch)):
        example = {"image": batch.pngs[i], "index": rows[i], "factors": labels[i]}
        example |= {f"extra_{key}": batch.extras[key][i] for key in dataset.extras}
        for f, factor in enumerate(dataset.space.factors):
            example[f"label_{factor.name}"] = factor.labels[labels[i, f]]
            example[f"value_{factor.name}"] = values[i, f]
        expected = tf.train.Example.FromString(serialiser.serialize_example(schema.encode_example(example)))
        assert tf.train.Example.FromString(record) == expected
        assert record == expected.SerializeToString(deterministic=True)


@pytest.mark.parametrize(("rows", "count"), [(range(10), 3), (range(5, 8), 9), (range(0, 100, 7), 4), (range(6), None)])
def test_shards_hold_every_row_once_in_order(rows, count, tiny_grid):
    parts = records.shards(tiny_grid, rows, count)
    assert [row for part in parts for row in part] == list(rows)
    assert len(parts) == min(count or 1, len(rows))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("count", [0, -2])
def test_no_shards_are_refused_since_they_would_hold_no_rows(count, tiny_grid):
    with pytest.raises(InvalidInput, match=f"number of shards: expected at least 1, received {count}"):
        records.shards(tiny_grid, range(10), count)


def test_shards_of_large_datasets_are_bounded():
    xysquares = benchmark_data.load("xysquares")
    parts = records.shards(xysquares, range(len(xysquares)))
    assert max(map(len, parts)) * 64 * 64 * 3 <= records.SHARD + 64 * 64 * 3
    assert len(parts) == 12
