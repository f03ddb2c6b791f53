"""Licensed photographs in the folders that their owners deliver: who, how old, which eyes.

``load_faces(data_set, data)`` gives the usable images, and one table of everything that is wrong
with the others. Whoever needs pixels reads them through ``ldlrepro.data.features.align``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldlrepro.data.images.faces import Face, FaceSet
    from ldlrepro.data.images.reading import load_faces

__all__ = ["Face", "FaceSet", "load_faces"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = "reading" if name == "load_faces" else "faces"
    return getattr(import_module(f"{__name__}.{home}"), name)
