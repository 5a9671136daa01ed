"""Results: the one document, whatever shows it."""

import json
import math
import pickle
from pathlib import Path

import pytest

import tremolo
from tremolo import InputError, Result

pandas = pytest.importorskip("pandas")


def test_the_document_keeps_to_the_schema(result):
    jsonschema = pytest.importorskip("jsonschema")
    schema = Path(__file__).resolve().parents[2] / "docs" / "estimate.schema.json"
    jsonschema.validate(result.document, json.loads(schema.read_text()))


def test_parts_have_an_analysts_names(result):
    rows = {row["name"]: row for row in result.document["coefficients"]}
    assert list(result.params.index) == list(rows) and list(rows)[-1] == "(intercept)"
    assert result.params["age"] == rows["age"]["estimate"]
    assert result.bse["age"] == rows["age"]["standard_error"]
    assert result.pvalues["age"] == rows["age"]["p"]
    assert result.conf_int().loc["age", "low"] == rows["age"]["low"]
    assert result.cov_params().loc["age", "age"] == pytest.approx(result.bse["age"] ** 2, rel=0.5)
    assert result.to_frame().loc["age", "standard error"] == rows["age"]["standard_error"]
    known = result.document["r2"]
    assert math.isnan(result.rsquared) if known is None else result.rsquared == known
    assert result.nobs == 2400


def test_levels_follow_the_library(result):
    narrow, wide = result.conf_int(level=0.5), result.conf_int(0.01)
    assert (wide["low"] <= narrow["low"]).all() and (narrow["high"] <= wide["high"]).all()
    with pytest.raises(InputError):
        result.conf_int(level=1.5)


def test_the_truth_is_in_the_intervals(result):
    """Seed 1 is fixed, so this cannot fail by chance; the truth is the fixture's."""
    interval = result.conf_int(level=0.9999)
    for name, truth in {"age": 0.1, "sleep": -1.2, "worn=ring": 3.0}.items():
        assert interval.loc[name, "low"] <= truth <= interval.loc[name, "high"]


def test_what_noise_hides_is_nan(people):
    few = {name: column[:300] for name, column in people.items()}
    result = tremolo.simulate(few, response="pulse", epsilon=0.1, seed=1)
    assert result.params.isna().any() and result.not_identified
    assert " - " in result.summary() and math.isnan(result.rsquared)
    assert "nan" not in result.summary().lower()


def test_showing(result):
    assert "Pr(>|t|)" in result.summary() and "any two samples" not in result.summary()
    assert "any two samples" in result.summary(full=True) and "any two samples" in " ".join(str(result.guarantee).split())
    shown = result._repr_html_()
    assert shown.startswith("<pre>") and "(intercept)" in shown
    evil = json.loads(result.to_json())
    evil["title"] = "<script>alert(1)</script>"
    assert "<script>" not in Result(evil)._repr_html_()


def test_predictions_are_the_commands(result, people, program, tmp_path):
    frame = pandas.DataFrame(people).head(20)
    frame.loc[3, "age"] = float("nan")
    path = result.save(tmp_path / "result.json")
    frame.to_csv(tmp_path / "rows.csv", index=False, float_format="%.17g")
    program("predict", path, tmp_path / "rows.csv")
    ours = result.get_prediction(frame)
    assert list(ours.index) == list(frame.index) and ours.loc[3].isna().all()
    said = pandas.read_csv(__import__("io").StringIO(program("predict", path, tmp_path / "rows.csv")))
    assert ours["prediction"].dropna().to_numpy() == pytest.approx(
        said["prediction"].dropna().to_numpy(), rel=1e-5  # as many digits as the command prints
    )
    by_hand = result.prediction["(intercept)"] + sum(
        result.prediction[name] * frame[name] for name in ("age", "sleep")
    ) + result.prediction["worn=ring"] * (frame["worn"] == "ring") + result.prediction["worn=wrist"] * (
        frame["worn"] == "wrist"
    )
    assert result.predict(frame)[:3] == pytest.approx(by_hand[:3].to_numpy(), rel=1e-12)
    with pytest.raises(InputError, match="sleep"):
        result.predict(frame[["age", "worn"]])


def test_keeping(result, tmp_path):
    path = result.save(tmp_path / "result.json")
    again = Result.from_file(path)
    assert again.document == result.document
    assert pickle.loads(pickle.dumps(result)).document == result.document
    with pytest.raises(FileExistsError):
        result.save(path)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"tremolo_estimate": 2}', "\ud800"])
def test_what_is_no_estimate(text):
    with pytest.raises(InputError, match="not an estimate"):
        Result(text)


def test_plot(result):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = result.plot()
    shown = result.params.drop("(intercept)").dropna().index[::-1]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(shown)


def test_plans_are_the_commands(program, study):
    said = json.loads(program("plan", "--dimension", "3", "--devices", "1000", "--epsilon", "2", "--json"))
    plan = tremolo.plan(dimension=3, devices=1000, epsilon=2)
    assert plan.document == said
    assert not plan.told and plan.devices_needed > 1000 and "too few" in plan.summary()
    plan = tremolo.plan(dimension=8, devices=55_000, epsilon=2)
    assert plan.told and not plan.identified and "read score sets" in plan.summary()
    assert "<table>" in plan._repr_html_() and "devices_needed" in plan.to_frame().columns
    assert ".0%" not in plan._repr_html_() and "79.2%" in plan._repr_html_()
    assert tremolo.plan(study).document["devices"] == 3000
    assert tremolo.plan(study, neighbours="distance=1").document["privacy"]["release"] == "sample"
    for bad in ({}, {"dimension": 3, "devices": 10}, {"dimension": 0, "devices": 10, "epsilon": 1},
                {"dimension": 3, "devices": 10, "epsilon": 1, "effect": 0},
                {"dimension": 3, "devices": 10, "epsilon": 1, "correlation": -0.9}):
        with pytest.raises(InputError):
            tremolo.plan(**bad)
