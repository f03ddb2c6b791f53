"""Methods that the configuration declares to be controls."""

from ldlrepro import config


def test_only_the_ceiling_and_two_diagnostics_see_test_labels_and_are_no_competitors():
    specs = {method: config.load_method(method) for method in config.method_ids()}
    seeing = [method for method, spec in specs.items() if spec["sees_test_labels"]]
    families = {method.partition("@")[0] for method in seeing}
    assert families == {"ldldf_oracle", "sldlf_released", "true_labels"}
    assert all(specs[method]["control"] for method in seeing)
