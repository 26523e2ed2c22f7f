"""As a reader: our generated Python wrapper for overloads, which chooses an entry by the argument values."""
import conformance_wrappers

PLACES = set()


def callable_for(id_):
    return getattr(conformance_wrappers, id_.replace("/", "_").replace("-", "_"))


def choose(callable_, arguments):
    return callable_(*arguments)
