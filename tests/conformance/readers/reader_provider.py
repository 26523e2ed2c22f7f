"""A reader that calls our generated wrapper for overloads."""
import conformance_wrappers

PLACES = set()


def callable_for(id_):
    name = id_.replace("/", "_").replace("-", "_")
    if not hasattr(conformance_wrappers, name):
        raise NotImplementedError("a function that the wrapper cannot have")
    return getattr(conformance_wrappers, name)


def choose(callable_, arguments):
    return callable_(*arguments)
