"""From a method's name to an estimator, and what is said where that fails."""

import pytest

from ldlrepro.core.errors import UserError
from tests.unit.judged import PROJECT


def test_overrides_beat_the_yaml_and_grid_parameters_keep_the_class_default():
    plain = {"standardise": False, "mean_share": None, "verbose": False}
    assert PROJECT.method("aa_knn").estimator().get_params() == {"n_neighbors": 4, **plain}
    nine = PROJECT.method("aa_knn").estimator(n_neighbors=9)
    assert nine.get_params() == {"n_neighbors": 9, **plain}
    default = PROJECT.method("aa_knn").kind().get_params() | plain
    assert PROJECT.method("aa_knn@grid").estimator().get_params() == default


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("ldl.knnn.AAKNN", r"m\.yaml: class: cannot import 'ldl.knnn'"),
        ("ldl.AAKN", "ldl has no 'AAKN'.*Did you mean 'AAKNN'"),
        ("ldl.neighbours.knn.AAKN", "has no 'AAKN'.*Did you mean 'AAKNN'"),
        ("ldl.neighbours.knn.np", "ldl.neighbours.knn.np does not derive from LDLEstimator"),
    ],
)
def test_class_that_cannot_be_found_is_refused_with_the_file(checkout, path, message):
    checkout.write("config/methods/m.yaml", f"title: m\nclass: {path}\n")
    with pytest.raises(UserError, match=message):
        checkout.project.method("m").estimator()


def test_a_setting_that_no_fold_could_use_is_refused_before_the_first():
    with pytest.raises(UserError, match="aa_knn@n_neighbors=abc': n_neighbors must be"):
        PROJECT.method("aa_knn@n_neighbors=abc").refuse_mistakes()


def test_a_setting_that_the_class_inside_lacks_is_refused_with_the_file(checkout):
    inner = "{estimator: ldl.StructRF, settings: {max_dept: 3}}"
    checkout.write("config/methods/m.yaml", f"title: m\nclass: ldl.DFLDL\nparameters: {inner}\n")
    said = r"m\.yaml: parameters: settings: StructRF has no parameter 'max_dept'.*mean 'max_depth'"
    with pytest.raises(UserError, match=said):
        checkout.project.method("m").refuse_mistakes()
