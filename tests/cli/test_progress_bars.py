"""What is drawn of nested work."""

import io
import logging

import pytest
from rich.console import Console
from rich.progress import Progress

from cladist import progress
from cladist.cli.output import Bars, Terminal, _StepCount, _Times, table
from cladist.report import Table


def drawing() -> Progress:
    return Progress(console=Console(file=io.StringIO()))


def test_work_inside_lends_its_length_and_deeper_work_is_not_shown():
    drawn = drawing()
    with progress.report_to(Bars(drawn)):
        with progress.task("outer"):
            with progress.task("inner", 4) as inner:
                inner.advance(3)
                with progress.task("deeper", 100) as deeper:
                    deeper.advance(50)
                (row,) = drawn.tasks
                assert (row.description, row.completed, row.total) == ("outer", 3, 4)
            with progress.task("second pass", 5) as inner:
                inner.advance(1)
                assert (drawn.tasks[0].completed, drawn.tasks[0].total) == (1, 5)
        with progress.task("next", 2) as following:
            following.advance()
            with progress.task("inside", 7) as inside:
                inside.advance(7)
            assert drawn.tasks[1].completed == 1
    assert [row.description for row in drawn.tasks] == ["outer", "next"]
    assert all(row.finished for row in drawn.tasks)


def test_messages_are_printed_above_the_bars():
    drawn = drawing()
    with progress.report_to(Bars(drawn)), progress.task("outer"):
        logging.getLogger("cladist.kernels").info("Compiling")
    assert drawn.console.file.getvalue() == "Compiling\n"


def test_bars_go_to_standard_error_unless_told_to_be_quiet(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # makes rich take the streams for a terminal
    for terminal, shown in ((Terminal(), True), (Terminal(quiet=True), False), (Terminal(json=True), False)):
        with terminal.bars(), progress.task("counting [1]", 2) as running:
            running.advance(2)
        captured = capsys.readouterr()
        assert captured.out == ""
        assert ("counting [1]" in captured.err) is shown


def test_without_a_terminal_there_are_no_bars(capsys):
    with Terminal().bars(), progress.task("counting", 2):
        pass
    assert capsys.readouterr().err == ""


def test_a_failure_wipes_the_bars_away(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")  # so that nothing is drawn before the end

    def fail() -> None:
        with Terminal().bars(), progress.task("counting"):
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        fail()
    assert "counting" not in capsys.readouterr().err


def test_results_are_for_people_or_for_machines(capsys):
    Terminal(json=True).show("for people")
    Terminal(json=True).plain("for people")
    Terminal().answer({"for": "machines"})
    assert capsys.readouterr().out == ""
    Terminal(json=True).answer({"für": "machines"})
    assert capsys.readouterr().out == '{\n  "für": "machines"\n}\n'


def test_a_table_in_a_pipe_is_as_wide_as_it_is(capsys, monkeypatch):
    wide = Table(["data set", "remark"], [["clef", "words " * 30], ["icd", "few"]])
    monkeypatch.delenv("COLUMNS", raising=False)
    Terminal().show(table(*wide))
    lines = capsys.readouterr().out.splitlines()
    assert any("clef" in line and ("words " * 30).strip() in line for line in lines)
    monkeypatch.setenv("COLUMNS", "60")
    Terminal().show(table(*wide))
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 60


@pytest.mark.parametrize(
    ("total", "done", "unit", "shown"),
    [
        (7, 2, "fits", "2 / 7 fits"),
        (5_650, 0, "bytes", "0 / 5,650 bytes"),
        (56_500, 28_250, "bytes", "28 / 56 kB"),
        (5_650_000, 2_825_000, "bytes", "3 / 6 MB"),
        (None, 1_234, "rows", "1,234 rows"),
        (None, 0, "rows", ""),
        (1, 0, "classes", ""),
    ],
)
def test_steps_have_a_unit(total, done, unit, shown):
    drawn = drawing()
    with progress.report_to(Bars(drawn)), progress.task("work", total, unit=unit) as running:
        running.advance(done)
        assert _StepCount().render(drawn.tasks[0]).plain == shown


def test_the_unit_is_that_of_the_steps_shown():
    drawn = drawing()
    with progress.report_to(Bars(drawn)), progress.task("outer"):
        with progress.task("inner", 4, unit="fits"):
            assert drawn.tasks[0].fields["unit"] == "fits"
        with progress.task("other", 4):
            assert drawn.tasks[0].fields["unit"] == ""


def test_the_time_left_is_told_while_it_can_be():
    clock = iter(range(0, 1000, 10))
    drawn = Progress(console=Console(file=io.StringIO()), get_time=lambda: float(next(clock)))
    with progress.report_to(Bars(drawn)), progress.task("work", 10, unit="rows") as running:
        assert " left" not in _Times().render(drawn.tasks[0]).plain
        for _ in range(4):
            running.advance()
        assert _Times().render(drawn.tasks[0]).plain.endswith(" left")
