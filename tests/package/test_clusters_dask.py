"""Tests typed functions, ufuncs and Numba code on a local Dask cluster."""

import adapter_support
import cluster_support

adapter_support.library("distributed")
adapter_support.library("dask.array")

# Two workers, which cannot import the provider at first.
SCRIPT = """
import logging, sys
if __name__ == "__main__":
    import dask.array, distributed, numba, typedcall
    from cluster_support import FOLDER, functions

    typed, half = typedcall.resolve(functions.half, "d->d"), typedcall.ufunc(functions.half)

    @numba.njit
    def total(count):
        result = 0.0
        for i in range(count):
            result += typed_half(float(i))
        return result

    typed_half = functions.half
    array = dask.array.arange(8.0, chunks=2)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1",
                                  dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL) as cluster:
        with distributed.Client(cluster) as client:
            for work in (lambda: client.submit(typed, 3.0).result(), lambda: half(array).compute()):
                try:
                    work()
                except ImportError as error:
                    print(error.name, error)
            client.run(lambda folder: sys.path.append(folder), FOLDER)
            print(client.submit(typed, 5.0).result(), client.gather(client.map(typed, [1.0, 2.0])))
            print(half(array).compute().tolist())
            print(array.map_blocks(half).sum().compute())
            print(client.submit(total, 10).result(), len(client.run(len, "ab")))
            print(dask.base.tokenize(typed) == dask.base.tokenize(typed))
            print(dask.base.tokenize(half) != dask.base.tokenize(typedcall.ufunc(functions.square)))
"""


class OnDask(cluster_support.Processes):
    def test_all_of_them(self):
        adapter_support.library("numba")
        printed = self.run_script(SCRIPT)
        self.assertEqual(len(printed), 8, printed)
        for line in printed[:2]:
            self.assertRegex(line, "^typed_functions typed_functions.half comes from a pickle, and this "
                                   "process cannot import 'typed_functions'")
        self.assertEqual(printed[2:5], ["2.5 [0.5, 1.0]", "[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]",
                                        "14.0"])
        self.assertEqual(printed[5:], ["22.5 2", "True", "True"])


class Example(adapter_support.Example):
    def test_example(self):
        self.assertEqual(self.run_example("clusters").strip(), "2.998123 2.2")
