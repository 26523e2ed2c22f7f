# The extension module built from _duckdb.cc. It has the same functions as _sqlite.
from typedcall.sinks.sql._sqlite import end as end
from typedcall.sinks.sql._sqlite import install as install
