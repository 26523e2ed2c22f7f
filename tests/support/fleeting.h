// Python code that makes objects whose class is freed during a look-up. It is freed because such a
// class is not in its own MRO, so that only its instances hold it.
#ifndef TYPEDCALL_TESTS_SUPPORT_FLEETING_H_
#define TYPEDCALL_TESTS_SUPPORT_FLEETING_H_

#include <gtest/gtest.h>

#include <string>

#include "tests/support/embedded.h"

namespace typedcall_test {

/// fleeting(base, name) returns an instance of a subclass of `base`. A look-up of `name`, or of
/// __customslots__ if `name` is None, calls count().
constexpr char kFleeting[] =
    "import gc, weakref\n"
    "def count():\n"
    "    global turns\n"
    "    turns -= 1\n"
    "    if turns == 0:\n"
    "        instance.__class__ = plain\n"
    "        gc.collect()\n"
    "        was_held.append(watched() is not None)\n"
    "turns = 0\n"
    "was_held = []\n"
    "class Key:\n"
    "    def __init__(self, name): self.name = name\n"
    "    def __hash__(self): return hash(self.name)\n"
    "    def __eq__(self, other):\n"
    "        count()\n"
    "        return False\n"
    "class Declaration:\n"
    "    def __getitem__(self, key): raise KeyError\n"
    "    def items(self):\n"
    "        count()\n"
    "        raise KeyError\n"
    "def fleeting(base, name):\n"
    "    global instance, plain, skipped, watched\n"
    "    class Meta(type(base)):\n"
    "        def mro(cls): return super().mro()[skipped:]\n"
    "    skipped = 0\n"
    "    empty = {'__slots__': ()}\n"
    "    plain = Meta('Plain', (base,), dict(empty))\n"
    "    armed = Meta('Armed', (base,), {**empty, Key(name): 0} if name else dict(empty))\n"
    "    made = type.__new__(Meta, 'Late', (armed,),\n"
    "                        dict(empty) if name else {**empty, '__customslots__': "
    "Declaration()})\n"
    "    skipped = 1\n"
    "    made.__bases__ = made.__bases__\n"
    "    assert made.__mro__[0] is armed\n"
    "    watched = weakref.ref(made)\n"
    "    instance = made()\n"
    "    return instance\n";

/// Calls `use` with objects whose class changes during the 1st, 2nd, ... 8th call of count().
/// Returns how many of these classes were freed. The look-up must hold them until it ends. `scope`
/// must define `base`.
template <class Use>
int CountFreed(Scope &scope, const char *name, const Use &use) {
  EXPECT_TRUE(scope.Run(kFleeting)) << TakeError();
  int freed = 0;
  for (int turn = 1; turn <= 8; ++turn) {
    EXPECT_TRUE(scope.Run("turns = 0")) << TakeError();
    const Ref instance =
        scope.Eval((std::string("fleeting(base, ") +
                    (name != nullptr ? "'" + std::string(name) + "'" : "None") + ")")
                       .c_str());
    EXPECT_TRUE(scope.Run(("turns = " + std::to_string(turn)).c_str())) << TakeError();
    use(instance.get());
    EXPECT_EQ(TakeError(), "");
    Collect();  // free-threaded builds free classes only in a collection
    freed += scope.Eval("watched() is None").get() == Py_True;
  }
  EXPECT_TRUE(scope.Run("assert all(was_held), was_held")) << TakeError();
  return freed;
}

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_SUPPORT_FLEETING_H_
