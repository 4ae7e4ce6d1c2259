"""Show the built book to the browser of this machine, and to nobody else."""

from __future__ import annotations

import errno
import os
import sys
import webbrowser
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1"
PORTS_TRIED = 64
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; frame-ancestors 'none'"
)


class BookServer(ThreadingHTTPServer):
    """Serves one folder on loopback; every request has a thread, and none outlives the server."""

    daemon_threads = True
    allow_reuse_address = os.name == "posix"

    def __init__(self, directory: Path, port: int) -> None:
        super().__init__((LOOPBACK, port), partial(BookHandler, directory=str(directory)))

    @property
    def address(self) -> str:
        """Return where a browser finds the book."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing about a browser that went away in the middle; report the rest."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class BookHandler(SimpleHTTPRequestHandler):
    """Gives out files, with the types that browsers insist on, to requests meant for loopback."""

    server_version = "allranks"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    extensions_map = {  # noqa: RUF012 - the base class has it so
        "": "application/octet-stream",
        ".css": "text/css; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".ico": "image/x-icon",
        ".ipynb": "application/json",
        ".js": "text/javascript; charset=utf-8",
        ".json": "application/json",
        ".mjs": "text/javascript; charset=utf-8",
        ".png": "image/png",
        ".svg": "image/svg+xml",
        ".txt": "text/plain; charset=utf-8",
        ".woff2": "font/woff2",
    }

    def send_head(self) -> IO[bytes] | None:  # type: ignore[override]
        """Refuse what another site's page, through a name of its own, asks of this machine."""
        host = urlsplit(f"//{self.headers.get('Host', '')}")
        if host.hostname not in {LOOPBACK, "localhost", "::1"}:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "This course answers on loopback only")
            return None
        return super().send_head()

    def list_directory(self, path: object) -> None:
        """Show no folder: the book has pages."""
        del path
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        """Add what keeps a page to itself, and a rebuilt page from being an old one."""
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Keep the terminal quiet."""


def open_server(directory: Path, port: int) -> BookServer:
    """Return a server on this port, or on the next one that is free.

    Raises:
        FileNotFoundError: the folder has no index.html.
        OSError: none of the next ports is free.
    """
    if not (directory / "index.html").is_file():
        message = f"{directory}: no built book here (no index.html); run `allranks build`"
        raise FileNotFoundError(message)
    last = min(port + PORTS_TRIED, 65535)
    for each in range(port, last + 1):
        try:
            return BookServer(directory, each)
        except OSError as error:
            if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise
    message = f"ports {port} to {last} are all taken; free one, or give another with --port"
    raise OSError(message)


def serve_book(directory: Path, *, port: int = 8000, open_browser: bool = True) -> None:
    """Serve a built book on loopback until Ctrl-C, and open it in the browser where there is one.

    Raises:
        FileNotFoundError, OSError: as `open_server`.
        ValueError: not a port.
    """
    if not 0 <= port <= 65535:  # noqa: PLR2004 - the highest port
        message = f"port is {port}; ports are 1 to 65535, such as 8000"
        raise ValueError(message)
    try:
        with open_server(directory, port) as server:
            if port not in {0, server.server_port}:
                _say(f"port {port} is taken; using {server.server_port}")
            opened = open_browser and _open(server.address)
            _say(f"the course is {'open' if opened else 'ready'} at {server.address}")
            _say("stop it with Ctrl-C")
            server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        _say("\nstopped")


def _open(address: str) -> bool:
    """Open a browser that has a window; a text browser would take over this terminal."""
    has_screen = sys.platform == "darwin" or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    if not has_screen:
        return False
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
