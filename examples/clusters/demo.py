"""A Dask cluster of processes on this machine calls a C function for each element of an array."""

import dask.array
import distributed
import typedcall

import field

if __name__ == "__main__":  # worker processes import this file, too
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster, distributed.Client(cluster) as client:
        distances = dask.array.linspace(0, 4, 1_000_001, chunks=250_000)
        total = typedcall.ufunc(field.strength)(distances).mean().compute()
        one = client.submit(typedcall.resolve(field.strength, "d->d"), 2.0).result()
    assert one == field.strength(2.0)
    print(f"{total:.6f}", one)
