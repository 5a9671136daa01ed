"""pty_screen.py -- run a command on a terminal of our own and say what it showed.

  pty_screen.py [--size COLUMNSxROWS] [--resize COLUMNSxROWS] [--until TEXT]
                [--end KEY|INT|TERM|STOP] COMMAND...

Waits until TEXT is on the screen, resizes and waits for the next frame where
asked, ends the command by a key, a signal, or SIGTSTP, SIGCONT and q, and prints:
the screen between lines of '====', then facts as key=value. The little
terminal here knows the sequences that the command may use, and no others: an
unknown one is a fact, too.
"""
import argparse
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import unicodedata

PATIENCE = 30.0
QUIET = 1.0
UNFINISHED = re.compile(r"\x1b(\[\??[0-9;]*)?$")
SEQUENCE = re.compile(r"\x1b\[(\?)?([0-9;]*)([A-Za-z])")


class Screen:
    def __init__(self, columns, rows):
        self.facts = {"unknown": 0, "overflow": 0, "colours": 0, "frames": 0}
        self.alternate = False
        self.cursor = True
        self.resize(columns, rows)

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.x = self.y = 0

    def control(self, private, numbers, letter):
        if private and letter in "hl" and numbers in ("1049", "25"):
            if numbers == "1049":
                self.alternate = letter == "h"
            else:
                self.cursor = letter == "h"
        elif letter == "H":
            self.x = self.y = 0
            self.facts["frames"] += 1
        elif letter == "K":
            self.cells[self.y][self.x:] = [" "] * (self.columns - self.x)
        elif letter == "J":
            for row in range(self.y + 1, self.rows):
                self.cells[row] = [" "] * self.columns
            if numbers == "2":
                self.cells = [[" "] * self.columns for _ in range(self.rows)]
        elif letter == "m":
            self.facts["colours"] += numbers not in ("", "0")
        else:
            self.facts["unknown"] += 1

    def put(self, character):
        if character == "\r":
            self.x = 0
        elif character == "\n":
            if self.y + 1 >= self.rows:
                self.facts["overflow"] += 1
            self.y = min(self.y + 1, self.rows - 1)
        elif ord(character) < 32 or 127 <= ord(character) < 160:
            self.facts["unknown"] += 1
        else:
            wide = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            if unicodedata.combining(character):
                return
            if self.x + wide > self.columns:
                self.facts["overflow"] += 1
                return
            self.cells[self.y][self.x] = character
            self.x += wide

    def feed(self, text):
        at = 0
        while at < len(text):
            found = SEQUENCE.match(text, at)
            if found:
                self.control(*found.groups())
                at = found.end()
            else:
                self.put(text[at])
                at += 1

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells).rstrip()


def set_size(descriptor, columns, rows):
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def take_terminal(slave):
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for descriptor in range(3):
        os.dup2(slave, descriptor)


class Session:
    """The slave side stays open here as well: its settings can be read to the end."""

    def __init__(self, command, columns, rows):
        self.screen = Screen(columns, rows)
        self.pending = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.master, self.slave = pty.openpty()
        set_size(self.master, columns, rows)
        self.child = os.fork()
        if self.child == 0:
            take_terminal(self.slave)
            os.execvp(command[0], command)

    def echoes(self):
        return bool(termios.tcgetattr(self.slave)[3] & termios.ECHO)

    def pump(self, seconds):
        """Read what comes within that time; False once the command has ended."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        text = self.pending + self.decoder.decode(data)
        cut = UNFINISHED.search(text)
        whole, self.pending = (text[:cut.start()], cut.group()) if cut else (text, "")
        self.screen.feed(whole)
        return True

    def wait_for(self, condition):
        end = time.time() + PATIENCE
        while not condition() and time.time() < end:
            if not self.pump(0.1):
                return False
        self.settle()
        return condition()

    def settle(self):
        """To the start of the next frame, so that this one is whole; or until nothing comes."""
        frame, end = self.screen.facts["frames"], time.time() + QUIET
        while self.screen.facts["frames"] == frame and time.time() < end:
            self.pump(0.1)

    def finish(self):
        end = time.time() + PATIENCE
        while time.time() < end:
            self.pump(0.05)
            ended, status = os.waitpid(self.child, os.WNOHANG)
            if ended:
                for _ in range(3):
                    self.pump(0.05)
                return os.waitstatus_to_exitcode(status)
        return "none"


def stop_and_go_on(session):
    os.kill(session.child, signal.SIGTSTP)
    os.waitpid(session.child, os.WUNTRACED)
    session.wait_for(lambda: not session.screen.alternate)
    left = not session.screen.alternate
    os.kill(session.child, signal.SIGCONT)
    session.wait_for(lambda: session.screen.alternate)
    print(f"stopped_clean={left}")
    os.write(session.master, b"q")


def main():
    parser = argparse.ArgumentParser()
    size = lambda text: tuple(int(part) for part in text.split("x"))
    parser.add_argument("--size", type=size, default=(80, 24))
    parser.add_argument("--resize", type=size)
    parser.add_argument("--until", default="q ends")
    parser.add_argument("--end", default="q")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    session = Session(options.command, *options.size)
    screen = session.screen
    seen = session.wait_for(lambda: options.until in screen.text())
    if options.resize:
        screen.resize(*options.resize)
        set_size(session.master, *options.resize)
        seen = seen and session.wait_for(lambda: options.until in screen.text())
    print("====\n" + screen.text() + "\n====")
    print(f"seen={seen} alternate={screen.alternate} cursor={screen.cursor}")
    print(f"echo_while={session.echoes()}")
    if options.end in ("INT", "TERM"):
        os.kill(session.child, getattr(signal, "SIG" + options.end))
    elif options.end == "STOP":
        stop_and_go_on(session)
    else:
        os.write(session.master, {"ctrl-c": b"\x03"}.get(options.end, options.end.encode()))
    code = session.finish()
    print(f"echo_after={session.echoes()}")
    print(f"alternate_after={screen.alternate} cursor_after={screen.cursor}")
    print(" ".join(f"{key}={value}" for key, value in screen.facts.items()))
    print(f"code={code}")


sys.exit(main())
