"""The server of the book: loopback, one folder, right types, and only for those who mean it."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from allranks.serve import site
from allranks.serve.site import BookServer, open_server, serve_book


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    book = tmp_path / "html"
    (book / "book").mkdir(parents=True)
    (book / "index.html").write_text("<p>Straße</p>", encoding="utf-8")
    (book / "a.js").write_text("1", encoding="utf-8")
    (book / "a.woff2").write_bytes(b"x")
    (book / "a.svg").write_text("<svg/>", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("no", encoding="utf-8")
    return book


@pytest.fixture
def server(folder: Path) -> Iterator[BookServer]:
    with open_server(folder, 0) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def get(server: BookServer, path: str, host: str | None = None) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/a.js?v=1", "text/javascript; charset=utf-8"),
        ("/a.woff2", "font/woff2"),
        ("/a.svg", "image/svg+xml"),
    ],
)
def test_files_have_the_types_that_browsers_insist_on(
    path: str, kind: str, server: BookServer
) -> None:
    status, headers, _ = get(server, path)
    assert (status, headers["content-type"]) == (200, kind)
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'self'" in headers["content-security-policy"]


@pytest.mark.parametrize(
    "path", ["/nothing.html", "/book/", "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt"]
)
def test_nothing_else_is_given_out(path: str, server: BookServer) -> None:
    status, _, body = get(server, path)
    assert status == 404
    assert body != "no"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", ""]
)
def test_a_page_of_another_name_is_refused(host: str, server: BookServer) -> None:
    status, _, body = get(server, "/", host=host or " ")
    assert status == 421
    assert "Stra" not in body


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:8000"])
def test_loopback_has_three_names(host: str, server: BookServer) -> None:
    assert get(server, "/", host=host)[0] == 200


def test_the_server_listens_on_loopback_alone(server: BookServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_a_taken_port_gives_the_next_one(folder: Path) -> None:
    with open_server(folder, 0) as first, open_server(folder, first.server_port) as second:
        assert second.server_port > first.server_port


def test_ports_that_are_all_taken_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "PORTS_TRIED", 0)
    with (
        open_server(folder, 0) as first,
        pytest.raises(OSError, match=rf"ports {first.server_port} to .* are all taken; free one"),
    ):
        open_server(folder, first.server_port)


def test_a_folder_without_a_book_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no built book here.*allranks build"):
        open_server(tmp_path, 0)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_is_none_is_refused(port: int, folder: Path) -> None:
    with pytest.raises(ValueError, match=f"port is {port}"):
        serve_book(folder, port=port, open_browser=False)


def test_ctrl_c_ends_it_with_a_word_and_no_traceback(folder: Path) -> None:
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    port = taken.getsockname()[1]
    code = (
        "import sys; from pathlib import Path; from allranks.serve.site import serve_book; "
        "serve_book(Path(sys.argv[1]), port=int(sys.argv[2]))"
    )
    environment = {k: v for k, v in os.environ.items() if k not in {"DISPLAY", "WAYLAND_DISPLAY"}}
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder), str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        first = child.stdout.readline()
        second = child.stdout.readline()
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        rest, errors = child.stdout.read(), child.stderr.read()
    taken.close()
    assert re.fullmatch(rf"port {port} is taken; using \d+\n", first)
    assert re.fullmatch(r"the course is ready at http://127\.0\.0\.1:\d+/\n", second)
    assert rest.strip() == "stopped"
    assert errors == ""
    assert child.returncode == 0
