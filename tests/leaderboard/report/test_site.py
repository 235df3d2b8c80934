"""The pages: complete in themselves, harmless, and usable in a real browser."""

import dataclasses
import html.parser
import importlib.resources
import json
import re

import numpy as np
import pytest
from PIL import Image

from benchmark_data.errors import DamagedFile
from benchmark_data.sources import Derived
from leaderboard import protocol
from leaderboard.commands import board
from leaderboard.report import audit, media
from leaderboard.report.site import build, pages, plots
from leaderboard.scoring import evaluate
from leaderboard.store import results

pytestmark = pytest.mark.usefixtures("only_mig")

HOSTILE = "<script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'>\"' {{ 7 * 7 }}"


@pytest.fixture
def site(run_folder, tmp_path):
    """A board of two tasks, four methods and some pictures; one method's author means harm."""
    root = tmp_path / "results"
    folders = [
        run_folder(method, f"toy/spacing_{spacing}", seed, noise=spacing / 8, **fields)
        for method, fields in {
            "beta_vae": {},
            "ada_gvae": {"supervision": "weakly_supervised"},
            "pca": {},
            "hostile": {
                "about": {
                    "title": HOSTILE,
                    "authors": HOSTILE,
                    "description": HOSTILE,
                    "license": HOSTILE,
                    "bibtex": f"</pre>{HOSTILE}",
                    "paper": "https://example.org/?a=1&b=2",
                },
                "hyperparameters": {"</dt>" + HOSTILE: HOSTILE},
                "selection": HOSTILE,
                "claimed": {"mig": 0.987},
                "budget": {"steps": 1, "images": 1, "seconds": 1.0, "device": HOSTILE},
            },
        }.items()
        for spacing in (1, 8)
        for seed in range(5 if method == "beta_vae" else 2)
    ]
    results.write(root, evaluate.evaluate(folders, status="reproduced"))
    folder = root / "v1" / "toy" / "spacing_1"
    media.of_dataset("toy/spacing_1", folder)
    frames = [Image.fromarray(np.full((20, 60, 3), 40 * k, np.uint8)) for k in range(4)]
    frames[0].save(folder / "beta_vae.traversals.png")
    frames[0].save(folder / "beta_vae.traversals.gif", save_all=True, append_images=frames[1:])
    return build.build(root, tmp_path / "site").parent


class Links(html.parser.HTMLParser):
    """Collects what a page refers to."""

    def __init__(self, text):
        super().__init__()
        self.found, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found += [(tag, k, v) for k, v in attributes if k in ("href", "src", "srcset")]
        self.ids |= {v for k, v in attributes if k == "id"}


def test_every_link_leads_somewhere_and_nothing_is_fetched(site):
    found = {page: Links(page.read_text("utf-8")) for page in site.rglob("*.html")}
    assert len(found) == 1 + 2 + 4
    for page, links in found.items():
        for tag, attribute, target in links.found:
            if tag != "a":
                assert target == "data:," or (page.parent / target).is_file(), (page, tag, attribute)
            elif not target.startswith("https://"):
                name, _, fragment = target.partition("#")
                other = (page.parent / name).resolve() if name else page
                assert other.is_file(), (page, target)
                assert not fragment or fragment in Links(other.read_text("utf-8")).ids, (page, target)


def test_tables_have_captions_and_scopes(site):
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert text.count("<table") == text.count("<caption")
        assert "<th>" not in text
        assert 'lang="en"' in text


def test_pictures_are_part_of_the_site_with_words_for_those_who_do_not_see_them(site):
    text = (site / "index.html").read_text("utf-8")
    assert 'alt="Latent traversals: each row moves one latent and holds the others: β-VAE on toy/spacing_1."' in text
    assert re.search(r'<img class="pixels" src="pictures/\w+\.gif"', text)
    assert re.search(r'<source media="\(prefers-reduced-motion: reduce\)" srcset="pictures/\w+\.png"', text)
    assert "Contact sheet of toy/spacing_1" in text


def test_a_claim_stands_beside_what_was_found_and_is_not_ranked(site):
    assert "claimed 0.987" in (site / "methods" / "hostile.html").read_text("utf-8")
    assert "0.987" not in (site / "index.html").read_text("utf-8")


def test_a_damaged_picture_is_named(site, tmp_path):
    (tmp_path / "results" / "v1" / "toy" / "spacing_1" / "pca.cka.png").write_bytes(b"<svg onload=alert(1)>")
    with pytest.raises(DamagedFile, match=r"pca\.cka\.png: expected a PNG picture"):
        build.build(tmp_path / "results", tmp_path / "site")


