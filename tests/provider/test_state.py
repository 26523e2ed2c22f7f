"""Tests TYPEDCALL_MODULE_STATE. Each module object has its own state."""
import gc
import importlib.util
import sys
import unittest

from collected import only_if
import leaks
import provider_state


def load(execute=True):
    spec = importlib.util.spec_from_file_location("provider_state", provider_state.__file__)
    module = importlib.util.module_from_spec(spec)
    if execute:
        spec.loader.exec_module(module)
    return module


class State(unittest.TestCase):
    def setUp(self):
        gc.collect()
        self.before = provider_state.states()

    def tearDown(self):
        provider_state.fail(0)

    def states(self):
        gc.collect()
        return provider_state.states() - self.before

    def test_each_module_has_its_own(self):
        one, other = load(), load()
        self.assertEqual((one.ANSWER, self.states()), (42, 2))
        self.assertEqual([one.count(), one.count(), other.count()], [1, 2, 1])
        self.assertIsNot(one.kept(), other.kept())
        del one
        self.assertEqual(self.states(), 1)
        del other
        self.assertEqual(self.states(), 0)

    def test_a_cycle_through_the_state_is_collected(self):
        module = load()
        module.kept().append(module)
        del module
        self.assertEqual(self.states(), 0)

    def test_a_function_keeps_its_module_and_the_state(self):
        count = load().count
        self.assertEqual((self.states(), count(), count()), (1, 1, 2))
        del count
        self.assertEqual(self.states(), 0)

    def test_executed_again(self):
        module = load()
        self.assertEqual(module.count(), 1)
        module.__spec__.loader.exec_module(module)
        self.assertEqual((self.states(), module.count()), (1, 2))

    def test_a_module_that_was_made_but_not_executed(self):
        module = load(execute=False)
        for call in (module.count, module.kept):
            with self.assertRaisesRegex(RuntimeError, "the module has not been executed"):
                call()
        self.assertFalse(hasattr(module, "ANSWER"))
        del module, call
        self.assertEqual(self.states(), 0)

    def test_failures(self):
        for how, error, text in ((1, OverflowError, "in the constructor"),
                                 (2, ValueError, r"in exec\(\)"), (3, KeyError, r"from exec\(\)")):
            with self.subTest(how=how):
                module = load(execute=False)
                provider_state.fail(how)
                with self.assertRaisesRegex(error, text):
                    module.__spec__.loader.exec_module(module)
                provider_state.fail(0)
                if how == 1:
                    with self.assertRaisesRegex(RuntimeError, "has not been executed"):
                        module.count()
                del module
                self.assertEqual(self.states(), 0)

    def test_clear_may_throw(self):
        # The garbage collector cannot raise exceptions.
        seen = []
        before, sys.unraisablehook = sys.unraisablehook, lambda it: seen.append(it.exc_value)
        try:
            provider_state.fail(4)
            for _ in range(3):
                load().kept().append(load())
            self.assertEqual(self.states(), 0)
            module = load()
            module.clear()
            self.assertIsNone(module.kept())
        finally:
            sys.unraisablehook = before
        self.assertNotEqual(seen, [])
        self.assertEqual({repr(each) for each in seen}, {"IndexError('in clear()')"})
        self.assertTrue(gc.isenabled())
        del module
        self.assertEqual(self.states(), 0)

    @only_if(sys.version_info >= (3, 15))  # PyModule_GetState_DuringGC is new in 3.15
    def test_the_collector_is_shown_it_by_what_m_traverse_may_call(self):
        with open(provider_state.__file__, "rb") as file:
            self.assertIn(b"PyModule_GetState_DuringGC\0", file.read())

    @only_if(leaks.COUNTS_REFERENCES)
    def test_nothing_leaks(self):
        leaks.check(lambda: load().kept().append(load()), 50, warm_up=3, references=50)
