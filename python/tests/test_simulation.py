"""Simulations: the command's numbers to the last digit, names kept, what is refused."""

import json
import threading
import time

import numpy as np
import pytest

import tremolo
from tremolo import InputError

pandas = pytest.importorskip("pandas")


def _csv(people, path):
    pandas.DataFrame(people).to_csv(path, index=False, float_format="%.17g")
    return path


def test_the_commands_numbers(people, program, tmp_path):
    path = _csv(people, tmp_path / "people.csv")
    said = json.loads(
        program("simulate", path, "--response", "pulse", "--epsilon", "2", "--seed", "5", "--json")
    )
    for data in (people, pandas.DataFrame(people), path):
        ours = tremolo.simulate(data, response="pulse", epsilon=2, seed=5).document
        assert ours["coefficients"] == said["coefficients"]
        assert ours["prediction"] == said["prediction"]
        assert ours["guarantee"] == said["guarantee"]


@pytest.mark.parametrize("neighbours", ["distance=1", "distance=0.5"])
def test_noisy_samples_as_the_command_has_them(people, program, tmp_path, neighbours):
    path = _csv(people, tmp_path / "people.csv")
    said = json.loads(
        program("simulate", path, "--response", "pulse", "--epsilon", "2", "--seed", "5", "--json",
                "--neighbours", neighbours, "--delta", "1e-6", "--protect", "features")
    )
    ours = tremolo.simulate(
        people, response="pulse", epsilon=2, seed=5, neighbours=neighbours, delta=1e-6,
        protect="features",
    ).document
    assert ours["coefficients"] == said["coefficients"]
    assert ours["guarantee"]["neighbours"] == neighbours


def test_formulas_are_the_commands(people, program, tmp_path):
    path = _csv({**people, "site": np.arange(3000) % 3}, tmp_path / "people.csv")
    frame = pandas.read_csv(path)
    formula = "pulse ~ age + sleep + C(worn) + C(site) + log(age)"
    said = json.loads(program("simulate", path, "--terms", formula, "--epsilon", "8", "--seed", "5", "--json"))
    ours = tremolo.simulate(frame, formula, epsilon=8, seed=5)
    assert ours.document["coefficients"] == said["coefficients"]
    assert {"site=1", "site=2", "log(age)", "worn=ring"} <= set(ours.names)
    for bad in ("pulse ~", "pulse ~ nope", "pulse ~ age +", "~ age", "pulse ~ log(worn)", "\0", "pulse ~ " + "(" * 999):
        with pytest.raises(InputError):
            tremolo.simulate(frame, bad, epsilon=2)
    with pytest.raises(InputError, match="not both"):
        tremolo.simulate(frame, formula, features=["age"], epsilon=2)


def test_a_study_brings_bounds_and_guarantee(people, study):
    result = tremolo.simulate(people, study=study, seed=3)
    assert not result.bounds_from_data
    assert result.names == ["age", "sleep", "worn=ring", "worn=wrist", "(intercept)"]
    assert result.guarantee.epsilon <= 2.0001


def test_bounds_from_data_are_said(people, result):
    words = " ".join(result.summary().split())
    assert result.bounds_from_data and "Typical ranges and values were taken from the data" in words
    bounds = {"age": (18, 90), "sleep": (5, 9), "pulse": (50, 90)}
    given = tremolo.simulate(people, response="pulse", epsilon=4, bounds=bounds, seed=1)
    assert not given.bounds_from_data and "taken from the data" not in given.summary()


def test_what_the_numbers_leave_out_is_said(people, result):
    words = " ".join(result.summary().split())
    assert "A level is compared with its reference: worn=chest." in words
    cut = round(result.document["response_cut"] * result.nobs)
    assert cut > 0 and f"{cut:,} of {result.nobs:,} responses lie outside the range of pulse" in words
    alone = tremolo.simulate(people, "pulse ~ age + sleep", epsilon=4, neighbours="distance=1", seed=1)
    assert "reference" not in alone.summary() and "responses lie" not in alone.summary()


def test_columns_are_read_where_they_lie(people):
    matrix = np.column_stack([people["age"], people["sleep"], people["pulse"]])
    frames = [
        {"age": matrix[:, 0], "sleep": matrix[:, 1], "pulse": matrix[:, 2]},
        {"age": people["age"].copy(), "sleep": list(people["sleep"]), "pulse": people["pulse"]},
        {name: np.asarray(people[name], dtype=">f8") for name in ("age", "sleep", "pulse")},
        {name: people[name][::-1][::-1] for name in ("age", "sleep", "pulse")},
    ]
    answers = [tremolo.simulate(f, response="pulse", epsilon=2, seed=1).to_json() for f in frames]
    documents = [json.loads(answer)["coefficients"] for answer in answers]
    assert all(document == documents[0] for document in documents)


