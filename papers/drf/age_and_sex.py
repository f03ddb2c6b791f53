"""Whether features of faces carry age and sex: what linear models make of them, beside chance."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ldlrepro.data.images.reading import load_faces
from ldlrepro.experiments import Inputs, Outcome

COLUMNS = [
    "data set",
    "features",
    "MAE of the age",
    "of the median age",
    "sex right",
    "commoner sex",
]
NAMES = ("age_mae", "age_mae_chance", "sex", "sex_chance")


def measure(inputs: Inputs) -> Outcome:
    """Fit ridge to ages and logistic regression to sex, in folds of equal files."""
    outcome, rows = Outcome(), []
    for dataset in inputs.available():
        data = inputs.load(dataset)
        faces = load_faces(inputs.project.data_set(dataset), inputs.workspace.data)
        is_female = np.array([face.sex == "F" for face in faces.faces])
        found = []
        for fold in inputs.folds(dataset):
            parts = data.X[fold.train], data.X[fold.test]
            found.append(
                [
                    *_years(*parts, faces.ages[fold.train], faces.ages[fold.test]),
                    *_sexes(*parts, is_female[fold.train], is_female[fold.test]),
                ]
            )
            inputs.say(f"{dataset}: fold {len(found)}")
        means = np.mean(found, axis=0).tolist()
        rows.append([dataset, data.X.shape[1], *means])
        named = zip(NAMES, means, strict=True)
        outcome.facts |= {f"{name}_{dataset}": value for name, value in named}
    outcome.add_table("Age and sex", COLUMNS, rows)
    return outcome


def _years(
    train: np.ndarray, test: np.ndarray, ages: np.ndarray, true: np.ndarray
) -> tuple[float, float]:
    ridge = make_pipeline(StandardScaler(), RidgeCV(alphas=10.0 ** np.arange(6))).fit(train, ages)
    wrong = np.abs(ridge.predict(test) - true), np.abs(np.median(ages) - true)
    return float(wrong[0].mean()), float(wrong[1].mean())


def _sexes(
    train: np.ndarray, test: np.ndarray, sex: np.ndarray, true: np.ndarray
) -> tuple[float, float]:
    logistic = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000))
    right = logistic.fit(train, sex).predict(test) == true
    return float(right.mean()), float(((sex.mean() > 0.5) == true).mean())
