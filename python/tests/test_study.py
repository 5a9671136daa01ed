"""Studies: the command's ids, every problem at once, what may not change."""

import pickle

import pytest

import tremolo
from tremolo import Study, StudyError


def test_the_id_is_the_commands(study, program, tmp_path):
    path = study.save(tmp_path / "study.json")
    assert program("study", "id", path).strip() == study.id
    assert Study.from_file(path) == study == pickle.loads(pickle.dumps(study))


def test_a_file_is_not_overwritten(study, tmp_path):
    path = study.save(tmp_path / "study.json")
    with pytest.raises(FileExistsError):
        study.save(path)
    study.save(path, force=True)


def test_all_problems_are_told():
    with pytest.raises(StudyError) as caught:
        Study({"tremolo": 1, "title": "x", "features": [], "response": {}})
    paths = {problem.path for problem in caught.value.problems}
    assert {"features", "privacy", "protocol"} <= paths
    assert caught.value.status == "BAD_STUDY"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"tremolo": 1', "\ud800"])
def test_what_is_no_study(text):
    with pytest.raises(ValueError):
        Study.from_json(text)


def test_features_and_guarantee(study):
    assert [feature.kind for feature in study.features] == ["number", "number", "category"]
    assert study.features[2].levels == ("chest", "ring", "wrist")
    assert study.response.unit == "1/min"
    assert tremolo.explain(study).epsilon == pytest.approx(2, abs=1e-5)
    words = str(tremolo.explain(study))
    assert words.startswith("For the reviewer:\nEach device") and "\nFor the participant:\nYour device" in words
    near = Study.build(
        title="n", features={"x": (0, 1)}, response=("y", (0, 1)), epsilon=1, neighbours="distance=0.5"
    )
    assert near.guarantee.neighbours == "distance=0.5" and near.guarantee.delta == 1e-5


def test_starters():
    assert '"tremolo": 1' in Study.starter()
    made = Study.starter(["age", "pulse"], response="pulse")
    assert '"age"' in made and '"pulse"' in made
