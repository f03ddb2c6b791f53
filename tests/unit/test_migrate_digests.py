"""Migrated records name the settings that were defaults when they were made."""

from tools.migrate_digests import completed


def test_new_settings_are_added_and_recorded_ones_stay():
    recorded = {"l2": 0.3, "pairs": 20}
    today = {"l2": 0.0, "pairs": 20, "tol": 0.0}
    assert completed(today, recorded) == {"l2": 0.3, "pairs": 20, "tol": 0.0}
    assert recorded == {"l2": 0.3, "pairs": 20}


def test_settings_of_a_wrapped_class_are_completed_as_well():
    recorded = {"base": "ldl.SABFGS", "settings": {"max_iter": 300}}
    today = {"base": "ldl.SABFGS", "settings": {"max_iter": 7, "pairs": 20}, "ties": "first"}
    expected = {"base": "ldl.SABFGS", "settings": {"max_iter": 300, "pairs": 20}, "ties": "first"}
    assert completed(today, recorded) == expected
