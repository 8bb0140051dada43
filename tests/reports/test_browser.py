"""Reports in a real browser: headless Chromium without network, driven by Playwright."""

import pandas as pd
import pytest

from tests.cli.commands import vectrick, write_data
from tests.data import folder_of

pytestmark = pytest.mark.slow

EVIL = ["<script>window.hacked=1</script>", "</script><script>window.hacked=1</script>",
        '"><img src=x onerror=window.hacked=1>', "<b>bold</b>&amp;{{body}}", "--one"]  # fmt: skip


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Make the pages by commands; return the folder they are in."""
    folder = tmp_path_factory.mktemp("reports")
    vectrick("demo", "--small", "--report", "demo.html", cwd=folder)
    quick = ["--baselines", "vertex mean", "--budget", "5"]
    vectrick("fit", folder_of("ki"), "-o", "ki.vt", "--report", "ki.html", *quick, cwd=folder)
    write_data(folder / "values", classes=False)
    write_data(folder / "evil")
    for file in (folder / "evil").iterdir():
        names = {f"d{i}": name for i, name in enumerate(EVIL)}
        pd.read_csv(file).replace(names).to_csv(file, index=False)
    vectrick("fit", "values", "--manual", "-o", "values.vt", "--report", "values.html", cwd=folder)
    vectrick(
        "fit", "evil", "-o", "evil.vt", "--report", "evil.html", "--loss", "logistic", "--baselines", "none", cwd=folder
    )
    tuning = ["--kernel", "linear", "--alphas", "1", "--folds", "2", "--jobs", "1", "--max-iter", "10"]
    vectrick("tune", "values", *tuning, "--report", "tuned.html", cwd=folder)
    return folder


class Opened:
    """A page in a browser without network, with everything that it complained about or asked for."""

    def __init__(self, browser, path, scheme="light", width=1280):
        self.context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}, offline=True)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-drawn]", timeout=30_000)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.context.close()


_ALWAYS = ["by_nearest", "matrix", "nearest", "novelty"]
_SEARCH = ["alphas", "calibration", "recall", "roc", "tried"]
_VALUES = ["comparison", "coverage", "history", "measured", "settings"]
PAGES = {
    "demo": sorted([*_ALWAYS, *_SEARCH, "comparison"]),
    "ki": sorted([*_ALWAYS, *_SEARCH, "comparison"]),
    "values": sorted([*_ALWAYS, *_VALUES]),
    "evil": sorted([*_ALWAYS, *_SEARCH]),
    "tuned": sorted([*_ALWAYS, *_VALUES]),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_every_figure_is_drawn_without_complaint_or_network(browser, reports, name, scheme):
    with Opened(browser, reports / f"{name}.html", scheme) as opened:
        assert opened.complaints == []
        assert [url for url in opened.requests if not url.startswith(("file:", "data:", "blob:"))] == []
        drawn = opened.page.evaluate("""() => Array.from(document.querySelectorAll(".plot")).map((plot) => [
            plot.id, plot.querySelectorAll("path, image").length,
            Array.from(plot.querySelectorAll("[class*=xtitle], [class*=ytitle]"), (title) => title.textContent)])""")
        assert sorted(one[0] for one in drawn) == PAGES[name]
        for plot, n_shapes, titles in drawn:
            assert n_shapes > 2, plot
            assert len(titles) >= 2, f"{plot} lacks names of axes"
            assert all(titles)
        captions = opened.page.locator("figcaption").all_text_contents()
        assert all(len(caption) > 40 for caption in captions)
        ink, paper = opened.page.evaluate("""() => { const style = getComputedStyle(document.body);
            return [style.color, style.backgroundColor].map((c) => c.match(/\\d+/g).slice(0, 3).map(Number)) }""")
        assert (sum(ink) > sum(paper)) == (scheme == "dark")


def test_a_report_is_small(reports):
    for name in PAGES:
        assert (reports / f"{name}.html").stat().st_size < 5_000_000


def test_the_table_of_new_edges_can_be_searched(browser, reports):
    with Opened(browser, reports / "ki.html") as opened:
        rows, count = opened.page.locator("#best tbody tr:visible"), opened.page.locator(".count")
        assert rows.count() == 200
        total = int(count.text_content().split()[2].strip(","))
        assert total > 5000  # the best partners of every one of 1421 + 156 vertices
        assert count.text_content() == f"{total} of {total}, the first 200 are shown"
        vertices = [
            pd.read_csv(folder_of("ki") / f"{side}_kernel.csv.gz", usecols=["id"])["id"] for side in ("start", "end")
        ]
        for names in vertices:  # also those that are far from the best
            opened.page.fill("input[type=search]", names.iloc[-1].lower())
            assert rows.count() >= 5
            assert all(names.iloc[-1].lower() in text.lower() for text in rows.all_text_contents())
        opened.page.fill("input[type=search]", "no such vertex")
        assert rows.count() == 0
        assert count.text_content() == f"0 of {total}"


@pytest.mark.parametrize("name", ["ki", "values", "evil"])
def test_a_click_explains_a_new_edge(browser, reports, name):
    with Opened(browser, reports / f"{name}.html") as opened:
        page = opened.page
        row = page.locator("#best tr.explained").first
        score = float(row.locator("td").nth(2).text_content())
        row.click()
        assert row.get_attribute("aria-expanded") == "true"
        cells = page.locator("#best tr.why tr:last-child td").all_text_contents()
        assert cells[0] == "total"
        assert abs(float(cells[1]) - score) <= 2e-3 * abs(score)
        row.press("Enter")
        assert page.locator("#best tr.why").count() == 0
        headers = page.locator("#best th").all_text_contents()
        assert "novelty" in headers
        assert ("lower" in headers) == (name == "values")
        page.locator("#best th button").nth(headers.index("novelty")).click()
        novelty = [float(text) for text in column(page, "#best", headers.index("novelty") + 1)]
        assert novelty == sorted(novelty, reverse=True)
        assert opened.complaints == []
        assert not page.evaluate("window.hacked")


def column(page, table, number):
    return page.locator(f"{table} tbody td:nth-child({number})").all_text_contents()


def test_tables_can_be_sorted(browser, reports):
    with Opened(browser, reports / "ki.html") as opened:
        page = opened.page
        scores = [float(text) for text in column(page, "#best", 3)]
        assert scores == sorted(scores, reverse=True)
        page.locator("#best th button").nth(2).click()
        assert page.locator("#best th").nth(2).get_attribute("aria-sort") == "descending"
        page.locator("#best th button").nth(2).click()
        lowest = [float(text) for text in column(page, "#best", 3)]
        assert lowest == sorted(lowest)
        assert lowest[0] < scores[-1]
        page.locator("#best th button").first.click()
        names = column(page, "#best", 1)
        assert names == sorted(names)
        numbers = page.evaluate("""() => Array.from(document.querySelectorAll("th.number, td.number"),
            (cell) => [getComputedStyle(cell).textAlign, getComputedStyle(cell).whiteSpace])""")
        assert numbers
        assert {tuple(style) for style in numbers} == {("right", "nowrap")}
        assert opened.complaints == []


def test_plotly_s_bar_comes_when_it_is_asked_for(browser, reports):
    with Opened(browser, reports / "demo.html", width=390) as opened:
        bars = opened.page.locator("#tried .modebar-btn")
        assert bars.count() == 0
        button = opened.page.locator("button.tools[data-plot=tried]")
        button.click()
        opened.page.wait_for_timeout(500)
        assert bars.count() > 0
        assert button.get_attribute("aria-pressed") == "true"
        button.click()
        opened.page.wait_for_timeout(500)
        assert bars.count() == 0


def test_captions_speak_of_what_is_there(browser, reports):
    with Opened(browser, reports / "tuned.html") as opened:
        captions = " ".join(opened.page.locator("figcaption").all_text_contents())
        assert "dotted line, and that model" not in captions
    with Opened(browser, reports / "values.html") as opened:
        assert "dotted line, and that model" in " ".join(opened.page.locator("figcaption").all_text_contents())


def test_the_heat_map_tells_vertices_score_and_whether_the_edge_is_known(browser, reports):
    with Opened(browser, reports / "ki.html") as opened:
        plot = opened.page.locator("#matrix .nsewdrag").first
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        seen = set()
        for step in range(12):  # across rows as well, since one of them may have every edge
            at = 0.1 + 0.06 * step
            opened.page.mouse.move(box["x"] + box["width"] * at, box["y"] + box["height"] * at)
            opened.page.wait_for_timeout(60)
            seen.update(opened.page.locator("#matrix .hovertext").all_text_contents())
        text = " ".join(seen)
        assert "start SID" in text
        assert "end " in text
        assert "score" in text
        assert "known: -1" in text
        assert "new" in text


def test_names_from_the_data_are_shown_and_never_run(browser, reports):
    with Opened(browser, reports / "evil.html") as opened:
        assert opened.page.evaluate("window.hacked") is None
        cells = column(opened.page, "#best", 1)
        assert set(EVIL) & set(cells)
        labels = opened.page.evaluate("document.getElementById('matrix').data[0].y")
        assert "&lt;script&gt;window.hacked=1&lt;/script&gt;" in labels
        assert "--one" in labels  # and no colour
        box = opened.page.locator("#matrix .nsewdrag").first.bounding_box()
        opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert opened.page.locator("img").count() == 0
        assert opened.page.evaluate("window.hacked") is None


@pytest.mark.parametrize("name", ["demo", "ki"])
def test_it_fits_a_phone_and_a_sheet_of_paper(browser, reports, name):
    with Opened(browser, reports / f"{name}.html", width=390) as opened:
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    with Opened(browser, reports / f"{name}.html", "dark") as opened:
        opened.page.emulate_media(media="print")
        assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert len(opened.page.pdf()) > 20_000


def test_it_follows_a_change_of_theme(browser, reports):
    with Opened(browser, reports / "demo.html") as opened:
        grid = "getComputedStyle(document.querySelector('#roc .ytick text')).fill"
        before = opened.page.evaluate(grid)
        opened.page.emulate_media(color_scheme="dark")
        opened.page.wait_for_timeout(1500)
        assert opened.page.evaluate(grid) != before
        assert opened.complaints == []
