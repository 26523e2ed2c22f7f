"""Configures pytest. It is not an error if all cases of a file are for other runtimes (tests/support/collected.py), or
are deselected by -m."""
import pathlib
import signal
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import collected  # noqa: E402

# Under nohup or as a shell's background job, pytest ignores these signals, and child processes would inherit this.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

_has_cases = pytest.StashKey[bool]()
_are_elsewhere = pytest.StashKey[list]()


class _File(pytest.Module):
    def collect(self):
        try:
            found = list(super().collect())
            is_elsewhere = self.obj.__name__ in collected.LEFT_OUT
        except collected.NotCollected:
            found, is_elsewhere = [], True
        self.session.stash.setdefault(_are_elsewhere, []).append(is_elsewhere)
        return found


def pytest_pycollect_makemodule(module_path, parent):
    return _File.from_parent(parent, path=module_path)


@pytest.hookimpl(tryfirst=True)  # runs before options like -k deselect cases
def pytest_collection_modifyitems(session, items):
    session.stash[_has_cases] = bool(items)


def pytest_sessionfinish(session, exitstatus):
    if exitstatus != pytest.ExitCode.NO_TESTS_COLLECTED:
        return
    if session.stash.get(_has_cases, True):
        is_good = session.config.option.markexpr and not session.config.option.keyword
    else:
        are_elsewhere = session.stash.get(_are_elsewhere, [])
        is_good = are_elsewhere and all(are_elsewhere)
    if is_good:
        session.exitstatus = pytest.ExitCode.OK
