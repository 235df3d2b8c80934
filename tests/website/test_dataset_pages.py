"""The page of a dataset: made from the dataset's file, with code that runs."""

from __future__ import annotations

import pytest

import benchmark_data


@pytest.fixture(scope="module")
def pages(website):
    return website("dataset_pages")


@pytest.fixture(scope="module")
def examples(pages):
    return pages.examples(benchmark_data.load("xyobject"))


@pytest.mark.parametrize("name", benchmark_data.names())
def test_a_page_says_what_the_file_says(name, pages):
    text = pages.page(name, drawn=False)
    shown = pages.default(name)
    assert f"\n{shown.description}\n" in text
    for factor in shown.space.factors:
        assert f"| `{factor.name}` | {factor.kind} | {factor.size} |" in text
    configs = [benchmark_data.load(config) for config in benchmark_data.configs(name)]
    assert all(defect in text for one in configs for defect in one.defects)
    assert all(f"`{one.id}`" in text for one in configs) or len(configs) == 1
    assert f"{shown.license}." in text
    assert ("Copies may not be published" in text) is not shown.redistributable
    assert shown.citation.strip() in text


def test_a_dataset_of_files_says_how_to_fetch_them(pages):
    text = pages.page("mpi3d", drawn=False)
    assert f"\noffaxis data prepare mpi3d/{pages.default('mpi3d').config}\n" in text
    assert pages.sheet(benchmark_data.load("mpi3d")) is None, "nothing is downloaded for a picture"


def test_a_page_has_the_distances_that_were_measured(pages):
    """docs/distances.csv: xysquares/spacing_1, x_R, mean 0.00375260..., standard error 7.054e-05, Spearman 1."""
    text = pages.page("xysquares", drawn=False)
    assert "| `xysquares/spacing_1` | `x_R` | 0.00375 | 0.00007 |  | 1.000 |" in text
    assert "Not measured here yet" in pages.page("dsprites_squeezed", drawn=False)


def test_a_contact_sheet_is_drawn(pages):
    assert pages.sheet(benchmark_data.load("xysquares/spacing_8"))[:8] == b"\x89PNG\r\n\x1a\n"


def run(code):
    names: dict = {}
    exec(code, names)
    return names


def test_the_numpy_example_runs(examples):
    names = run(examples["numpy"])
    assert names["images"].shape == (2, 64, 64, 3)
    assert names["labels"].shape == names["values"].shape == (2, 4)
    assert "uint8 (2, 64, 64, 3)" in examples["numpy"]
    assert "int64 (2, 4)" in examples["numpy"]


def test_the_tfds_example_runs(examples):
    pytest.importorskip("tensorflow_datasets")
    batch = run(examples["TensorFlow Datasets"])["batch"]
    assert batch["image"].shape == (64, 64, 64, 3)
    assert {"index", "label_x", "value_x"} <= set(batch)
    assert "label_x, value_x" in examples["TensorFlow Datasets"]


def test_the_hugging_face_example_runs(examples):
    pytest.importorskip("datasets")
    batch = run(examples["Hugging Face"])["batch"]
    assert len(batch["image"]) == 64
    assert {"index", "label_x", "value_x"} <= set(batch)


def test_the_pytorch_example_runs(examples):
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    names = run(examples["PyTorch"])
    assert tuple(names["images"].shape) == (64, 3, 64, 64)
    assert tuple(names["labels"].shape) == (64, 4)
