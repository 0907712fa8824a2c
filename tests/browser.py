"""The browser of the tests that need one."""

import json
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
    """The windows of a browser, one for each set of options: to open a new one takes longer than most pages.

    Size and colours of a window are changed, not options.
    """

    def __init__(self, browser):
        self._browser = browser
        self._pages = {}

    @contextmanager
    def visit(self, path, *, viewport=None, color_scheme="light", **options):
        """Open a file in a window with these options; yield the page and what is heard of it."""
        key = json.dumps(options, sort_keys=True)
        page = self._pages.pop(key, None) or self._browser.new_context(**options).new_page()
        page.context.set_default_timeout(30_000)
        page.set_viewport_size(viewport or {"width": 1280, "height": 720})
        page.emulate_media(color_scheme=color_scheme)
        with _listening(page) as heard:
            page.goto(path.as_uri())
            yield page, heard
            # Nothing of this visit is left for the next. A window that something failed in is not used again.
            page.mouse.move(0, 0)
            page.emulate_media(media="null")
            page.goto("about:blank")
        self._pages[key] = page


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