def test_a_heatmap_with_numbers_shows_them(site, tmp_path, browser):
    folder = tmp_path / "results" / "v1" / "toy" / "spacing_1"
    (folder / "beta_vae.cka.png").write_bytes((folder / "beta_vae.traversals.png").read_bytes())
    (folder / "beta_vae.cka.csv").write_text(",input,mean\ninput,1.0,0.25\n<b>mean,0.5,-0.001\n", "utf-8")
    browser.open(build.build(tmp_path / "results", site))
    found = browser.run("[...document.querySelectorAll('.heatmap rect title')].map((each) => each.textContent)")
    assert found == ["input, input: 1.000", "input, mean: 0.250", "<b>mean, input: 0.500", "<b>mean, mean: -0.001"]
    colours = browser.run(
        "[...document.querySelectorAll('.heatmap rect')].slice(0, 4).map((e) => getComputedStyle(e).fill)"
    )
    assert colours[0] == "rgb(252, 253, 191)"
    assert colours[3] == "rgb(0, 0, 4)"


@pytest.mark.parametrize("table", [",a\nb,x\n", ",a\nb,1,2\n", ",a\nb,nan\n", ""])
def test_a_heatmap_without_numbers(site, tmp_path, table):
    folder = tmp_path / "results" / "v1" / "toy" / "spacing_1"
    (folder / "beta_vae.cka.png").write_bytes((folder / "beta_vae.traversals.png").read_bytes())
    (folder / "beta_vae.cka.csv").write_text(table, "utf-8")
    with pytest.raises(DamagedFile, match=r"beta_vae\.cka\.csv: expected a table of similarities"):
        build.build(tmp_path / "results", site)


def test_a_dataset_that_is_unknown_here_still_has_its_page(site, tmp_path):
    root = tmp_path / "results"
    old = results.read(results.path(root, "toy/spacing_1@v1", "beta_vae"))
    results.write(root, [results.result("gone/small@v1", "beta_vae", old.runs, about=old.about)])
    text = pages.render(root, results.read_all(root))["tasks/gone.small.html"].decode()
    assert "β-VAE" in text


def test_in_the_browser_nothing_complains_and_nothing_is_asked_for(site, browser):
    for page in site.rglob("*.html"):
        browser.open(page)
        assert browser.complaints == []
        assert all(url == page.as_uri() or url.startswith(f"{site.as_uri()}/pictures/") for url in browser.requests)
        broken = "[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"
        assert browser.run(broken) == []
        assert browser.run("window.stolen === undefined")


@pytest.mark.parametrize("dark", [False, True])
def test_no_page_scrolls_sideways_on_a_phone(site, browser, dark):
    for page in site.rglob("*.html"):
        browser.open(page, width=360, height=740, dark=dark)
        browser.run("document.querySelectorAll('details').forEach((each) => each.open = true)")
        assert browser.run("document.documentElement.scrollWidth") <= 360, page.name


def methods(browser):
    """The methods of the first task's table, as they are shown, group by group."""
    return browser.run(
        """[...document.querySelectorAll(
            '#t-toy\\\\.spacing_1-smoke tbody:not([hidden]) tr:not(.group):not([hidden]) th')]
        .map((head) => head.querySelector('a').getAttribute('href').replace(/.*\\/|\\.html/g, ''))"""
    )


def click(browser, text):
    browser.run(
        f"""[...document.querySelectorAll('#t-toy\\\\.spacing_1-smoke thead button')]
        .find((button) => button.textContent === '{text}').click()"""
    )


def test_sorting(site, browser):
    browser.open(site / "index.html")
    assert methods(browser) == ["beta_vae", "hostile", "ada_gvae", "pca"]
    sort = "document.querySelector('#t-toy\\\\.spacing_1-smoke th[aria-sort]')"
    click(browser, "Seeds")
    assert browser.run(f"{sort}.textContent + {sort}.getAttribute('aria-sort')") == "Seedsdescending"
    click(browser, "Seeds")
    assert browser.run(f"{sort}.getAttribute('aria-sort')") == "ascending"
    assert methods(browser) == ["hostile", "beta_vae", "ada_gvae", "pca"]
    click(browser, "MIG")
    shown = browser.run(
        """[...document.querySelectorAll('#t-toy\\\\.spacing_1-smoke tbody[data-category=unsupervised] td.score')]
        .map((cell) => Number(cell.dataset.value))"""
    )
    assert shown == sorted(shown, reverse=True)
    click(browser, "Rank")
    assert methods(browser)[:2] == ["beta_vae", "hostile"], "what has no rank stays last"


