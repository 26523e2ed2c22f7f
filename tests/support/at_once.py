"""Calls a function in several threads at the same time."""
import threading


def at_once(function, arguments):
    """Calls `function` with each of these tuples in a separate thread; all threads start together. Returns the results
    in order, or raises the exception of the first thread that raised."""
    barrier, results, errors = threading.Barrier(len(arguments)), [None] * len(arguments), []

    def run(place):
        try:
            barrier.wait(60)
            results[place] = function(*arguments[place])
        except BaseException as error:  # a thread would only print the exception
            errors.append(error)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(arguments))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
