"""A real server, real devices, and the same numbers from wherever they are read."""

import json

import pytest

import tremolo
from tremolo import Device, InputError, PrivacyError, Server, SystemFailure


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


@pytest.fixture(scope="module")
def address(server, study):
    return server.publish(study)


def _sample(people, row):
    sample = {name: people[name][row] for name in people}
    return {name: str(v) if name == "worn" else float(v) for name, v in sample.items()}


def test_reports_arrive_once(server, address, study, people, tmp_path):
    ids = set()
    for row in range(5):
        with Device(address, tmp_path / str(row), enrol=True, trust_new=True) as device:
            receipt = device.report(_sample(people, row))
            assert not receipt.repeated and receipt.epsilon_left == pytest.approx(6, abs=0.01)
            ids.add(receipt.report_id)
    with Device(address, tmp_path / "0") as device:  # the key is pinned, the ledger is there
        again = device.report(_sample(people, 3))  # another sample: still the same bytes
    assert again.repeated and again.report_id in ids and len(ids) == 5
    result = server.fit(study)
    assert result.nobs == 5 and result.guarantee.neighbours == "any"
    assert tremolo.fit(address, level=0.5).level == 0.5
    with pytest.raises(InputError, match=r"/estimate answered 404: \w"):  # the server's own reason
        tremolo.fit(address[:-3] + "AAA")


def test_devices_refuse(address, people, tmp_path):
    with pytest.raises(PrivacyError, match="ledger"):
        with Device(address, tmp_path / "none", trust_new=True) as device:
            device.report(_sample(people, 0))
    with pytest.raises(PrivacyError, match="pinned|trust"):
        Device(address, tmp_path / "a", enrol=True)
    with pytest.raises(PrivacyError):
        Device(address, tmp_path / "b", enrol=True, trust_new=True, policy={"epsilon_per_study": 0.5})
    with pytest.raises(InputError, match="policy|JSON|epsilon"):
        Device(address, tmp_path / "c", policy='{"epsilon_per_study": "x"}')
    with Device(address, tmp_path / "d", enrol=True, trust_new=True) as device:
        for sample in ({}, {"age": 3}, {**_sample(people, 0), "worn": "foot"}, {**_sample(people, 0), "more": 1}):
            with pytest.raises(InputError):
                device.report(sample)
    with pytest.raises(InputError, match="closed"):
        device.report(_sample(people, 0))


def test_a_gateway_carries_the_bytes(address, people, tmp_path):
    """The transport is Python's own; what it raises is raised."""
    import urllib.request

    seen = []

    def exchange(method, url, body, headers):
        seen.append((method, url.rsplit("/", 1)[-1], len(body)))
        request = urllib.request.Request(url, body or None, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read()

    with Device(address, tmp_path / "g", enrol=True, trust_new=True, exchange=exchange) as device:
        receipt = device.report(_sample(people, 9))
    assert seen[-1][0] == "POST" and seen[-1][2] == receipt.report_bytes

    def broken(method, url, body, headers):
        raise RuntimeError("no radio")

    with pytest.raises(RuntimeError, match="no radio"):
        Device(address, tmp_path / "h", enrol=True, trust_new=True, exchange=broken, give_up_seconds=0.2)


def test_file_directory_and_errors(study, people, program, tmp_path):
    path = tmp_path / "people.csv"
    rows = [",".join(people)] + [",".join(str(people[name][i]) for name in people) for i in range(500)]
    path.write_text("\n".join(rows) + "\n")
    reports = tmp_path / "reports"
    study.save(tmp_path / "study.json")
    program("simulate", path, "--study", tmp_path / "study.json", "--test-share", "0", "--reports", reports)
    said = json.loads(program("fit", reports, "--json", "--level", "0.9"))
    assert tremolo.fit(reports, level=0.9).document == said
    with Server(tmp_path / "data") as kept:
        kept.publish(study)
    assert tremolo.fit(tmp_path / "data").nobs == 0
    with pytest.raises(InputError):
        tremolo.fit(path)
    with pytest.raises(InputError, match="method must be one of"):
        tremolo.fit(reports, method="best")
    with pytest.raises(InputError, match="needs a file of reports"):
        tremolo.fit(tmp_path / "data", method="unbiased")
    with pytest.raises(InputError, match="ridge has no effect with the method auto"):
        tremolo.fit(reports, ridge=2.0)
    with pytest.raises(InputError, match="needs several"):
        tremolo.fit(reports, method="pooled")
    with pytest.raises(InputError, match="No such file"):
        tremolo.fit(tmp_path / "nothing")
    with pytest.raises(InputError, match="https"):
        tremolo.fit("http://example.org/v1/studies/x")
    with pytest.raises(SystemFailure):
        tremolo.fit("http://127.0.0.1:9/v1/studies/x")
    with pytest.raises(InputError, match="no study's address"):
        tremolo.fit("http://127.0.0.1:9/")
