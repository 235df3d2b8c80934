"""The pages: complete in themselves, harmless, and usable in a real browser."""

import dataclasses
import html.parser
import importlib.resources
import io
import json
import pathlib
import re
import shutil

import numpy as np
import pytest
import yaml
from PIL import Image

from benchmark_data.errors import DamagedFile
from benchmark_data.sources import Derived
from leaderboard import properties, protocol
from leaderboard.commands import board
from leaderboard.report import media, ranking
from leaderboard.report.site import build, gallery, plots
from leaderboard.store import results, results_tree
from tests.leaderboard import scored_submission

pytestmark = pytest.mark.usefixtures("one_tier")

HOSTILE = "<script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'>\"' {{ 7 * 7 }}"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Boards that are built once: by name, folders of which every test gets a copy, which it may change."""
    return tmp_path_factory.mktemp("kept")


def copied(kept, at, make):
    """Copy what is kept, a board and its results, to a folder. They are made there the first time."""
    if not kept.exists():
        shutil.copytree(make(at / "made").parent, kept)
    return shutil.copytree(kept, at, dirs_exist_ok=True)


@pytest.fixture
def site(kept, run_folder, audited, write_giveaways, tmp_path):
    """A board of two tasks, four methods and some pictures; one method's author means harm."""
    return copied(kept / "site", tmp_path, lambda at: _site(run_folder, audited, write_giveaways, at)) / "site"


def _site(run_folder, audited, write_giveaways, at):
    root = at / "results"
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
    results_tree.write(root, scored_submission.score_runs(folders, status="reproduced"))
    folder = root / "v1" / "toy" / "spacing_1"
    media.write_pictures("toy/spacing_1", folder)
    measured = (protocol.task(f"toy/spacing_{spacing}").load() for spacing in (1, 8))
    write_giveaways(root, [audited(one, traversals=5, pairs=10) for one in measured])
    return build.build(root, at / "site").parent


class Links(html.parser.HTMLParser):
    """Collects what a page refers to."""

    def __init__(self, text):
        super().__init__()
        self.found, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found += [(tag, k, v) for k, v in attributes if k in ("href", "src", "srcset")]
        self.ids |= {v for k, v in attributes if k == "id"}


@pytest.mark.parametrize(
    ("board", "count"),
    [
        # The tasks, the methods, and a page each on all tasks, datasets and submitting. Three scores beside the first
        # have a page.
        ("site", 2 + 4 + 3 + 3),
        # In each of two tiers a page for each score.
        ("two_scores", 3 + 3 + 1 + 2 * 2),
    ],
)
def test_every_link_leads_somewhere_and_nothing_is_fetched(board, count, request):
    found = {page: Links(page.read_text("utf-8")) for page in request.getfixturevalue(board).rglob("*.html")}
    assert len(found) == count
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
    assert re.search(r'src="pictures/\w+\.png"', text)
    assert "Contact sheet of toy/spacing_1" in text


def test_a_claim_stands_beside_what_was_found_and_is_not_ranked(site):
    assert "claimed 0.987" in (site / "methods" / "hostile.html").read_text("utf-8")
    assert "0.987" not in (site / "index.html").read_text("utf-8")


def test_a_damaged_picture_is_named(site, tmp_path):
    (tmp_path / "results" / "v1" / "toy" / "spacing_1" / "factors.png").write_bytes(b"<svg onload=alert(1)>")
    with pytest.raises(DamagedFile, match=r"factors\.png: expected a PNG picture"):
        build.build(tmp_path / "results", tmp_path / "site")


def test_a_dataset_that_is_unknown_here_still_has_its_page(site, tmp_path):
    root = tmp_path / "results"
    old = results_tree.read(results_tree.path(root, "toy/spacing_1@v1", "beta_vae"))
    runs = [run.model_copy(update={"dataset": "gone/small"}) for run in old.runs]
    results_tree.write(root, [results.result("gone/small@v1", "beta_vae", runs, about=old.about)])
    text = dict(build.files(root))["tasks/gone.small.html"].decode()
    assert "β-VAE" in text


