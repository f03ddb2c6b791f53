"""Fixtures of the tests of methods."""

import pytest

from ldl.cascade import _layers
from tests.oracle.cascades import Spy


@pytest.fixture
def spies(monkeypatch):
    Spy.log = []
    monkeypatch.setattr(_layers, "build", lambda kind, given, seed: Spy(kind, given))
    return Spy.log
