"""JAX calls a function of an extension module from a compiled program, without calling Python."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from typedcall.jax import elementwise

import energies

energy = elementwise(energies.lennard_jones)


@jax.jit
def total(positions):
    """Sums over all pairs of atoms on a line."""
    distances = jnp.abs(positions[:, None] - positions[None, :])
    first, second = jnp.triu_indices(len(positions), 1)
    return energy(distances[first, second]).sum()


lines = jnp.linspace(1.0, 2.0, 5)[:, None] * jnp.arange(4.0)
print("sum of the energies:", jax.vmap(total)(lines))
try:
    total(jnp.zeros(3)).block_until_ready()
except Exception as error:
    print(str(error).partition("\n")[0])
