"""Tests typed functions, ufuncs and Numba code in other processes. A pickle contains the names of the provider's module
and callable, and the other process imports them."""

import copy
import importlib
import pickle
import pickletools
import sys

import adapter_support
import cluster_support
import support
import typedcall
from cluster_support import FOLDER, functions
from typedcall import Flags

# A Python module with a function that is tagged with another module's C function.
PROVIDER = """
import typed_functions, typedcall
from typedcall import Flags
def f(*args):
    return "boxed"
entry = [each for each in typedcall.entries(typed_functions.{native})
         if each.signature == "{signature}"][0]
typedcall.tag(f, entry.signature, entry.address, flags={flags})
"""
SPAWN = """
import multiprocessing, sys
from multiprocessing import get_context
{imports}
if __name__ == "__main__":
    with get_context("spawn").Pool(1) as pool:
        {work}
"""


class Functions(cluster_support.Processes):
    def provider(self, native="half", signature="d->d", flags="entry.flags"):
        """Writes a version of the module `versions`."""
        self.write("versions.py", PROVIDER.format(native=native, signature=signature, flags=flags))
        importlib.invalidate_caches()

    def here(self):
        """Imports the first version of the module, and returns its function."""
        self.provider()
        sys.path.insert(0, self.path())
        self.addCleanup(sys.path.remove, self.path())
        self.addCleanup(sys.modules.pop, "versions", None)
        return importlib.import_module("versions").f

    def test_no_address_travels(self):
        f = typedcall.resolve(functions.inc, "q->q")
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            data = pickle.dumps(f, protocol)
            self.assertNotIn(b"%d" % f.address, data)
            self.assertNotIn(f.address.to_bytes(8, sys.byteorder).strip(b"\0"), data)
            again = pickle.loads(data)
            self.assertEqual((again.address, again.signature, again(4)), (f.address, "l->l", 5))

    @support.ON_CPYTHON  # there is no Numba for PyPy
    def test_a_numba_cfunc_is_pickled_by_its_own_module(self):
        adapter_support.library("numba")
        adapter_support.library("numpy")
        self.write("cfuncs.py", "import numba\n@numba.cfunc('float64(float64)')\ndef half(x):\n    return x / 2\n"
                   "class Of:\n    half = half\ndef local():\n    return numba.cfunc('float64(float64)')(lambda x: x)\n")
        sys.path.insert(0, self.path())
        self.addCleanup(sys.path.remove, self.path())
        self.addCleanup(sys.modules.pop, "cfuncs", None)
        half = importlib.import_module("cfuncs").half
        for made in (typedcall.resolve(half, "d->d"), typedcall.ufunc(half)):
            self.assertIn(b"cfuncs", pickle.dumps(made))
            self.assertEqual(self.read(made, "found(5.0)"), "2.5")
            self.assertIn("ImportError: cfuncs.half comes from a pickle", self.read(made, "found(5.0)", [FOLDER]))
        # A cfunc that its module does not have is pickled itself, if it can be.
        with self.assertRaises((pickle.PicklingError, AttributeError)):
            pickle.dumps(typedcall.resolve(sys.modules["cfuncs"].local(), "d->d"))

    @support.ON_CPYTHON
    def test_a_low_level_callable_says_what_to_pickle(self):
        adapter_support.library("scipy")
        made = typedcall.low_level_callable(functions.half)
        for way in (pickle.dumps, lambda each: pickle.dumps(each, 0), copy.copy, copy.deepcopy):
            with self.assertRaisesRegex(TypeError, "'double \\(double\\)' holds an address, .* pickle the typed function"):
                way(made)

    def test_names_in_pickles_stay(self):
        # Other versions of the package must be able to read such pickles.
        names = [name for operation, name, _ in pickletools.genops(
            pickle.dumps(typedcall.resolve(functions.half, "d->d"), 2)) if operation.name == "GLOBAL"]
        self.assertEqual(names, ["typedcall._pickles read", "typedcall._pickles _resolve_again",
                                 "typedcall._pickles Provider"])
        again = importlib.import_module("typedcall.to_numpy")._ufunc_again
        self.assertEqual((again.__module__, again.__name__), ("typedcall.to_numpy", "_ufunc_again"))

    def test_in_another_process(self):
        self.assertEqual(self.read(typedcall.resolve(functions.half, "d->d"), "found(5.0)"), "2.5")
        twice = typedcall.resolve(functions.Scaler.twice, "d->d")
        self.assertEqual(self.read(twice, "found(4.0)"), "8.0")

    def test_without_the_provider(self):
        f = typedcall.resolve(functions.half, "d->d")
        for expression in ("found(5.0)", "pickle.loads(pickle.dumps(found))(5.0)"):
            self.assertEqual(
                self.read(f, expression, [self.folder]),
                "ImportError: typed_functions.half comes from a pickle, and this process cannot import "
                "'typed_functions' (No module named 'typed_functions'): put the file of "
                "'typed_functions' on the path here")
        self.assertIn("<typedcall: typed_functions.half", self.read(f, "found", [self.folder]))
        self.assertIn("AttributeError: 'address' of a function that is not available: typed_functions.half",
                      self.read(f, "found.address", [self.folder]))
        # The function is looked up at each call. It may pass through a process in which it is missing.
        self.assertEqual(
            self.read(f, "sys.path.append(%r) or found(5.0)" % FOLDER, [self.folder]), "2.5")
        passed_on = bytes.fromhex(self.read(f, "pickle.dumps(found).hex()", [self.folder]))
        self.assertEqual(pickle.loads(passed_on)(5.0), 2.5)

    def test_what_is_to_be_installed(self):
        f = self.here()
        self.write("versions-1.2.dist-info/METADATA",
                   "Metadata-Version: 2.1\nName: versions\nVersion: 1.2\n")
        from typedcall.calling import pickles

        pickles._requirement.cache_clear()
        self.addCleanup(pickles._requirement.cache_clear)
        typed = typedcall.resolve(f, "d->d")
        self.assertIn("install versions==1.2 here", self.read(typed, "found(1.0)", [FOLDER]))
        self.provider("inc", "l->l")
        self.assertIn("f does not offer 'd->d'; it offers 'l->l'; another version "
                      "(versions==1.2) did where it was pickled", self.read(typed, "found(1.0)"))

    def test_a_module_that_fails(self):
        typed = typedcall.resolve(self.here(), "d->d")
        self.write("versions.py", "raise RuntimeError('no licence')")
        self.assertEqual(self.read(typed, "found(1.0)"), "RuntimeError: no licence")
        self.write("versions.py", "def g(x): return x")
        self.assertIn("has no 'f' in 'versions'", self.read(typed, "found(1.0)"))

    def test_a_module_that_ends_its_process(self):
        typed = typedcall.resolve(self.here(), "d->d")
        for raised in ("SystemExit(3)", "GeneratorExit(3)", "type('Own', (BaseException,), {})(3)"):
            name = raised.split("(")[0].replace("type", "Own")
            self.write("versions.py", "raise " + raised)
            for expression in ("found(1.0)", "pickle.loads(pickle.dumps(found))(1.0)"):
                self.assertEqual(
                    self.read(typed, expression),
                    "ImportError: versions.f comes from a pickle, and this process cannot import 'versions' "
                    "(%s: 3): put the file of 'versions' on the path here" % name)
            self.write("versions.py", "def __getattr__(name): raise " + raised)
            self.assertIn("and this process gets %s: 3 from looking it up" % name,
                          self.read(typed, "found(1.0)"))

    def test_an_interrupt_is_the_users(self):
        data = pickle.dumps(typedcall.resolve(self.here(), "d->d"))
        self.write("versions.py", "raise KeyboardInterrupt")
        status, _, errors = support.python(
            "-c", cluster_support.READ, data.hex(), "found", paths=[FOLDER, self.folder])
        self.assertNotEqual(status, 0)
        self.assertIn("KeyboardInterrupt", errors)

    def test_a_new_version_is_asked_anew(self):
        typed = typedcall.resolve(self.here(), "d->d")
        self.assertEqual(typed(5.0), 2.5)
        self.assertEqual(self.read(typed, "found(5.0), found.place"), "(2.5, 'object row')")
        # The new version has another C function with the same signature.
        flags, names = "Flags.MAY_RAISE | Flags.NEEDS_THREAD", "['NEEDS_THREAD', 'MAY_RAISE']"
        if support.IS_PYPY:  # PyPy cannot call such a function
            flags, names = "Flags.PURE", "['PURE']"
        self.provider("Scaler.twice", flags=flags)
        self.assertEqual(self.read(typed, "found(5.0), str(found.flags.names)"), '(10.0, "%s")' % names)
        self.provider("inc", "l->l")
        self.assertIn("f does not offer 'd->d'; it offers 'l->l'",
                      self.read(typed, "found(1.0)"))

    def test_the_capabilities_travel(self):
        typed = typedcall.resolve(self.here(), "d->d", capabilities=0)
        self.assertEqual(self.read(typed, "found(5.0)"), "2.5")
        self.provider(flags="Flags.MAY_RAISE | Flags.NEEDS_THREAD")
        self.assertRegex(self.read(typed, "found(5.0)"),
                         r"'d->d' \(needs the GIL, may raise\);.* another version did where it was pickled")
        differs = typedcall.resolve(functions.half_long, "g->g", capabilities=Flags.DIFFERS)
        self.assertEqual(self.read(differs, "found.signature"), "g->g")

    @support.ON_CPYTHON  # PyPy converts no arguments
    def test_casting_travels(self):
        wide = typedcall.resolve(functions.half, "f->d", casting="safe")
        self.assertEqual(self.read(wide, "found(5.0)"), "2.5")

    def test_tags_that_a_package_brings(self):
        self.write("untagged.py", "def f(x): return 'boxed'")
        self.write("tags_for_untagged.py", """
            import typed_functions, typedcall
            def tag(module):
                typedcall.tag(module.f, "d->d", typedcall.resolve(typed_functions.half, "d->d"))
            """)
        sys.path.insert(0, self.path())
        self.addCleanup(sys.path.remove, self.path())
        untagged = importlib.import_module("untagged")
        self.addCleanup(sys.modules.pop, "untagged")
        importlib.import_module("tags_for_untagged").tag(untagged)
        typed = typedcall.resolve(untagged.f, "d->d")
        self.assertRegex(self.read(typed, "found(5.0)"),
                         "TypeError: .*f offers no (native signature|typed function).*import the module that tags it")
        self.write("tags-1.dist-info/METADATA", "Name: tags\nVersion: 1\n")
        self.write("tags-1.dist-info/entry_points.txt",
                   "[typedcall_tags]\nuntagged = tags_for_untagged:tag\n")
        self.assertEqual(self.read(typed, "found(5.0)"), "2.5")

    @support.ON_CPYTHON
    def test_a_function_that_is_pickled_by_value_has_no_tag(self):
        cloudpickle = adapter_support.library("cloudpickle")

        def mine(x):
            return "boxed"

        typedcall.tag(mine, "d->d", typedcall.resolve(functions.half, "d->d"))
        typed = typedcall.resolve(mine, "d->d")
        with self.assertRaises((AttributeError, pickle.PicklingError)):
            pickle.dumps(typed)
        self.assertRegex(self.read(cloudpickle.dumps(typed), "found(5.0)"),
                         "TypeError: .*offers no native signature.*it was tagged")

    def test_copies_are_functions(self):
        f = typedcall.resolve(functions.half, "d->d")
        for made in (copy.copy(f), copy.deepcopy(f)):
            self.assertIsInstance(made, typedcall.TypedFunction)


