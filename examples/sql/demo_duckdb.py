"""DuckDB calls functions of an extension module for whole columns. An exception from a function
becomes a DuckDB error."""

import duckdb
from typedcall import sql

import distance

# DuckDB must allow unsigned extensions, because typedcall's extension is not signed.
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
sql.register(connection, distance.distance)
sql.register(connection, distance.vowels)
connection.execute("create table cities(name varchar, latitude double, longitude double)")
for city in [("Oslo", 59.91, 10.75), ("Quito", -0.18, -78.47), ("Atlantis", None, None)]:
    connection.execute("insert into cities values (?, ?, ?)", city)

rows = connection.execute(
    "select name, round(distance(latitude, longitude, 48.86, 2.35)), vowels(name) from cities"
).fetchall()
assert rows == [("Oslo", 1341.0, 2), ("Quito", 9353.0, 3), ("Atlantis", None, 3)], rows
for row in rows:
    print(*row)
try:
    connection.execute("select distance(91, 0, 0, 0)")
except duckdb.Error as error:
    print("distance(91, 0, 0, 0):", error)
connection.close()
