# Tests imports from dictionaries whose keys run code when they are compared.
import unittest

from fresh_process import run


class HostileKeys(unittest.TestCase):
    def test_one_that_takes_the_interface_away(self):
        run("""
            import gc, sys, types
            class Key:
                def __hash__(self): return hash("extensibletype_v2")
                def __eq__(self, other):
                    if other == "extensibletype_v2":
                        vars(m).pop("typedcall_v2", None)
                        gc.collect()
                    return False
            m = sys.modules["_extensibletype"] = types.ModuleType("_extensibletype")
            vars(m)[Key()] = 1
            import provider_a, provider_b
            class Both(provider_a.Type, provider_b.Type): pass
            assert provider_b.find(Both(), 1) == 11
            """)

    def test_one_that_replaces_sys_modules(self):
        run("""
            import _imp, importlib.machinery, sys
            spec = importlib.machinery.PathFinder.find_spec("provider_a")
            module = _imp.create_dynamic(spec)
            class Key:
                def __hash__(self): return hash("_extensibletype")
                def __eq__(self, other):
                    if other == "_extensibletype":
                        sys.modules = kept
                    return False
            kept = sys.modules
            class Modules(dict):
                pass
            sys.modules = Modules(kept)
            sys.modules[Key()] = 1
            _imp.exec_dynamic(module)
            assert module.find(module.Type(), 1) == 11
            """)

    def test_nothing_of_ours_is_in_the_collectors_list(self):
        run("""
            import abc, gc
            import provider_a
            import _extensibletype
            _extensibletype.combined_metaclass(abc.ABCMeta)
            for each in gc.get_objects():
                if type(each) is dict and any(type(v).__name__ == "PyCapsule" and
                                              "owner" in repr(v) for v in each.values()):
                    raise AssertionError(each)
            """)