@support.ON_CPYTHON
class Ufuncs(cluster_support.Processes):
    @classmethod
    def setUpClass(cls):
        cls.numpy = adapter_support.library("numpy")

    def test_in_another_process(self):
        made = typedcall.ufunc(functions.half)
        self.assertEqual(self.read(made, "found([4.0, 6.0]).tolist()"), "[2.0, 3.0]")
        named = typedcall.ufunc(functions.half, "halved")
        self.assertEqual(self.read(named, "found.__name__, float(found(3.0))"), "('halved', 1.5)")

    def test_without_the_provider(self):
        made = typedcall.ufunc(functions.half)
        for expression, error in (("found([4.0])", "ImportError: "), ("found.reduce", "AttributeError: 'reduce' ")):
            printed = self.read(made, expression, [self.folder])
            self.assertTrue(printed.startswith(error), printed)
            self.assertIn("cannot import 'typed_functions'", printed)

    def test_other_loops_are_refused(self):
        made = typedcall.ufunc(functions.half)
        data = pickle.dumps(made, 4)
        self.assertIn(b"d->d", data)
        with self.assertRaisesRegex(TypeError, "half has the loops d->d, not f->d; another version"):
            pickle.loads(data.replace(b"d->d", b"f->d"))(1.0)

    def test_here_it_is_the_same_object(self):
        adder = typedcall.ufunc(functions.absolute)
        for made in (adder, typedcall.ufunc(functions.half, signature="()->()")):
            for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
                self.assertIs(again, made)

    def test_others_are_pickled_as_ever(self):
        typedcall.ufunc(functions.half)
        for each in (self.numpy.add, self.numpy.exp):
            self.assertIs(pickle.loads(pickle.dumps(each)), each)
            self.assertIs(copy.deepcopy(each), each)
        with self.assertRaises((AttributeError, pickle.PicklingError)):
            pickle.dumps(self.numpy.frompyfunc(len, 1, 1))

    def test_what_cannot_be_imported(self):
        def mine(x):
            return 1.0

        typedcall.tag(mine, "d->d", typedcall.resolve(functions.half, "d->d"))
        made = typedcall.ufunc(mine)
        with self.assertRaises((AttributeError, pickle.PicklingError)):
            pickle.dumps(made)
        self.assertEqual(copy.copy(made)(3.0), 1.5)


