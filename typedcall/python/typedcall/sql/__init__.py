"""Registers typed functions as SQL functions with SQLite and DuckDB."""
from typedcall.sinks.sql import register

__all__ = ["register"]
