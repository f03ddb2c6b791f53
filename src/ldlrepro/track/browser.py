"""Opens an address in the browser once somebody answers.

``python -m ldlrepro.track.browser ADDRESS`` does it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

LONGEST_WAIT_S = 120.0


def open_once_it_answers(address: str) -> None:
    """Open an address by a process of its own; not where no browser would show."""
    shown = any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    if shown or sys.platform == "darwin":
        subprocess.Popen([sys.executable, "-m", "ldlrepro.track.browser", address])


def main(address: str) -> int:
    import webbrowser

    place = urlsplit(address)
    port = place.port or {"https": 443}.get(place.scheme, 80)
    end = time.monotonic() + LONGEST_WAIT_S
    while time.monotonic() < end:
        try:
            socket.create_connection((place.hostname, port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return int(not webbrowser.open(address))
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
