# The extension module of _duckdb.cc: typed functions as functions of DuckDB. Its functions are those of _sqlite.
from typedcall.sinks.sql._sqlite import end as end
from typedcall.sinks.sql._sqlite import install as install
