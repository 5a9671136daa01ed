"""A real server on loopback, for notebooks and tests."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, List, Optional, Union

from .errors import InputError, SystemFailure
from .fitting import fit
from .result import Result
from .study import Study

__all__ = ["Server", "program"]


def program() -> Path:
    """The `tremolo` program that came with the package."""
    found = Path(__file__).with_name("tremolo-program")
    if found.exists():
        return found
    elsewhere = shutil.which("tremolo")
    if elsewhere is None:
        raise SystemFailure("the package was built without the tremolo program, and none is on the path")
    return Path(elsewhere)


class Server:
    """Start a server on loopback, and stop it at the end of the block.

    >>> from tremolo import Server, Study
    >>> study = Study.build(title="t", features={"x": (0, 1)}, response=("y", (0, 1)), epsilon=1)
    >>> with Server() as server:
    ...     address = server.publish(study)
    >>> address.endswith(study.id)
    True

    `data` keeps the reports; without it they are in a folder that goes with the server.
    """

    def __init__(self, data: Union[str, Path, None] = None, seconds: float = 30.0) -> None:
        self._given = None if data is None else Path(data)
        self._seconds = seconds
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None
        self.url = ""

    @property
    def data(self) -> Path:
        """Where the reports are kept."""
        if self._given is not None:
            return self._given
        if self._folder is None:
            raise InputError("the server has not started")
        return Path(self._folder.name) / "data"

    def start(self) -> "Server":
        """Start it and wait until it answers."""
        if self._process is not None:
            raise InputError("the server runs already")
        if self._given is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tremolo-")
        log = tempfile.TemporaryFile()
        command = [str(program()), "serve", "--data", str(self.data), "--listen", "127.0.0.1:0"]
        self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + self._seconds
        while time.monotonic() < deadline:
            log.seek(0)
            said = log.read().decode("utf-8", "replace")
            found = re.search(r"http://127\.0\.0\.1:[0-9]+", said)
            if found:
                self.url = found.group(0)
                return self
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        self.stop()
        raise SystemFailure("the server did not start: " + said.strip())

    def publish(self, study: Study) -> str:
        """Publish a study; its address, for devices and for `fit`."""
        with tempfile.TemporaryDirectory(prefix="tremolo-") as folder:
            file = study.save(Path(folder) / "study.json")
            self._operate(["study", "publish", str(file), self.url])
        return f"{self.url}/v1/studies/{study.id}"

    def close_round(self, study: Study) -> None:
        """End a study's round by hand."""
        self._operate(["study", "close", f"{self.url}/v1/studies/{study.id}"])

    def fit(self, study: Study, level: float = 0.95) -> Result:
        """What the study's reports say by now."""
        return fit(f"{self.url}/v1/studies/{study.id}", level=level)

    def _operate(self, arguments: List[str]) -> str:
        token = str(self.data / "operator.token")
        command = [str(program()), *arguments, "--token-file", token]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise InputError(done.stderr.strip() or f"{arguments[0]} failed")
        return done.stdout

    def stop(self) -> None:
        """Stop it; reports that were acknowledged are kept in `data`."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=self._seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> "Server":
        return self.start()

    def __exit__(self, *unused: Any) -> None:
        self.stop()
