from __future__ import annotations

import threading

import pytest

from baselines.training.writer import Writer


def test_what_is_given_is_done_in_order_while_the_giver_goes_on():
    done, go = [], threading.Event()
    with Writer() as writer:
        first = writer.do(lambda: done.append(go.wait(600)))
        for i in range(3):
            writer.do(done.append, i)
        writer.check()
        assert (first.done(), done) == (False, [])  # nobody waited
        go.set()
    assert done == [True, 0, 1, 2]


def test_after_an_error_nothing_more_is_done_and_it_is_told():
    done = []

    def give():
        with Writer() as writer:
            writer.do(done.append, 1)
            writer.do({}.pop, "lost")
            writer.do(done.append, 2)

    with pytest.raises(KeyError, match="lost"):
        give()
    assert done == [1]
    with Writer() as writer:
        failed = writer.do({}.pop, "lost")
        with pytest.raises(KeyError):
            failed.result()
        with pytest.raises(KeyError):
            writer.check()
        writer.do(done.append, 3)
    assert done == [1]


def test_an_error_of_the_giver_goes_first_and_what_was_given_is_still_done():
    done = []

    def give():
        with Writer() as writer:
            writer.do(done.append, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        give()
    assert done == [1]
