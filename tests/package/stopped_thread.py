"""Code for test_fork and test_once that stops a thread at each line of the package's code in turn."""

STOPPED = """
import itertools, os, pathlib, pickle, signal, sys, threading, types
import typedcall
PACKAGE = str(pathlib.Path(typedcall.__file__).parent)

def stopped(work, at):
    # Starts a thread that stops at that line of the package; returns it and an event to resume it. None if there are
    # fewer lines.
    inside, go = threading.Event(), threading.Event()
    lines = 0

    def trace(frame, event, _):
        nonlocal lines
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        lines += event == "line"
        if event == "line" and lines == at:
            inside.set()
            go.wait()
        return trace

    def run():
        sys.settrace(trace)
        try:
            work()
        finally:
            sys.settrace(None)
            inside.set()

    thread = threading.Thread(target=run)
    thread.start()
    inside.wait()
    if lines < at:
        thread.join()
        return None
    return thread, go
"""
