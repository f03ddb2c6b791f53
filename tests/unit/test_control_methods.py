"""Methods that the configuration declares to be controls."""

from tests.unit.judged import PROJECT


def test_only_the_ceiling_and_two_diagnostics_see_test_labels_and_are_no_competitors():
    seeing = [method for method in PROJECT.methods if method.sees_test_labels]
    assert {method.base for method in seeing} == {"ldldf_oracle", "sldlf_released", "true_labels"}
    assert all(method.control for method in seeing)
