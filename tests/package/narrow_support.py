"""Shared by the tests of narrow parameters."""

import support

functions = support.build("narrow_functions")


def outcome(function, *arguments):
    try:
        result = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    return result
