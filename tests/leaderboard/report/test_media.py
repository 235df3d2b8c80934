"""What lies beside results: pictures of runs as small files."""

import numpy as np
import pytest
from PIL import Image

from benchmark_data.errors import DamagedFile
from leaderboard.report import media
from leaderboard.scoring import candidates
from leaderboard.store import results_tree

pytestmark = pytest.mark.usefixtures("one_tier")


def test_pictures_of_runs(run_folder, tmp_path):
    folders = [run_folder(seed=seed) for seed in (0, 1)]
    Image.fromarray(np.zeros((400, 900, 3), np.uint8)).save(folders[1] / "traversals.png")
    (file,) = results_tree.write(tmp_path / "r", candidates.results_of(folders))
    written = media.of_runs(dict(enumerate(folders)), file, "smoke")
    assert [path.name for path in written] == ["beta_vae.smoke.seed_1.traversals.webp"]
    with Image.open(written[0]) as image:
        assert image.size == (500, 222)
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