def test_missing_values_and_kinds(people):
    frame = pandas.DataFrame(people)
    frame["worn"] = frame["worn"].astype("category")
    frame["old"] = frame["age"] > 60
    frame["steps"] = pandas.array(np.arange(len(frame)) % 7, dtype="Int64")
    frame.loc[0, "age"], frame.loc[1, "worn"], frame.loc[2, "steps"] = np.nan, np.nan, pandas.NA
    result = tremolo.simulate(frame, response="pulse", epsilon=4, seed=1)
    assert result.document["simulation"]["dropped"] == 3
    filled = tremolo.simulate(frame, response="pulse", epsilon=4, seed=1, missing="mean")
    assert filled.document["simulation"]["dropped"] == 0
    with pytest.raises(InputError, match="missing"):
        tremolo.simulate(frame, response="pulse", epsilon=4, missing="refuse")
    assert {"old", "worn=ring", "steps"} <= set(result.names)


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"response": "puls"}, "did you mean 'pulse'"),
        ({"epsilon": None}, "epsilon is needed"),
        ({"epsilon": -1}, "epsilon must be from"),
        ({"delta": 1e-6}, "delta has no effect on ballots"),
        ({"rounds": 3}, "rounds has no effect"),
        ({"method": "magic"}, "method must be"),
        ({"neighbours": "distance=-1"}, "neighbours must be"),
        ({"features": ["age", "age"]}, "named twice"),
        ({"bounds": {"age": (90, 18), "sleep": (5, 9), "pulse": (1, 2)}}, "not below"),
        ({"bounds": {"age": (18, 90)}}, "no range for 'sleep'"),
        ({"repeats": 0}, "repeats must be from 1"),
        ({"test_share": 0.9999}, "need at least"),
    ],
)
def test_what_is_refused(people, change, sentence):
    arguments = {"response": "pulse", "epsilon": 2, **change}
    with pytest.raises(InputError, match=sentence):
        tremolo.simulate(people, **arguments)


def test_bad_tables_are_refused():
    y = np.arange(10.0)
    for data in (
        {}, {"y": []}, {"y": y, "x": y[:5]}, {"y": y, "x": y * 1j}, {"y": y, "x": np.zeros((10, 2))},
        {"y": y, "x": np.ones(10)}, {"y": y, "x": np.where(y > 3, np.inf, y)}, [1, 2], 7,
        {"y": y, "x": y * 1e300}, {"y": y, "x\0": y}, {"y": y, "\ud800": y},
    ):
        with pytest.raises(InputError):
            tremolo.simulate(data, response="y", epsilon=1)
    with pytest.raises(InputError, match="No such file"):
        tremolo.simulate("/nowhere.csv", response="y", epsilon=1)
    with pytest.raises(TypeError, match="unexpected keyword"):
        tremolo.simulate({"y": y, "x": y}, response="y", epsilon=1, sigma=3)


def test_the_gil_is_free_and_work_can_be_stopped(people):
    """While the library works other threads run; an interrupt ends the work within seconds."""
    import _thread

    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.01)

    def interrupt():
        time.sleep(0.5)
        _thread.interrupt_main()

    threads = [threading.Thread(target=tick), threading.Thread(target=interrupt)]
    for thread in threads:
        thread.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        # Would take minutes: a hundred thousand repeats.
        tremolo.simulate(people, response="pulse", epsilon=2, repeats=100000, progress=False)
    ended = time.monotonic()
    done.set()
    for thread in threads:
        thread.join()
    assert ended - start < 60
    assert sum(start < tick < ended for tick in ticks) > 10


def test_a_progress_bar_counts_devices(people, monkeypatch):
    tqdm = pytest.importorskip("tqdm.auto")
    seen = []

    class Bar(tqdm.tqdm):
        def refresh(self, *arguments, **more):
            seen.append((self.n, self.total))

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    tremolo.simulate(people, response="pulse", epsilon=2, repeats=6, progress=True)
    assert seen and max(total for _, total in seen) == 6 * 2400
    assert all(n <= total for n, total in seen)
