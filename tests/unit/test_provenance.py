"""Provenance: lock file, commit, machine, versions."""

from __future__ import annotations

from ldlrepro.train import provenance


def test_the_lock_digest_follows_the_lock_file(checkout):
    assert provenance.lock_digest(checkout.root) == ""
    checkout.write("envs/lock.txt", "numpy==2.0\n")
    first = provenance.lock_digest(checkout.root)
    checkout.write("envs/lock.txt", "numpy==2.1\n")
    assert len({"", first, provenance.lock_digest(checkout.root)}) == 3


def test_the_machine_is_described_without_its_name():
    import platform

    found = provenance.machine()
    assert set(found) == {"cpu", "system", "machine"}
    assert platform.node() not in found.values()


def test_versions_name_what_computes():
    assert {"python", "ldlrepro", "numpy", "scipy", "scikit-learn"} <= set(provenance.versions())
