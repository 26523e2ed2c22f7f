"""Calls a function in several threads at the same time."""
import threading


def at_once(function, arguments):
    """Calls `function` with each of these tuples in a separate thread. Returns the results in
    order, or raises the first exception."""
    barrier, results, errors = threading.Barrier(len(arguments)), [None] * len(arguments), []

    def run(place):
        try:
            barrier.wait(60)
            results[place] = function(*arguments[place])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(arguments))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