def test_filtering(site, browser):
    browser.open(site / "index.html")
    controls = "document.querySelector('[data-for=\"t-toy.spacing_1-smoke\"]')"
    assert not browser.run(f"{controls}.hidden")
    browser.run(
        f"""{{ const box = {controls}.querySelector('input'); box.value = 'Β-vae'.toLowerCase();
        box.dispatchEvent(new Event('input')) }}"""
    )
    assert methods(browser) == ["beta_vae"]
    assert browser.run(f"{controls}.querySelector('[role=status]').textContent") == "1 of 4 methods"
    browser.run(
        f"""{{ const box = {controls}.querySelector('input'); box.value = ''; box.dispatchEvent(new Event('input'));
        const list = {controls}.querySelector('select'); list.value = 'reference';
        list.dispatchEvent(new Event('change')) }}"""
    )
    assert methods(browser) == ["pca"]


def test_the_keyboard_reaches_and_works_the_headings(site, browser):
    browser.open(site / "index.html")
    browser.run("document.querySelector('#t-toy\\\\.spacing_1-smoke thead button').focus()")
    key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
    browser.call("Input.dispatchKeyEvent", type="keyDown", **key)
    browser.call("Input.dispatchKeyEvent", type="keyUp", **key)
    assert browser.run("document.querySelector('#t-toy\\\\.spacing_1-smoke th[aria-sort]').textContent") == "Method"


def test_the_score_of_the_overview_can_be_chosen(site, browser, tmp_path):
    """With one score there is nothing to choose; with two, the numbers change."""
    text = (site / "index.html").read_text("utf-8")
    page = site / "two.html"
    page.write_text(
        text.replace(
            '<span role="status"></span>',
            "<select data-score><option>mig</option><option>dci.completeness</option></select>"
            '<span role="status"></span>',
            1,
        ),
        "utf-8",
    )
    browser.open(page)
    browser.run(
        """for (const cell of document.querySelectorAll('td[data-scores]'))
        cell.dataset.scores = JSON.stringify({...JSON.parse(cell.dataset.scores), 'dci.completeness': 0.25});
        { const list = document.querySelector('select[data-score]'); list.value = 'dci.completeness';
        list.dispatchEvent(new Event('change')) }"""
    )
    assert set(browser.run("[...document.querySelectorAll('td[data-scores]')].map((c) => c.textContent)")) == {"0.250"}


def violations(browser, page, dark=False):
    """Serious faults that axe-core, the usual checker of WCAG rules, finds in a page."""
    axe = importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    browser.open(page, dark=dark)
    browser.run(f"{axe}; 1")
    found = browser.run(
        "axe.run(document).then((r) => r.violations.map((v) => `${v.impact} ${v.id}: ${v.nodes[0].html}`))"
    )
    return [text for text in found if text.startswith(("serious", "critical"))]


def test_axe_finds_no_serious_fault(site, browser):
    for page in site.rglob("*.html"):
        for dark in (False, True):
            assert violations(browser, page, dark) == []


def test_axe_can_find_a_fault(tmp_path, browser):
    page = tmp_path / "bad.html"
    page.write_text(
        '<!doctype html><html><title>x</title><img src="data:,"><p style="color: #ddd">pale</p></html>', "utf-8"
    )
    found = " ".join(violations(browser, page))
    for rule in ("image-alt", "html-has-lang", "color-contrast"):
        assert rule in found


def test_the_ladder_is_drawn_where_one_number_tells_tasks_apart(site, toys, tmp_path):
    for spacing in (1, 8):
        name = f"toy/spacing_{spacing}"
        toys[name] = dataclasses.replace(toys[name], parameters={"spacing": spacing})
    text = overview(tmp_path)
    assert "toy: score against spacing" in text
    beyond = re.search(r"Beyond the axis: ([^.]*)\.", text)
    assert text.count("<polyline") + (len(beyond[1].split(", ")) if beyond else 0) == 4
    assert text.count('class="error"') >= 2, "of the method with five seeds"


def overview(tmp_path):
    return pages.render(tmp_path / "results", results.read_all(tmp_path / "results"))["index.html"].decode()


