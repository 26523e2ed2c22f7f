"""A reader that calls our generated wrapper for overloads."""
import conformance_wrappers

PLACES = set()


def callable_for(id_):
    return getattr(conformance_wrappers, id_.replace("/", "_").replace("-", "_"))


def choose(callable_, arguments):
    return callable_(*arguments)
