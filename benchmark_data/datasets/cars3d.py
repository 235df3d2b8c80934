"""Cars3D: 183 CAD models of cars, each from 24 azimuths and 4 elevations.

Reed, Zhang, Zhang and Lee, "Deep Visual Analogy-Making", NeurIPS 2015. Object ids follow the archive's ``list.txt``. In
disentanglement_lib they follow the order in which the file system lists the files, so that car k differs between
machines.
"""

from __future__ import annotations

import io
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_data.archives.archive import FILTERS, Archive, Cached, Distribution, reduced_archive
from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.archives.containers import damage, damaged_file_on_error, tar_members
from benchmark_data.archives.downloads import Download
from benchmark_data.archives.store import Writer
from benchmark_data.dataset import Dataset, Family
from benchmark_data.errors import needs
from benchmark_data.factors import Factor
from benchmark_data.inspect.published import PUBLISHED, PUBLISHED_MEANS

TAR = Download(
    name="nips2015-analogy-data.tar.gz",
    urls=(
        "http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",
        "http://www-personal.umich.edu/~reedscot/files/nips2015-analogy-data.tar.gz",
    ),
    md5="4e866a7919c1beedf53964e6f7a23686",
    note="An author's own page, without https; the second address is older. No SHA-256 is published.",
)
LIST = "data/cars/list.txt"


def read(archive: Archive, files: Mapping[str, Path], writer: Writer) -> None:
    """Read the cars, one MATLAB file each, from the tar file, in two passes: for their order and their pixels."""
    needs("reading MATLAB files", "archives", "scipy")
    import scipy.io

    (path,) = files.values()
    elevations, azimuths, cars = (factor.size for factor in archive.factors)
    listing = next((content for _, content in tar_members(path, LIST.__eq__)), None)
    names = listing.decode("utf-8", "replace").split() if listing is not None else []
    if len(names) != cars or len(set(names)) != cars:
        raise damage(path, f"{cars} different names in {LIST}", f"{len(names)}, {len(set(names))} different")
    ids = {posixpath.join(posixpath.dirname(LIST), f"{name}.mat"): car for car, name in enumerate(names)}
    writer.notes["list.txt is sorted"] = names == sorted(names)
    shape = (*archive.image_shape, azimuths, elevations)
    view_rows = np.arange(elevations * azimuths) * cars
    for name, content in tar_members(path, ids.__contains__):
        with damaged_file_on_error(path):
            stream: Any = io.BytesIO(content)  # scipy's stubs allow paths only; files are documented
            pixels = scipy.io.loadmat(stream, variable_names=["im"])["im"]
        if pixels.shape != shape or pixels.dtype != np.uint8:
            raise damage(path, f"uint8 of shape {shape} in {name}", f"{pixels.dtype} of shape {pixels.shape}")
        views = np.ascontiguousarray(pixels.transpose(4, 3, 0, 1, 2)).reshape(-1, *archive.image_shape)
        writer.images(view_rows + ids[name], views)


ARCHIVE = Archive(
    id="cars3d/native",
    version="1.0.0",
    image_shape=(128, 128, 3),
    factors=(
        Factor("elevation", range(4), "ordinal"),
        Factor("azimuth", range(0, 360, 15), "cyclic", unit="deg"),
        Factor("object_type", range(183), "categorical"),
    ),
    rows=17_568,
    distributions=(Distribution((TAR,), read),),
    # Published for 64 x 64 pixels; reduction hardly changes a mean.
    statistics=PublishedStatistics(means=PUBLISHED_MEANS["cars3d/64_bilinear"], tolerance=5e-3),
)


def _dataset(source: Cached, method: str) -> Dataset:
    size = source.image_shape[0]
    note = FILTERS.get(method, "The images as published.")
    return source.dataset(
        parameters={"image_size": size, "filter": method},
        description=f"183 CAD models of cars on white, from 24 azimuths and 4 elevations, {size} x {size}. {note}",
        citation="""@inproceedings{reed2015deep,
  title = {Deep Visual Analogy-Making},
  author = {Reed, Scott E and Zhang, Yi and Zhang, Yuting and Lee, Honglak},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {28},
  pages = {1252--1260},
  year = {2015}
}""",
        license="unstated",
        redistributable=False,
        homepage="http://www.scottreed.info/",
        defects=(
            "Object ids follow list.txt. disentanglement_lib's follow the file system, stable-datasets' sorted names: "
            "car k is not the same car there.",
            "The source does not say which angles the elevations are.",
            "The source states no licence.",
        ),
    )


NATIVE = _dataset(ARCHIVE, "none")


def _reduced_dataset(method: str, statistics: PublishedStatistics) -> Dataset:
    return _dataset(reduced_archive(NATIVE, f"cars3d/64_{method}", method, statistics), method)


DATASET = Family(
    NATIVE,
    _reduced_dataset("lanczos", ARCHIVE.statistics),
    _reduced_dataset(
        "bilinear", PublishedStatistics(means=ARCHIVE.statistics.means, distances=PUBLISHED["cars3d/64_bilinear"])
    ),
    default="native",
)
