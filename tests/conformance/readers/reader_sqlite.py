"""A reader that calls an SQL function in SQLite."""
import apsw
import typedcall.sql

PLACES = set()


def choose(callable_, arguments):
    if not all(type(argument) in (int, float, str) for argument in arguments):
        raise NotImplementedError("SQLite has no such value")
    if any(type(argument) is int and abs(argument) >= 1 << 63 for argument in arguments):
        raise NotImplementedError("SQLite has no such integer")
    connection = apsw.Connection(":memory:")
    try:
        typedcall.sql.register(connection, callable_, name="f")
        marks = ", ".join("?" * len(arguments))
        return connection.execute(f"SELECT f({marks})", arguments).fetchall()[0][0]
    except apsw.SQLError as error:
        if "wrong number of arguments" in str(error) or "no such function" in str(error):
            raise TypeError(str(error)) from None
        raise
    finally:
        connection.close()
