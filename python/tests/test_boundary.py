"""A second of hostile values; tests/sanitize/python.sh has more of them under ASan."""

import fuzz_boundary


def test_nothing_but_exceptions():
    calls, refused = fuzz_boundary.run(2.0, 5)
    assert calls > 5 and 0 < refused <= calls
