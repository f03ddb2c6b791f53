"""The browser is opened once the page answers, and only where one would be seen."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from ldlrepro.track import browser
from ldlrepro.track.page import page_of, serve
from tests.mlflow_server import free_port


@pytest.fixture
def started(monkeypatch) -> list[list[str]]:
    """Commands of the processes that would be started, in a place without display."""
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(browser.sys, "platform", "linux")
    commands: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", commands.append)
    return commands


def test_the_browser_waits_for_the_page(tmp_path: Path, monkeypatch) -> None:
    opened = tmp_path / "opened"
    script = tmp_path / "browser"
    script.write_text(f"#!/bin/sh\necho $1 > {opened}\n")
    script.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(script))
    port = free_port()
    address = f"http://127.0.0.1:{port}/#/experiments/1/runs?a=b"
    waiting = threading.Thread(target=browser.main, args=(address,))
    waiting.start()
    time.sleep(0.3)
    assert not opened.exists()
    with socket.create_server(("127.0.0.1", port)):
        waiting.join()
    assert opened.read_text().strip() == address


def test_nobody_answers_forever(monkeypatch) -> None:
    monkeypatch.setattr(browser, "LONGEST_WAIT_S", 0.1)
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail("opened"))
    assert browser.main(f"http://127.0.0.1:{free_port()}/") == 1


def test_without_a_display_nothing_is_opened(started) -> None:
    serve("http://box:5000", 5000, print, browser=True)
    assert started == []


def test_with_a_display_the_page_is_opened_without_the_password(started, monkeypatch) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    serve("http://me:secret@box:5000", 5000, print, browser=True)
    (command,) = started
    assert command[-1] == f"http://box:5000{page_of('http://box:5000')}"
