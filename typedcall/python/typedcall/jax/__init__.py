"""Makes functions over JAX arrays from typed functions."""
from typedcall.sinks.jax import elementwise

__all__ = ["elementwise"]
