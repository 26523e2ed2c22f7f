"""Explains, for a person, which overload a caller takes."""