def test_a_changed_dataset_is_drawn_beside_what_it_was_made_of(site, toys, tmp_path):
    base, name = toys["toy/spacing_1"], "toy/spacing_8"
    changed = Derived(base, lambda images, indices, labels: images)
    toys[name] = dataclasses.replace(
        toys[name], source=changed, name="toy_noisy", config="eps10", parameters={"epsilon": 0.1}
    )
    text = overview(tmp_path)
    assert "score against epsilon" not in text
    assert "toy/spacing_1: the original against what was made of it" in text
    assert ">original</text>" in text


def test_two_changes_of_other_size_make_a_ladder_with_the_original_at_0(site, toys, run_folder, tmp_path):
    base = toys["toy/spacing_1"]
    source = Derived(base, lambda images, indices, labels: images)
    for number, epsilon in (("small", 0.1), ("spacing_8", 0.2)):
        toys[f"toy/{number}"] = dataclasses.replace(
            toys[f"toy/{number}"], source=source, parameters={"kind": "noise", "epsilon": epsilon}
        )
    results.write(tmp_path / "results", evaluate.evaluate([run_folder(dataset="toy/small")]))
    text = overview(tmp_path)
    assert "toy noise: score against epsilon" in text
    assert "At 0: toy/spacing_1, unchanged." in text


def test_what_is_no_number_makes_no_ladder(site, toys, tmp_path):
    for name, shaded in (("toy/spacing_1", False), ("toy/spacing_8", True)):
        toys[name] = dataclasses.replace(toys[name], parameters={"shaded": shaded})
    assert "score against" not in overview(tmp_path)


def test_a_replaced_task_keeps_its_page_and_is_compared_with_nothing(site, toys, tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "SUPERSEDED", {"toy/spacing_1@v1": "toy/spacing_1@v2"})
    protocol.task.cache_clear()
    root = tmp_path / "results"
    build.build(root, site)
    assert (site / "tasks" / "toy.spacing_1.v1.html").is_file()
    assert not (site / "tasks" / "toy.spacing_1.html").exists()
    page = (site / "tasks" / "toy.spacing_1.v1.html").read_text("utf-8")
    assert "replaced by toy/spacing_1@v2" in page
    text = (site / "index.html").read_text("utf-8")
    assert "toy/spacing_1@v1</a>, replaced by toy/spacing_1@v2" in text
    assert 'id="t-toy.spacing_1' not in text
    assert audit.check(root) == []


def test_a_board_of_many_tasks_lists_them_as_cards_with_standings_and_reported_numbers(
    run_folder, toys, tmp_path, browser
):
    for number in range(2, 7):
        toys[f"toy/spacing_{number}"] = dataclasses.replace(toys["toy/small"], config=f"spacing_{number}")
    root = tmp_path / "results"
    results.write(
        root,
        evaluate.evaluate(
            [
                run_folder(name, f"toy/spacing_{number}", seed, noise=noise)
                for name, noise in (("beta_vae", 0.2), ("factor_vae", 0.4))
                for number in range(2, 7)
                for seed in range(5)
            ],
            status="reproduced",
        ),
    )
    for number in range(2, 7):
        media.of_dataset(f"toy/spacing_{number}", root / "v1" / "toy" / f"spacing_{number}")
    paper = json.loads((board.PUBLISHED / "reported" / "zietlow2021.json").read_text("utf-8"))
    paper["rows"] = [paper["rows"][0] | {"dataset": "toy"}]
    (root / "reported").mkdir()
    (root / "reported" / "zietlow2021.json").write_text(json.dumps(paper), "utf-8")
    site = build.build(root, tmp_path / "site").parent
    for page in site.rglob("*.html"):
        browser.open(page, width=360)
        assert browser.complaints == []
        assert browser.run("document.documentElement.scrollWidth") <= 360, page.name
    text = (site / "index.html").read_text("utf-8")
    assert text.count('<li class="card"><img') == 5
    assert "Average rank" in text
    assert "0.06 ± 0.03" in (site / "reported.html").read_text("utf-8")
    assert "0.06 ± 0.03" in (site / "tasks" / "toy.spacing_2.html").read_text("utf-8")


def test_an_axis_ends_at_a_round_number():
    assert [plots.ceiling(v) for v in (0.03, 0.11, 0.5, 0.97, 1.0)] == pytest.approx([0.032, 0.12, 0.6, 1.0, 1.0])
