"""Typed functions over JAX's arrays."""
from typedcall.sinks.jax import elementwise

__all__ = ["elementwise"]
