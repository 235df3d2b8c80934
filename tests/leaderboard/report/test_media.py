"""What lies beside results: pictures of runs as small files, CKA as numbers, distances along factors."""

import numpy as np
import pytest
from PIL import Image

from benchmark_data.errors import DamagedFile
from leaderboard.report import media
from leaderboard.report.site import plots
from leaderboard.scoring import candidates
from leaderboard.store import results_tree

pytestmark = pytest.mark.usefixtures("one_tier")


def layers(folder, seed):
    rng = np.random.default_rng(seed)
    arrays = {name: rng.standard_normal((40, 3)).astype(np.float32) for name in ("input", "mean")}
    np.savez(folder / "activations.npz", layers=np.array(list(arrays)), indices=np.arange(40), **arrays)


def test_pictures_and_layers_of_runs(run_folder, tmp_path):
    folders = [run_folder(seed=seed) for seed in (0, 1)]
    Image.fromarray(np.zeros((400, 900, 3), np.uint8)).save(folders[1] / "traversals.png")
    for seed, folder in enumerate(folders):
        layers(folder, seed)
    (file,) = results_tree.write(tmp_path / "r", candidates.results_of(folders))
    written = media.of_runs(dict(enumerate(folders)), file, "smoke")
    assert [path.name for path in written] == [
        "beta_vae.smoke.seed_1.traversals.webp",
        "beta_vae.smoke.seed_0_1.cka.csv",
    ]
    with Image.open(written[0]) as image:
        assert image.size == (500, 222)
    assert written[1].read_text().splitlines()[0].endswith("input,mean")
    assert media.of_runs({5: run_folder(seed=5)}, file, "smoke") == []


def test_a_picture_that_is_none(run_folder, tmp_path):
    folder = run_folder()
    (folder / "traversals.png").write_bytes(b"GIF89a")
    with pytest.raises(DamagedFile, match=r"traversals\.png: expected a PNG or JPEG picture"):
        media.of_runs({0: folder}, tmp_path / "beta_vae.json", "smoke")
    (folder / "traversals.png").unlink()
    (folder / "traversals.png").symlink_to("/dev/zero")
    with pytest.raises(DamagedFile, match="expected a regular file, received a link"):
        media.of_runs({0: folder}, tmp_path / "beta_vae.json", "smoke")
    (folder / "traversals.png").unlink()
    Image.new("1", (3_000, 3_000)).save(folder / "traversals.png")
    with pytest.raises(DamagedFile, match=r"has 3000 x 3000 pixels, more than 4,194,304\. Reduce it, or set OFFAXIS"):
        media.of_runs({0: folder}, tmp_path / "beta_vae.json", "smoke")


def test_distances_of_a_dataset_with_one_pixel_for_each_value(toys):
    # Two images that differ in one factor differ in two pixels of three channels, of 8 x 8: 2 / 64, at all steps.
    lines = media.distance_table(toys["toy/small"], traversals=3).splitlines()
    assert lines[0] == "factor,steps,distance"
    assert lines[1:4] == ["f0,1,0.03125", "f0,2,0.03125", "f0,3,0.03125"]
    assert len(lines) == 1 + 3 + 2 + 4


def test_distances_are_drawn(toys, tmp_path):
    file = tmp_path / "distances.csv"
    assert plots.perceived(file) is None
    file.write_text(media.distance_table(toys["toy/small"], traversals=2))
    plot = plots.perceived(file)
    assert [line.title for line in plot.legend] == [f"f{k} (the same at all steps)" for k in range(3)]
    file.write_text("factor,steps,distance\na,1,0.1\na,2,0.2\nb,1,0.3\nc,1,0.1\nc,2,0.3\nc,3,0.2\n")
    titles = [line.title for line in plots.perceived(file).legend]
    assert titles == ["a (grows with every step)", "b (two values)", "c (grows at 50 % of the steps)"]
    assert len(plots.perceived(file).panels[0].series) == 3


@pytest.mark.parametrize("content", ["a,b\n1,2\n", "factor,steps,distance\na,1,nan\n", "x,y,z\na,1,2\n", ""])
def test_damaged_distances(tmp_path, content):
    (tmp_path / "distances.csv").write_text(content)
    with pytest.raises(DamagedFile, match="expected a table with the columns factor, steps, distance"):
        plots.perceived(tmp_path / "distances.csv")
