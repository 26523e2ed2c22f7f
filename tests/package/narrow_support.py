"""Shared by the tests of narrow parameters: the functions, and a function that describes the outcome of a call."""

import support

functions = support.build("narrow_functions")


def outcome(function, *arguments):
    try:
        result = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    return result
