"""Downloads one file over https, with retries, resuming, limits, and a final check.

Attempts are counted here, because most of them continue in the middle of a file, which urllib3's
Retry cannot do. Retry only reads how long a busy server asks us to wait. Otherwise attempts would
be counted and waited for twice.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from ldlrepro.core.checksums import Stated, mismatch

CHUNK = 1 << 16
MAX_REDIRECTS = 5
TRY_AGAIN = {408, 425, 429, 500, 502, 503, 504}
LONGEST_PAUSE_S = 120
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True)
class Web:
    """Settings of downloads: patience, limits and trust."""

    attempts: int = 4
    timeouts: tuple[float, float] = (15.0, 60.0)
    """Seconds to connect, and seconds without a byte."""
    max_bytes: int = 4 << 30
    """Limit for files whose size is not known."""
    sleep: Callable[[float], None] = time.sleep
    progress: bool = True
    loopback_http: bool = False
    """Tests serve files from this machine without https."""


class DownloadError(Exception):
    """Raised where an address cannot give the file; the text says why."""


class _TryAgainError(Exception):
    """A failed attempt that may succeed after a pause of some seconds."""

    def __init__(self, problem: str, pause: float = 0.0) -> None:
        super().__init__(problem)
        self.pause = pause


def download(url: str, part: Path, stated: Stated, web: Web) -> None:
    """Download the content that is ``stated`` into ``part``, or raise DownloadError.

    The content of ``part`` from an interrupted attempt is continued. Wrong content is removed.
    """
    problem, pause = "", 0.0
    for attempt in range(web.attempts):
        if attempt:
            web.sleep(max(2.0 ** (attempt - 1), pause))
        resumed = part.exists()
        if resumed and not mismatch(part, stated):
            return
        try:
            _attempt(url, part, stated.bytes or web.max_bytes, web)
        except _TryAgainError as error:
            problem, pause = str(error), error.pause
            continue
        wrong = mismatch(part, stated)
        if not wrong:
            return
        if part.stat().st_size < (stated.bytes or 0):
            problem = f"the answer ended early: {wrong}"
            continue
        part.unlink()
        if not resumed:
            raise DownloadError(f"{url}: {wrong}")
        problem = wrong  # the two halves may be of different versions: start over
    if part.exists() and not mismatch(part, stated):
        return  # everything came although the server announced more
    raise DownloadError(f"{url}: {problem} ({web.attempts} attempts)")


def _attempt(url: str, part: Path, limit: int, web: Web) -> None:
    """Make one request; append to ``part`` where the server continues from there."""
    offset = part.stat().st_size if part.exists() else 0
    with _request(url, offset, web) as response:
        if offset and response.status_code in (206, 416):
            start = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
            if response.status_code == 416 or not start or int(start[1]) != offset:
                part.unlink()
                raise _TryAgainError("the server could not continue the download")
        elif response.status_code == 200:
            offset = 0
        elif response.status_code in TRY_AGAIN:
            raise _TryAgainError(f"HTTP status {response.status_code}", _asked_pause(response))
        else:
            raise DownloadError(f"{url}: HTTP status {response.status_code}")
        _receive(response, part, offset, limit, web)


def _asked_pause(response: Any) -> float:
    from urllib3 import Retry, exceptions

    try:
        return Retry(retry_after_max=LONGEST_PAUSE_S).get_retry_after(response.raw) or 0.0
    except exceptions.InvalidHeader:
        return 0.0


def _receive(response: Any, part: Path, offset: int, limit: int, web: Web) -> None:
    from tqdm import tqdm

    hidden = not (web.progress and sys.stderr.isatty())
    name = part.name.removeprefix(".").removesuffix(".part")
    size = offset
    with (
        open(part, "ab" if offset else "wb") as handle,
        tqdm(desc=name, initial=offset, unit="B", unit_scale=True, disable=hidden) as bar,
    ):
        while size <= limit and (chunk := _read(response, web)):
            size += len(chunk)
            handle.write(chunk)
            bar.update(len(chunk))
    if size > limit:
        part.unlink()
        if offset:
            raise _TryAgainError(f"more than the {limit} bytes allowed")
        raise DownloadError(f"{response.url}: stopped, it sends more than {limit} bytes")


def _read(response: Any, web: Web) -> bytes:
    import urllib3

    try:
        return bytes(response.raw.read(CHUNK, decode_content=False))
    except urllib3.exceptions.ReadTimeoutError:
        raise _silence(web) from None
    except urllib3.exceptions.HTTPError:
        raise _TryAgainError("the connection broke") from None


def _silence(web: Web) -> _TryAgainError:
    return _TryAgainError(f"no data for {web.timeouts[1]:g} s")


@contextmanager
def _request(url: str, offset: int, web: Web) -> Iterator[Any]:
    """Get an address. Redirects are followed by hand, because each address must be https."""
    # Compressed answers could neither be continued nor measured.
    headers = {"Accept-Encoding": "identity", "User-Agent": "ldlrepro"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    for _ in range(MAX_REDIRECTS + 1):
        _refuse_unsafe(url, web)
        with _get(url, headers, web) as response:
            if not response.is_redirect:
                yield response
                return
            url = urljoin(url, response.headers["Location"])
    raise DownloadError(f"{url}: too many redirects")


def _get(url: str, headers: Mapping[str, str], web: Web) -> Any:
    import requests

    try:
        # No session: a connection kept from the last redirect may have been closed by the server.
        return requests.get(
            url, headers=headers, stream=True, timeout=web.timeouts, allow_redirects=False
        )
    except requests.exceptions.SSLError as error:
        raise DownloadError(f"{url}: the secure connection failed: {error}") from None
    except requests.exceptions.ConnectionError:
        raise _TryAgainError("cannot connect") from None
    except requests.exceptions.Timeout:
        raise _silence(web) from None
    except (requests.exceptions.RequestException, ValueError) as error:
        # requests looks at the address of a redirect even where it is not to follow it.
        raise DownloadError(f"{url}: {error}") from None


def _refuse_unsafe(url: str, web: Web) -> None:
    address = urlsplit(url)
    if address.scheme == "https":
        return
    if address.scheme == "http" and web.loopback_http and address.hostname in LOOPBACK:
        return
    raise DownloadError(f"{url}: only https addresses are allowed")
