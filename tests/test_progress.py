"""Progress: silent by default, lines when asked for, and one listener at a time."""

from __future__ import annotations

import logging
import sys

import numpy as np
import pytest

from cladist import Hieron, TopDown, progress
from cladist.registry import find


class Recorder:
    def __init__(self):
        self.seen = []

    def start(self, description, total):
        self.seen.append(("start", description, total))
        return self

    def advance(self, steps=1):
        self.seen.append(("advance", steps))

    def finish(self, task):
        self.seen.append(("finish",))


X, Y = np.tile(np.eye(3), (20, 1)), np.tile(["a", "b", "c"], 20)


def test_work_reports_all_its_steps_and_its_end():
    recorder = Recorder()
    with progress.report_to(recorder):
        Hieron().fit(X, Y)
    assert recorder.seen[0] == ("start", "Hieron", 60)
    assert sum(event[1] for event in recorder.seen if event[0] == "advance") == 60
    assert recorder.seen[-1] == ("finish",)


def test_the_end_is_reported_when_the_work_fails():
    recorder = Recorder()
    with pytest.raises(ZeroDivisionError), progress.report_to(recorder), progress.task("work", 2):
        raise ZeroDivisionError
    assert recorder.seen[-1] == ("finish",)


@pytest.mark.parametrize("name", ["hieron", "top-down"])
def test_verbose_prints_lines_and_silence_prints_nothing(name, capsys):
    learner = find(name).load()
    learner().fit(X, Y)
    assert capsys.readouterr() == ("", "")
    learner(verbose=1).fit(X, Y)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert learner.__name__ in printed.err


def test_verbose_does_not_talk_over_somebody_who_listens(capsys):
    recorder = Recorder()
    with progress.report_to(recorder):
        TopDown(verbose=1).fit(X, Y)
    assert recorder.seen
    assert capsys.readouterr().err == ""


class Announcements(Recorder):
    def announce(self, message):
        self.seen.append(message)


def test_messages_of_kernels_go_to_the_reporter_or_to_a_terminal(capsys, monkeypatch):
    log = logging.getLogger("cladist.kernels")
    listener, deaf = Announcements(), Recorder()
    with progress.report_to(listener):
        log.info("Compiling")
    with progress.report_to(deaf):
        log.info("Compiling")
    log.info("Compiling")
    assert (listener.seen, deaf.seen) == (["Compiling"], [])
    assert capsys.readouterr() == ("", "")
    with monkeypatch.context() as patch:
        patch.setattr(sys.stderr, "isatty", lambda: True)
        log.info("Compiling")
        with progress.hide():
            log.info("Compiling")
    assert capsys.readouterr() == ("", "Compiling\n")
    monkeypatch.setattr(sys, "ps1", "In : ", raising=False)
    log.info("Compiling")
    assert capsys.readouterr() == ("", "Compiling\n")
