"""Safe access to foreign objects, parameters of callables, locks, and identity tables."""
