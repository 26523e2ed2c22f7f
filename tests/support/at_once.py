"""One way to call a function in several threads at once."""
import threading


def at_once(function, arguments):
    """Calls `function` with each of these tuples in a thread of its own, all of which begin together. Returns the
    results in their order, and raises what the first thread that raised did."""
    barrier, results, errors = threading.Barrier(len(arguments)), [None] * len(arguments), []

    def run(place):
        try:
            barrier.wait(60)
            results[place] = function(*arguments[place])
        except BaseException as error:  # a thread would only print it
            errors.append(error)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(arguments))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
