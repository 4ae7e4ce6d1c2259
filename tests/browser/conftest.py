"""The built book, served on loopback and as a folder, in a browser that reports every complaint."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Response

from allranks.serve.build import build
from allranks.serve.site import open_server

WIDE, PHONE = 1280, 390


@dataclass
class Watch:
    """What a page asked for and complained of."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))
        page.on("response", self._answered)

    def _said(self, message: ConsoleMessage) -> None:
        self.complaints.append(f"console {message.type}: {message.text}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status}: {response.url}")

    def foreign(self) -> list[str]:
        """Return the requests that left this machine."""
        return [
            url
            for url in self.requests
            if urlsplit(url).scheme not in {"file", "data", "blob"}
            and urlsplit(url).hostname != "127.0.0.1"
        ]


@pytest.fixture(scope="session")
def book() -> Path:
    """The folder of the built book; built now unless it is up to date."""
    return build(quiet=True).html


@pytest.fixture(scope="session")
def bases(book: Path) -> Iterator[dict[str, str]]:
    """Where the book is, from a server and from a folder."""
    with open_server(book, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield {"server": server.address, "folder": book.as_uri() + "/"}
        server.shutdown()
        thread.join()


@pytest.fixture
def visit(browser: Browser, bases: dict[str, str]) -> Iterator[Callable[..., Page]]:
    """Open a page; when the test ends, none may have complained or asked another host."""
    watches: list[Watch] = []
    contexts = []

    def opened(path: str, *, base: str = "server", width: int = WIDE, **options: object) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        watch = Watch()
        watch.follow(page)
        watches.append(watch)
        page.goto(bases[base] + path)
        page.wait_for_load_state("networkidle")
        return page

    yield opened
    for context in contexts:
        context.close()
    for watch in watches:
        assert watch.requests
        assert watch.complaints == []
        assert watch.foreign() == []
