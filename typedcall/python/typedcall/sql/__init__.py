"""Typed functions as SQL functions of SQLite and DuckDB."""
from typedcall.sinks.sql import register

__all__ = ["register"]
