"""The site builds from nothing without a warning, and works in a browser without network."""

import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

import pytest

from tests.data import FOLDER

pytest.importorskip("sphinx", reason="the site needs the extra vectrick[docs]")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent
OPENED = ("start/*.html", "tutorials/*.html", "index.html", "guide/trust.html", "numbers/speed.html")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site from a copy of its sources, as on a fresh clone."""
    root = tmp_path_factory.mktemp("clone")
    made = shutil.ignore_patterns("_build", "tutorials", "numbers", "generated", "commands.md", "__pycache__", "quick")
    for name in ("docs", "benchmarks", "experiments"):
        shutil.copytree(ROOT / name, root / name, ignore=made)
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        shutil.copyfile(ROOT / name, root / name)
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "-q", "-b", "html", "docs", "site"]
    environment = {**os.environ, "VECTRICK_DATA": str(FOLDER)}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    return root / "site"


@pytest.fixture(scope="module")
def address(site):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def opened(browser, address):
    """Return a function that opens a page; everything that is asked of other hosts fails the test."""
    contexts, elsewhere = [], []

    def open_page(path, width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: elsewhere.append(request.url) if address not in request.url else None)
        page.on("pageerror", lambda error: elsewhere.append(str(error)))
        page.goto(f"{address}/{path}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not [url for url in elsewhere if not url.startswith("data:")]


def test_a_search_for_zero_shot_leads_to_a_tutorial_and_its_figure(opened, address):
    page = opened("index.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("zero-shot")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    links = page.eval_on_selector_all("#search-results li a", "links => links.map(link => link.href)")
    tutorials = [link for link in links if "/tutorials/" in link and link.startswith(address)]
    assert tutorials, links
    page.goto(tutorials[0])
    figure = page.locator("article img[src*=sphx_glr]").first
    figure.scroll_into_view_if_needed()
    assert figure.is_visible()
    assert figure.evaluate("image => image.complete && image.naturalWidth > 200")
    assert figure.get_attribute("alt")


def test_pages_fit_a_phone_and_a_desk(opened, site):
    for pattern in OPENED:
        for file in sorted(site.glob(pattern)):
            for width in (390, 1280):
                page = opened(file.relative_to(site).as_posix(), width)
                sizes = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
                wide, shown = page.evaluate(sizes)
                assert wide <= shown + 1, f"{file.name} is wider than a screen of {width}"
                page.close()


def test_it_can_be_dark(opened):
    page = opened("index.html", scheme="dark")
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(int(part) for part in colour[4:-1].split(",")) < 200


def test_links_within_the_site_lead_somewhere(site):
    from html.parser import HTMLParser

    class Links(HTMLParser):
        def __init__(self):
            super().__init__()
            self.ids, self.targets, self.loaded, self.pictures = set(), [], [], []

        def handle_starttag(self, tag, attrs):
            values = dict(attrs)
            self.ids.add(values.get("id"))
            self.ids.add(values.get("name"))
            if tag == "a" and values.get("href"):
                self.targets.append(values["href"])
            if tag in ("script", "img") and values.get("src"):
                self.loaded.append(values["src"])
            if tag == "link" and values.get("rel") != "canonical":
                self.loaded.append(values.get("href", ""))
            if tag == "img":
                self.pictures.append(values)

    pages = {}
    for file in site.rglob("*.html"):
        pages[file.resolve()] = links = Links()
        links.feed(file.read_text(encoding="utf-8"))
    assert len(pages) > 150
    for file, links in pages.items():
        for address in links.loaded:
            assert not urlparse(address).netloc, f"{file.name} loads {address}"
        for picture in links.pictures:
            is_beside_words = "logo" in picture["src"] or "thumb" in picture["src"]
            assert picture.get("alt") or is_beside_words, f"{file.name} shows {picture['src']} without words"
        for address in links.targets:
            path, anchor = urldefrag(address)
            if urlparse(address).scheme in ("http", "https", "mailto"):
                continue
            target = (file.parent / unquote(path)).resolve() if path else file
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{file.name} links to {address}"
            if anchor and target in pages:
                assert unquote(anchor) in pages[target].ids, f"{file.name} links to {address}"


def test_it_has_every_section_and_every_public_name(site):
    import vectrick as vt

    for section in ("start", "tutorials", "guide", "reference", "numbers", "develop"):
        assert (site / section / "index.html").exists()
    text = "".join(file.read_text(encoding="utf-8") for file in (site / "reference").glob("*.html"))
    for name in ("AutoKron", "Edges", "kron", "vertex_split", "Morgan"):
        assert name in vt.__all__
        assert f"generated/vectrick.{name}.html" in text
    commands = (site / "guide" / "commands.html").read_text(encoding="utf-8")
    assert "--start-smiles" in commands
    assert "--worker-timeout" in commands