class Spawned(cluster_support.Processes):
    """Processes that multiprocessing starts with "spawn"."""

    def spawn(self, work, imports="import typed_functions, typedcall", paths=(FOLDER,)):
        return self.run_script(SPAWN.format(imports=imports, work=work), paths)

    def test_a_typed_function(self):
        self.assertEqual(
            self.spawn("print(pool.map(typedcall.resolve(typed_functions.half, 'd->d'), [1.0, 3.0]))"),
            ["[0.5, 1.5]"])

    @support.ON_CPYTHON
    def test_a_ufunc(self):
        adapter_support.library("numpy")
        self.assertEqual(
            self.spawn("print(pool.apply(typedcall.ufunc(typed_functions.half), ([1.0, 3.0],)))"),
            ["[0.5 1.5]"])

    @support.ON_CPYTHON
    def test_numba_code(self):
        adapter_support.library("numba")
        self.write("compiled.py", """
            import numba, typed_functions
            half = typed_functions.half
            @numba.njit
            def total(count):
                result = 0.0
                for i in range(count):
                    result += half(float(i))
                return result
            """)
        self.assertEqual(
            self.spawn("print(pool.map(compiled.total, [10, 4]), compiled.total(3))",
                       "import compiled", (FOLDER, self.folder)), ["[22.5, 3.0] 1.5"])

    def test_without_the_provider(self):
        # The main process adds the provider to its path after the workers have started.
        printed = self.spawn(
            "pool.apply(len, ((),)); sys.path.append(%r); import typed_functions, typedcall\n"
            "        try: pool.map(typedcall.resolve(typed_functions.half, 'd->d'), [1.0])\n"
            "        except ImportError as error: print(error.name, error)" % FOLDER, "", ())
        self.assertRegex(printed[0], "^typed_functions typed_functions.half comes from a pickle")

    def test_a_provider_that_ends_the_worker(self):
        # The workers find a different module with the same name.
        self.write("versions.py", PROVIDER.format(native="half", signature="d->d", flags=0))
        self.write("ends/versions.py", "import sys; sys.exit(3)")
        printed = self.spawn(
            "sys.path.insert(0, %r); f = typedcall.resolve(versions.f, 'd->d')\n"
            "        try: pool.map_async(f, [1.0]).get(60)\n"
            "        except ImportError as error: print(error.name, error)" % self.path(),
            "import typedcall\nif __name__ == '__main__': import versions\n"
            "else: sys.path.insert(0, %r)" % self.path("ends"),
            (FOLDER, self.folder))
        self.assertRegex(printed[0], "^versions versions.f comes from a pickle.*SystemExit: 3")


@support.ON_CPYTHON
class Compiled(cluster_support.Processes):
    def test_numba_code_is_compiled_where_it_runs(self):
        adapter_support.library("numba")
        cloudpickle = adapter_support.library("cloudpickle")
        call = adapter_support.nopython_call(functions.half)
        self.assertEqual(call(3.0), 1.5)
        data = cloudpickle.dumps(call)
        address = typedcall.resolve(functions.half, "d->d").address
        self.assertNotIn(address.to_bytes(8, sys.byteorder).strip(b"\0"), data)
        self.assertEqual(self.read(data, "found(5.0), found.signatures"), "(2.5, [(float64,)])")
