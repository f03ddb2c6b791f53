"""A pickle that does something where it is loaded, for tests that nothing loads it."""

import os
from pathlib import Path


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)
