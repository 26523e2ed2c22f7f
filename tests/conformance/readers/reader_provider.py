"""The reader that our own wrapper of overloads is: what Python calls. It chooses by values."""
import conformance_wrappers

PLACES = set()


def callable_for(id_):
    return getattr(conformance_wrappers, id_.replace("/", "_").replace("-", "_"))


def choose(callable_, arguments):
    return callable_(*arguments)
