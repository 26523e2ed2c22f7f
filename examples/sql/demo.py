"""SQLite calls functions of an extension module, without calling Python."""

import sqlite3

from typedcall import sql

import distance

if hasattr(sqlite3.Connection, "load_extension"):
    connection = sqlite3.connect(":memory:")
else:  # the sqlite3 of this Python cannot load extensions
    import apsw

    connection = apsw.Connection(":memory:")

sql.register(connection, distance.distance)
sql.register(connection, distance.vowels)
connection.execute("create table cities(name text, latitude real, longitude real)")
for city in [("Oslo", 59.91, 10.75), ("Quito", -0.18, -78.47), ("Atlantis", None, None)]:
    connection.execute("insert into cities values (?, ?, ?)", city)

rows = list(
    connection.execute(
        "select name, round(distance(latitude, longitude, 48.86, 2.35)), vowels(name) from cities"
    )
)
assert rows == [("Oslo", 1341.0, 2), ("Quito", 9353.0, 3), ("Atlantis", None, 3)], rows
for row in rows:
    print(*row)
try:
    list(connection.execute("select distance(91, 0, 0, 0)"))
except Exception as error:
    print("distance(91, 0, 0, 0):", error)
