"""What every test shares: one Ray for the whole run, and examples without a deadline."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, sync_playwright

# The machines that run the tests are slow and shared: time is never what a test is about.
settings.register_profile(
    "allranks", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("allranks")

HERE = Path(__file__).parent
FOLDER_MARKS = {"browser": "browser"}
# As in scripts/browser.sh, which says how to get one.
CHROMIUMS = (
    *("chromium", "chromium-browser", "google-chrome"),
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
CHROMIUM_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
]


def pytest_configure() -> None:
    """Hear Ctrl-C, and let children hear it: a run started in the background is born deaf to it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Look for examples in docstrings in src only, not in what helps the tests."""
    helper = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if helper and HERE in collection_path.parents else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts Ray and what opens a browser, so that `make quick` can leave it out."""
    for item in items:
        if "ray_session" in getattr(item, "fixturenames", ()):
            item.add_marker("ray")
        if HERE in item.path.parents:
            folder = item.path.relative_to(HERE).parts[0]
            if folder in FOLDER_MARKS:
                item.add_marker(FOLDER_MARKS[folder])


@pytest.fixture(scope="session")
def ray_session() -> Iterator[None]:
    """One local Ray for the whole run, started as a World starts it, gone at the end."""
    from allranks.runtime.cluster import connect

    # Ray's sockets lie below its folder, and Unix allows their names 107 bytes.
    folder = tempfile.mkdtemp(prefix="ar-", dir="/tmp")
    before = {name: os.environ.get(name) for name in ("RAY_TMPDIR", "RAY_ADDRESS")}
    os.environ["RAY_TMPDIR"] = folder
    os.environ.pop("RAY_ADDRESS", None)
    cluster = connect()
    try:
        yield
    finally:
        cluster.ray.shutdown()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One headless Chromium for the whole run: a process has room for one Playwright only."""
    named = os.environ.get("ALLRANKS_CHROMIUM", "")
    found = next((path for path in map(shutil.which, (named, *CHROMIUMS)) if path), None)
    assert found, "no Chromium here: scripts/browser.sh says how to get one"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=CHROMIUM_FLAGS)
        yield started
        started.close()