def test_in_the_browser_nothing_complains_and_nothing_is_asked_for(site, browser):
    for page in site.rglob("*.html"):
        browser.open(page)
        assert browser.complaints == []
        own = (page.as_uri(), f"{site.as_uri()}/")
        assert all(url.startswith(own) for url in browser.requests)
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
            '#t-toy\\\\.spacing_1-desk tbody:not([hidden]) tr:not(.group):not([hidden]) th')]
        .map((head) => head.querySelector('a').getAttribute('href').replace(/.*\\/|\\.html/g, ''))"""
    )


def click(browser, text):
    browser.run(
        f"""[...document.querySelectorAll('#t-toy\\\\.spacing_1-desk thead button')]
        .find((button) => button.textContent === '{text}').click()"""
    )


def test_sorting(site, browser):
    browser.open(site / "index.html")
    assert methods(browser) == ["beta_vae", "hostile", "ada_gvae", "pca"]
    sort = "document.querySelector('#t-toy\\\\.spacing_1-desk th[aria-sort]')"
    assert browser.run(f"{sort}.dataset.col + {sort}.getAttribute('aria-sort')") == "rankascending"
    click(browser, "Seeds")
    assert browser.run(f"{sort}.textContent + {sort}.getAttribute('aria-sort')") == "Seedsdescending"
    click(browser, "Seeds")
    assert browser.run(f"{sort}.getAttribute('aria-sort')") == "ascending"
    assert methods(browser) == ["hostile", "beta_vae", "ada_gvae", "pca"]
    click(browser, "MIG")
    shown = browser.run(
        """[...document.querySelectorAll('#t-toy\\\\.spacing_1-desk tbody[data-category=unsupervised] tr:not(.group)')]
        .map((row) => Number(row.querySelector('td.score').dataset.value))"""
    )
    assert shown == sorted(shown, reverse=True)
    click(browser, "Rank")
    assert methods(browser)[:2] == ["beta_vae", "hostile"], "what has no rank stays last"


def test_filtering(site, browser):
    browser.open(site / "index.html")
    controls = "document.querySelector('[data-for=\"t-toy.spacing_1-desk\"]')"
    assert not browser.run(f"{controls}.hidden")
    browser.run(
        f"""{{ const box = {controls}.querySelector('input'); box.value = 'Β-vae'.toLowerCase();
        box.dispatchEvent(new Event('input')) }}"""
    )
    assert methods(browser) == ["beta_vae"]
    assert browser.run(f"{controls}.querySelector('[role=status]').textContent") == "1 of 4 methods"
    for typed in ("beta-vae", "Beta VAE", "betavae", "beta_vae", "β‑VAE"):
        browser.run(
            f"""{{ const box = {controls}.querySelector('input'); box.value = '{typed}';
            box.dispatchEvent(new Event('input')) }}"""
        )
        assert methods(browser) == ["beta_vae"], typed
    browser.run(
        f"""{{ const box = {controls}.querySelector('input'); box.value = ''; box.dispatchEvent(new Event('input'));
        const list = {controls}.querySelector('select'); list.value = 'reference';
        list.dispatchEvent(new Event('change')) }}"""
    )
    assert methods(browser) == ["pca"]


def test_the_keyboard_reaches_and_works_the_headings(site, browser):
    browser.open(site / "index.html")
    browser.run("document.querySelector('#t-toy\\\\.spacing_1-desk thead button').focus()")
    key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
    browser.call("Input.dispatchKeyEvent", type="keyDown", **key)
    browser.call("Input.dispatchKeyEvent", type="keyUp", **key)
    assert browser.run("document.querySelector('#t-toy\\\\.spacing_1-desk th[aria-sort]').textContent") == "Method"


@pytest.fixture
def two_scores(kept, made_result, toys, tmp_path, monkeypatch):
    """A board of two tiers, three tasks and two scores; two datasets are of one family."""
    column = properties.Column("dci.completeness", "C", "How few latents know of a factor.")
    monkeypatch.setattr(protocol, "COLUMNS", dict(protocol.COLUMNS) | {column.key: column})
    tiers = {name: protocol.Tier(name, "For tests.", ()) for name in ("desk", "smoke")}
    monkeypatch.setattr(protocol, "TIERS", tiers)
    toys["other/small"] = dataclasses.replace(toys["toy/small"], name="other")
    return copied(kept / "two", tmp_path, lambda at: _two_scores(made_result, at)) / "two_site"


def _two_scores(made_result, at):
    samples = {name: results.Sample(train=1, test=1, arguments={}) for name in ("mig", "dci")}
    root = at / "two"
    for tier, higher in (("desk", 0.3), ("smoke", 0.0)):
        for task in ("other/small", "toy/spacing_1", "toy/spacing_8"):
            for method, mean in (("beta_vae", 0.1), ("factor_vae", 0.2), ("ada_gvae", 0.15)):
                supervision = "weakly_supervised" if method == "ada_gvae" else "unsupervised"
                made = made_result(task, method, *[mean + higher] * 5, supervision=supervision, tier=tier)
                status = "reproduced" if method == "factor_vae" else "recomputed"
                runs = [
                    run.model_copy(
                        update={
                            "scores": run.scores | {"dci.completeness": 0.9 - mean + run.seed / 100},
                            "samples": samples,
                            "status": status,
                        }
                    )
                    for run in made.runs
                ]
                results_tree.write(root, [results.result(f"{task}@v1", method, runs)])
    return build.build(root, at / "two_site").parent


def shown(browser, table="m-desk"):
    """The rows and the columns of a table that can be seen."""
    rows = browser.run(
        f"""[...document.querySelectorAll('#{table} tbody:not([hidden]) tr:not(.group):not([hidden]) th')]
        .map((head) => head.textContent.trim())"""
    )
    columns = browser.run(
        f"""[...document.querySelectorAll('#{table} thead th')].filter((head) => head.offsetWidth)
        .map((head) => head.dataset.col)"""
    )
    return rows, columns


def choose(browser, name, value):
    browser.run(
        f"""{{ const list = document.querySelector('[data-for=m-desk] [data-state={name}]'); list.value = '{value}';
        list.dispatchEvent(new Event('change')) }}"""
    )


def test_desk_comes_first_and_no_page_mixes_tiers(two_scores, browser):
    browser.open(two_scores / "index.html")
    assert browser.run("document.querySelector('.switch [aria-current=page]').textContent") == "desk"
    assert browser.run("document.querySelectorAll('#m-smoke').length") == 0
    numbers = "[...document.querySelectorAll('#m-{} tbody tr:not(.group) td:first-of-type')].map((c) => c.textContent)"
    assert browser.run(numbers.format("desk")) == ["0.500", "0.400", "0.450"]
    browser.follow("[...document.querySelectorAll('.switch a')].find((a) => a.textContent === 'smoke').click()")
    assert browser.run("location.pathname").endswith("/tier.smoke.html")
    assert browser.run(numbers.format("smoke")) == ["0.200", "0.100", "0.150"]
    for page in (two_scores / "tasks").glob("*.html"):
        text = page.read_text("utf-8")
        assert text.index('id="tier-desk"') < text.index('id="tier-smoke"')


def test_each_score_has_a_page_that_needs_no_script(two_scores):
    text = (two_scores / "tier.desk.dci.completeness.html").read_text("utf-8")
    assert re.findall(r'<td data-value="([\d.]+)" style', text)[0] == "0.820000", "β-VAE is first by this score"
    assert 'href="tier.desk.dci.completeness.html"' in (two_scores / "index.html").read_text("utf-8")


def test_a_link_restores_the_view(two_scores, browser):
    page = two_scores / "index.html"
    browser.open(page)
    assert shown(browser)[1] == ["method", "mean", "rank", "other.small", "toy.spacing_1", "toy.spacing_8"]
    choose(browser, "supervision", "unsupervised")
    choose(browser, "family", "toy")
    for _ in range(2):  # highest first, lowest first
        browser.run("document.querySelector('#m-desk th[data-col=mean] button').click()")
    browser.run(
        """[...document.querySelectorAll('.columns input')].find((box) =>
        box.parentElement.textContent.includes('spacing_8')).click()"""
    )
    seen = shown(browser)
    assert seen[0] == ["beta_vae", "factor_vae"], "lowest first"
    assert seen[1] == ["method", "toy.spacing_1"], "mean and rank are over the other datasets, too"
    fragment = browser.run("location.hash")
    browser.open(two_scores / "submit.html")
    browser.follow(f"location.href = {json.dumps(page.as_uri() + fragment)}")
    assert shown(browser) == seen
    assert browser.run("document.querySelector('[data-for=m-desk] [data-state=family]').value") == "toy"
    assert browser.complaints == []


def test_facets(two_scores, browser):
    browser.open(two_scores / "index.html")
    choose(browser, "status", "reproduced")
    assert shown(browser)[0] == ["factor_vae"]
    choose(browser, "status", "")
    choose(browser, "supervision", "weakly_supervised")
    assert shown(browser)[0] == ["ada_gvae"]


def test_the_rank_names_the_score_that_it_ranks(two_scores):
    for name in ("index.html", "tasks/toy.spacing_1.html", "methods/factor_vae.html"):
        heads = re.findall(r">Rank</button>(.*?)</th>", (two_scores / name).read_text("utf-8"))
        assert heads, name
        assert set(heads) == {" <small>by MIG</small>"}, name


def test_a_method_may_have_ranks_in_one_tier_and_none_in_another(tmp_path, made_result):
    root = tmp_path / "tiers"
    for tier, scores in (("desk", [0.2] * 5), ("smoke", [0.2, 0.3])):
        results_tree.write(root, [made_result("toy/small", "beta_vae", *scores, tier=tier)])
    page = dict(build.files(root))["methods/beta_vae.html"].decode()
    assert re.findall(r">Rank</button>(.*?)</th>", page) == [" <small>by MIG</small>"], "no column of dashes"


def test_a_method_without_a_score_that_tables_show_has_no_page(tmp_path, made_result):
    (run,) = made_result("toy/other", "factor_vae", 0.3).runs
    other = run.model_copy(update={"scores": {"sap": 0.3}, "samples": {"sap": run.samples["mig"]}})
    hidden = results.result("toy/other@v1", "factor_vae", [other])
    results_tree.write(tmp_path / "results", [made_result("toy/small", "beta_vae", 0.2), hidden])
    pages = dict(build.files(tmp_path / "results"))
    assert [name for name in pages if name.startswith("methods/")] == ["methods/beta_vae.html"]


def test_a_task_that_few_methods_have_stands_behind_a_line(tmp_path, made_result):
    root = tmp_path / "few"
    for method in ("beta_vae", "factor_vae", "dip_vae_i"):
        for task in ("toy/spacing_1", "toy/spacing_8", *(["other/small"] if method == "beta_vae" else [])):
            results_tree.write(root, [made_result(task, method, *[0.2] * 5, tier="desk", status="reproduced")])
    shown = dict(build.files(root))
    first = shown["index.html"].decode()
    heads = re.findall(r'<th scope="col" class="([^"]*)" data-col="(\w+\.\w+)"', first)
    assert heads == [("number", "toy.spacing_1"), ("number", "toy.spacing_8"), ("number apart", "other.small")]
    assert "Mean over the first 2 tasks" in first
    assert first.count('<td data-value="0.200000" style="--v: 0.200">0.200</td>') == 3 * 3, "three means, six scores"


def test_the_methods_page_begins_with_model_steps_and_strengths(tmp_path, made_result):
    root = tmp_path / "r"
    for task, beta in (("toy/small", 4.0), ("toy/spacing_1", 8.0), ("toy/spacing_8", 8.0)):
        settings = {"architecture": "fc", "latents": 10, "beta": beta}
        results_tree.write(root, [made_result(task, "beta_vae", 0.1, hyperparameters=settings)])
    page = dict(build.files(root))["methods/beta_vae.html"].decode()
    head = page.partition("<h2>Scores")[0]
    for said in (
        'beta 4.0 <small class="soft">toy/small<',
        'beta 8.0 <small class="soft">toy/spacing_1, toy/spacing_8<',
    ):
        assert f"latents; 1,000 steps; {said}" in head


def test_the_methods_page_gives_the_command_that_trains_a_row_again(site, tmp_path, made_result):
    root = tmp_path / "trained"
    about = {"versions": {"offaxis": "0.1.0"}, "hyperparameters": {"beta": 4.0, "reconstruction": "mse"}}
    results_tree.write(root, [made_result("toy/small", "beta_vae", 0.1, status="reproduced", **about)])
    results_tree.write(root, [made_result("toy/small", "theirs", 0.1, hyperparameters={"beta": 4.0})])
    made = dict(build.files(root))
    wanted = "offaxis train run --dataset toy/small --objective beta_vae --steps 1000 --seed 0 --set beta=4.0"
    assert f"{wanted} --set reconstruction=mse" in made["methods/beta_vae.html"].decode()
    assert "offaxis train run" not in made["methods/theirs.html"].decode()
    for method, beta in (("harm", "$(reboot)"), ("more", "4 --to /")):
        harm = {"versions": {"offaxis": "0.1.0"}, "hyperparameters": {"beta": beta}}
        results_tree.write(root, [made_result("toy/small", method, 0.1, status="reproduced", **harm)])
        assert "offaxis train run" not in dict(build.files(root))[f"methods/{method}.html"].decode()


def test_a_phone_shows_a_method_and_its_first_score_at_once(two_scores, browser):
    for dark in (False, True):
        browser.open(two_scores / "index.html", width=390, height=844, dark=dark)
        place = browser.run(
            """(() => { const cell = document.querySelector('#m-desk tbody tr:not(.group) td');
            const box = cell.getBoundingClientRect(); return [box.left, box.right, box.bottom] })()"""
        )
        assert place[0] > 0
        assert place[1] <= 390
        assert place[2] <= 844
        assert browser.run("document.documentElement.scrollWidth") <= 390
        assert browser.run("getComputedStyle(document.querySelector('.more')).display") == "block"


def test_the_benchmark_is_cited_as_its_citation_file_says():
    said = yaml.safe_load((pathlib.Path(__file__).parents[3] / "CITATION.cff").read_text("utf-8"))
    assert f"title = {{{said['title']}}}" in build.BIBTEX
    assert said["authors"][0]["name"] in build.BIBTEX
    assert f"Version {said['version']}" in build.BIBTEX


def violations(browser, page, dark=False, width=1300):
    """Serious faults that axe-core, the usual checker of WCAG rules, finds in a page."""
    axe = importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    browser.open(page, dark=dark, width=width)
    browser.run(f"{axe}; 1")
    found = browser.run(
        "axe.run({resultTypes: ['violations']})"
        ".then((r) => r.violations.map((v) => `${v.impact} ${v.id}: ${v.nodes[0].html}`))"
    )
    return [text for text in found if text.startswith(("serious", "critical"))]


def test_axe_finds_no_serious_fault(site, browser):
    kinds = {page.name if page.parent == site else page.parent: page for page in site.rglob("*.html")}
    for page in kinds.values():
        for dark, width in ((False, 1300), (True, 360)):
            assert violations(browser, page, dark, width) == []


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
    beyond = re.search(r"Above the scale and not drawn: ([^.]*)\.", text)
    assert text.count("<polyline") + (len(beyond[1].split(", ")) if beyond else 0) == 4 * 4
    assert text.count('class="error"') >= 2, "of the method with five seeds"
    [plot] = plots.scores_vs_parameter(ranking.tables(results_tree.read_all(tmp_path / "results")))
    assert [tick.label for tick in plot.x_ticks] == ["1", "8"]
    for series in (one for panel in plot.panels for one in panel.series):
        assert [[point.x for point in run] for run in series.runs] == [[tick.at for tick in plot.x_ticks]]


def test_a_line_joins_neighbouring_numbers_alone(made_result):
    there = {"whole": (1, 2, 8), "gap": (1, 8), "pca": (1, 2, 8)}
    found = [
        made_result(f"xysquares/spacing_{spacing}", method, 0.9 if method == "pca" else 0.2)
        for method, spacings in there.items()
        for spacing in spacings
    ]
    [plot] = plots.scores_vs_parameter(ranking.tables(found))
    [panel] = plot.panels
    assert {one.title: [len(run) for run in one.runs] for one in panel.series} == {"gap": [1, 1], "whole": [3]}
    assert plot.caption.endswith("Above the scale and not drawn: pca (MIG).")


def test_of_many_methods_those_without_the_first_score_are_left_out_first(made_result):
    found = [
        made_result(f"xysquares/spacing_{spacing}", f"m{index}", index / 20)
        for index in range(1, plots.DRAWN + 2)
        for spacing in (1, 8)
    ]
    for place, made in enumerate(found):
        if made.method == "m9":
            other = {"scores": {"dci.disentanglement": 0.1}, "samples": {"dci": made.runs[0].samples["mig"]}}
            found[place] = results.result(made.task, "m9", [run.model_copy(update=other) for run in made.runs])
    [plot] = plots.scores_vs_parameter(ranking.tables(found))
    assert {one.title for one in plot.legend} == {f"m{index}" for index in range(1, plots.DRAWN + 2)} - {"m9"}


def overview(tmp_path):
    return dict(build.files(tmp_path / "results"))["index.html"].decode()


def test_two_changes_of_other_size_make_a_ladder_with_the_original_at_0(site, toys, run_folder, tmp_path):
    base = toys["toy/spacing_1"]
    source = Derived(base, lambda images, indices, labels: images)
    for number, epsilon in (("small", 0.1), ("spacing_8", 0.2)):
        toys[f"toy/{number}"] = dataclasses.replace(
            toys[f"toy/{number}"], source=source, parameters={"kind": "noise", "epsilon": epsilon}
        )
    results_tree.write(tmp_path / "results", scored_submission.score_runs([run_folder(dataset="toy/small")]))
    text = overview(tmp_path)
    assert "toy noise: score against epsilon" in text
    assert "At 0: toy/spacing_1, unchanged." in text


def test_what_is_no_number_makes_no_ladder(site, toys, tmp_path):
    for name, shaded in (("toy/spacing_1", False), ("toy/spacing_8", True)):
        toys[name] = dataclasses.replace(toys[name], parameters={"shaded": shaded})
    assert "score against" not in overview(tmp_path)


def test_a_board_of_many_tasks_lists_them_as_cards_with_standings_and_reported_numbers(
    run_folder, toys, tmp_path, browser
):
    for number in range(2, 7):
        toys[f"toy/spacing_{number}"] = dataclasses.replace(toys["toy/small"], config=f"spacing_{number}")
    root = tmp_path / "results"
    results_tree.write(
        root,
        scored_submission.score_runs(
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
        media.write_pictures(f"toy/spacing_{number}", root / "v1" / "toy" / f"spacing_{number}")
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
    assert "0.06 ± 0.03" in (site / "reported.html").read_text("utf-8")
    text = (site / "tasks" / "toy.spacing_2.html").read_text("utf-8")
    assert "0.06 ± 0.03" in text
    assert "The small print holds the ranks that tests cannot exclude" in text


def test_an_axis_ends_at_a_round_number():
    assert [plots.ceiling(v) for v in (0.03, 0.11, 0.5, 0.97, 1.0)] == pytest.approx([0.032, 0.12, 0.6, 1.0, 1.0])


def test_the_overview_says_who_has_a_mean_and_no_rank(made_result, toys, tmp_path):
    scored = {"a": [0.1] * 5, "b": [0.2] * 5, "one_seed": [0.9]}
    for task in ("toy/spacing_1", "toy/spacing_8"):
        results_tree.write(tmp_path / "r", [made_result(task, name, *migs) for name, migs in scored.items()])
    text = build.build(tmp_path / "r", tmp_path / "s").read_text("utf-8")
    assert "No rank across tasks, since unranked on some task: one_seed." in text
    assert "tests allow no other rank. Higher, but not ranked: one_seed (0.900).</p>" in text


def test_the_overview_says_what_its_means_are_of(made_result, toys, tmp_path):
    scored = (("toy/spacing_1", "a"), ("toy/spacing_8", "a"), ("toy/spacing_1", "b"))
    results_tree.write(tmp_path / "r", [made_result(task, method, 0.1, 0.2) for task, method in scored])
    text = build.build(tmp_path / "r", tmp_path / "s").read_text("utf-8")
    for sentence in (
        "A tier is a training budget; this one: for tests.",
        "Means over 2 seeds and over 2 tasks (2 of toy).",
        "No method is ranked across these tasks. This requires 5 seeds, the same on each.",
        "No mean, since scores are missing on the tasks with a dash: b.",
    ):
        assert sentence in text
    assert "toy/<wbr>spacing_1</a>" in (tmp_path / "s/methods/a.html").read_text("utf-8")


def test_what_is_in_quarantine_is_struck_and_counts_nowhere(made_result, toys, tmp_path):
    tasks = ("toy/spacing_1", "toy/spacing_8")
    found = [
        made_result(task, name, *[mig] * 5) for task in tasks for name, mig in (("a", 0.1), ("main", 0.2), ("c", 0.3))
    ]
    found[-1] = made_result("toy/spacing_8", "c", *[0.987] * 5, quarantine="saw the labels")
    results_tree.write(tmp_path / "r", found)
    text = build.build(tmp_path / "r", tmp_path / "s").read_text("utf-8")
    (row,) = (line for line in text.splitlines() if "methods/c.html" in line and "<s " in line)
    assert '<s title="in quarantine: saw the labels">0.987</s>' in row
    matrix = text.split('id="m-smoke"')[1].split("</table>")[0]
    assert matrix.count("0.987") == 1
    assert "Struck through: flagged or in quarantine, and left out of means and comparisons." in text
    count = len(protocol.task("toy/spacing_8").scored)
    for number, result in enumerate(found):
        gaps = {"mig": {"gaps": (result.runs[0].scores["mig"],) * count}}
        runs = [run.model_copy(update={"parts": gaps}) for run in result.runs]
        found[number] = result.model_copy(update={"runs": tuple(runs)})
    results_tree.write(tmp_path / "r", found, replace=True)
    build.build(tmp_path / "r", tmp_path / "s")
    counts = {task: (tmp_path / "s" / f"tasks/{task.replace('/', '.')}.html").read_text("utf-8") for task in tasks}
    assert [page.split("MIG by factor")[1].count("methods/c.html") for page in counts.values()] == [1, 0]
    spans = {int(span) for span in re.findall(r'scope="rowgroup" colspan="(\d+)"', matrix)}
    heads = matrix.split("<thead>")[1].split("</thead>")[0].count("<th ")
    assert spans == {heads}


def test_pages_of_a_tier_count_what_is_in_it(made_result, toys, tmp_path, monkeypatch):
    tiers = {name: protocol.Tier(name, "For tests.", ()) for name in ("desk", "smoke")}
    monkeypatch.setattr(protocol, "TIERS", tiers)
    scored = [(f"toy/{config}", method, "smoke") for config in ("small", "spacing_1", "spacing_8") for method in "abc"]
    scored += [("toy/small", "a", "desk"), ("toy/small", "b", "desk"), ("toy/spacing_1", "a", "desk")]
    results_tree.write(
        tmp_path / "r", [made_result(task, method, 0.1, 0.2, tier=tier) for task, method, tier in scored]
    )
    monkeypatch.setattr(build, "INLINE", 0)
    text = build.build(tmp_path / "r", tmp_path / "s").read_text("utf-8")
    cards = re.findall(r'<h3><a href="([^"]+)">.*?<p class="soft">(\d \w+)</p></li>', text, re.DOTALL)
    assert dict(cards) == {
        "tasks/toy.small.html": "2 methods",
        "tasks/toy.spacing_1.html": "1 method",
        "methods/a.html": "2 tasks",
        "methods/b.html": "1 task",
    }
    task = (tmp_path / "s" / "tasks" / "toy.small.html").read_text("utf-8")
    assert 'id="tier-desk"' in task
    method = (tmp_path / "s" / "methods" / "a.html").read_text("utf-8")
    assert "<dt>Scores are</dt><dd>reproduced</dd>" in method


def test_a_thumbnail_is_the_first_of_four_rows(tmp_path):
    sheet, album = tmp_path / "sheet.png", {}
    rows = np.repeat(np.array([10, 20, 30, 40], np.uint8), 5)
    Image.fromarray(np.tile(rows[:, None], (1, 8))).save(sheet)
    shown = gallery.thumbnail(sheet, album)
    assert (shown.width, shown.height) == (8, 5)
    assert (np.asarray(Image.open(io.BytesIO(album[shown.file]))) == 10).all()
    assert gallery.thumbnail(tmp_path / "none.png", album) is None
    for damaged in (sheet.read_bytes()[:40], b"no picture"):
        sheet.write_bytes(damaged)
        with pytest.raises(DamagedFile, match=r"sheet\.png: expected a PNG picture"):
            gallery.thumbnail(sheet, album)


def test_a_board_is_built_where_a_link_leads(site, tmp_path):
    (tmp_path / "www").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "www")
    for _ in range(2):
        build.build(tmp_path / "results", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "www" / "index.html").exists()


def test_the_overview_calls_only_trained_methods_with_a_mean_unranked(made_result, toys, tmp_path):
    scored = {"a": [0.1] * 5, "b": [0.2] * 5, "pca": [0.9]}
    for task in ("toy/spacing_1", "toy/spacing_8"):
        results_tree.write(tmp_path / "r", [made_result(task, name, *migs) for name, migs in scored.items()])
    results_tree.write(tmp_path / "r", [made_result("toy/spacing_1", "partly", 0.9)])
    text = build.build(tmp_path / "r", tmp_path / "s").read_text("utf-8")
    assert "unranked on some task" not in text
