"""The browser of the tests that need one."""

import shutil
from contextlib import contextmanager
from typing import NamedTuple

import pytest

CHROMIUM = shutil.which("chromium")

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="the browser tests need chromium on the path")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

WRITTEN = """async (sources, look) => {
  const frame = document.createElement("iframe");
  frame.hidden = true;  // Scripts run all the same, and nothing has to be laid out.
  document.body.append(frame);
  const found = [];
  for (const source of sources) {
    const inside = frame.contentDocument;
    inside.open();
    inside.write(source);
    inside.close();
    const late = performance.now() + 500;  // Only a page that was torn apart is never complete.
    do await new Promise((done) => setTimeout(done, 1));
    while (inside.readyState !== "complete" && performance.now() < late);
    found.push(look(inside));
  }
  return found;
}"""
"""Write pages into a frame, run what is in them, and look, one after the other: a frame for each takes far longer."""


class Heard(NamedTuple):
    """What a browser reports while a page is open."""

    messages: list[str]
    requests: list[str]


class Tabs:
    """The tabs of one window of a browser: to open a new one takes longer than most pages, a new window far longer.

    Size, colours and network of a tab are changed from visit to visit.
    """

    def __init__(self, browser):
        self._window = browser.new_context()
        self._window.set_default_timeout(30_000)
        self._free = []

    @contextmanager
    def visit(self, path, *, viewport=None, color_scheme="light", offline=False):
        """Open a file in a tab; yield the page and what is heard of it."""
        page = self._free.pop() if self._free else self._window.new_page()
        self._window.set_offline(offline)
        page.set_viewport_size(viewport or {"width": 1280, "height": 720})
        page.emulate_media(color_scheme=color_scheme)
        with _listening(page) as heard:
            page.goto(path.as_uri())
            yield page, heard
            # Nothing of this visit is left for the next. A tab that something failed in is not used again.
            page.mouse.move(0, 0)
            page.emulate_media(media="null")
            page.goto("about:blank")
        self._free.append(page)


@contextmanager
def _listening(page):
    heard = Heard([], [])
    listeners = {
        "console": lambda message: heard.messages.append(message.text),
        "pageerror": lambda error: heard.messages.append(str(error)),
        "dialog": lambda dialog: heard.messages.append(dialog.message),
        "popup": lambda popup: heard.messages.append(popup.url),
        "request": lambda request: heard.requests.append(request.url),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    try:
        yield heard
    finally:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
