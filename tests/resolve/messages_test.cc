// Tests the messages of resolve(), and pending exceptions.

#include "tests/resolve/callables.h"
#include "typedcall/call_site.h"

namespace {

using namespace resolve_test;

// Returns a module: a self whose type does not appear in the name of the function.
Ref Self() { return Ref::Borrow(PyImport_AddModule("__main__")); }

TEST(FaultyRequest, IsAValueErrorWithThePosition) {
  const Builtin function(0);
  const struct {
    const char *signature, *message;
  } faults[] = {
      {"dd-d", "ValueError: signature 'dd-d' at position 3: expected '->'"},
      {"", "ValueError: signature '' at position 0: expected '->'"},
      {"dx->d", "ValueError: signature 'dx->d' at position 1: unknown type code"},
      {"d->d ", "ValueError: signature 'd->d ' at position 4: spaces are not allowed"},
      {"dv->d", "ValueError: signature 'dv->d' at position 1: 'v' is only a result"},
  };
  for (const auto &fault : faults) {
    EXPECT_EQ(Refusal(Interface(), function.get(), fault.signature), fault.message);
  }
  // The request is checked before the callable.
  EXPECT_EQ(Refusal(nullptr, Py_None, "x").substr(0, 10), "ValueError");
  EXPECT_EQ(Refusal(nullptr, Py_None, std::string(100000, 'd').c_str()).substr(0, 10),
            "ValueError");
}

TEST(FaultyRequest, NoSignatureIsAFaultyOne) {
  const Builtin function(0);
  EXPECT_FALSE(typedcall::resolve(Interface(), function.get(), typedcall::request{}));
  EXPECT_EQ(TakeError(), "ValueError: signature '' at position 0: expected '->'");
  EXPECT_FALSE(typedcall::find(Interface(), function.get(), typedcall::request{}));
  EXPECT_FALSE(PyErr_Occurred());
}

TEST(NothingOffered, IsSaid) {
  const Builtin function(0);
  EXPECT_EQ(
      Refusal(Interface(), function.get(), "l->l"),
      std::string("TypeError: f offers no native signature; 'l->l' was asked for") + kUntagged);
  EXPECT_EQ(Refusal(nullptr, function.get(), "l->l"),
            "TypeError: f offers no native signature; 'l->l' was asked for: without an interface, "
            "only its flag bits and symbol were checked");
  EXPECT_EQ(Refusal(nullptr, PythonFunction().get(), "l->l"),
            std::string("TypeError: python_function offers no native signature; 'l->l' was asked "
                        "for") +
                kPythonFunction);
}

TEST(NotCallable, IsSaid) {
  EXPECT_EQ(Refusal(Interface(), Py_None, "l->l"), "TypeError: 'NoneType' object is not callable");
  const Ref number = Ref::Steal(PyLong_FromLong(5));
  EXPECT_EQ(Refusal(nullptr, number.get(), "l->l"), "TypeError: 'int' object is not callable");
  static int anything;
  const Ref capsule = Ref::Steal(PyCapsule_New(&anything, "double (double)", nullptr));
  EXPECT_EQ(Refusal(Interface(), capsule.get(), "d->d"),
            "TypeError: 'PyCapsule' object is not callable: in Python, typedcall.tag(f, signature, "
            "capsule) tags a callable f with its function");
}

TEST(Offered, IsListedWithWhatStandsInTheWay) {
  const std::uintptr_t thread = PyNativeCallable_NEEDS_THREAD;
  const Table table{{"d->d", 0, Address(1)},
                    {"l->l", thread | PyNativeCallable_MAY_RAISE, Address(2)},
                    {"l->l", std::uintptr_t{1} << 24, Address(3)},
                    {"l->l", 0, nullptr},
                    {nullptr, 0, Address(4)}};
  const Builtin function(kBoth, table.get());
  EXPECT_EQ(Refusal(nullptr, function.get(), "l->l"),
            "TypeError: f does not offer 'l->l'; it offers 'd->d', 'l->l' (needs the GIL, may "
            "raise), 'l->l' (flags not understood), 'l->l' (no function)");
  EXPECT_EQ(Refusal(nullptr, function.get(), "l->l", typedcall::holds_gil),
            "TypeError: f does not offer 'l->l'; it offers 'd->d', 'l->l' (may raise), 'l->l' "
            "(flags not understood), 'l->l' (no function)");
}

TEST(Offered, EveryObstacleHasItsWords) {
  const std::uintptr_t thread = PyNativeCallable_NEEDS_THREAD;
  const struct {
    std::uintptr_t flags;
    const char *words;
  } obstacles[] = {
      {PyNativeCallable_NEEDS_THREAD, " (needs the GIL)"},
      {PyNativeCallable_ACQUIRES_GIL, " (takes the GIL)"},
      {thread | PyNativeCallable_MAY_RAISE, " (needs the GIL, may raise)"},
      {PyNativeCallable_ERROR_IS_NEG_ZERO, " (flags not understood)"},
      {thread | PyNativeCallable_RETURNS_STATUS, " (needs the GIL, returns a status)"},
      {PyNativeCallable_TAKES_SELF, " (takes self)"},
      {PyNativeCallable_SETS_ERRNO, " (sets errno)"},
      {PyNativeCallable_DIFFERS, " (differs from the Python callable)"},
      {PyNativeCallable_MAY_RAISE, " (flags not understood)"},
      {PyNativeCallable_FALLS_BACK, " (may fall back)"},
      {thread | PyNativeCallable_FALLS_BACK | PyNativeCallable_MAY_RAISE,
       " (flags not understood)"},
      {0x200, " (flags not understood)"},
  };
  for (const auto &obstacle : obstacles) {
    const Table table{{"l->i", obstacle.flags, Address(1)}};
    const Builtin function(kBoth, table.get(), Self().get());
    EXPECT_EQ(Refusal(nullptr, function.get(), "l->i"),
              std::string("TypeError: f does not offer 'l->i'; it offers 'l->i'") + obstacle.words);
  }
  const Table other{{"l->l", PyNativeCallable_FALLS_BACK, Address(1)}};
  EXPECT_EQ(Refusal(nullptr, Builtin(kBoth, other.get(), Self().get()).get(), "l->l"),
            "TypeError: f does not offer 'l->l'; it offers 'l->l' (its flags do not allow its "
            "result type)");
}

TEST(Offered, AnErrorValueOfItsOwnHasItsWords) {
  const std::uintptr_t flags = PyNativeCallable_NEEDS_THREAD | PyNativeCallable_MAY_RAISE |
                               PyNativeCallable_ERROR_IS_NEG_ZERO;
  const Table table{{"l->d", flags, Address(1)}};
  EXPECT_EQ(Refusal(nullptr, Builtin(kBoth, table.get(), Self().get()).get(), "l->d"),
            "TypeError: f does not offer 'l->d'; it offers 'l->d' (needs the GIL, may raise, error "
            "is -0.0)");
}

TEST(Offered, FromEveryPlace) {
  const Table header{{"l->l", 0, Address(1)}}, by_def{{"d->d", 0, Address(2)}},
      by_object{{"f->f", 0, Address(3)}};
  Builtin function(kBoth);
  ASSERT_EQ(PyTypedMethod_TagDef(Interface(), &function.def, function.get(), by_def.get(), nullptr),
            1);
  // The header is added after the row of the def, which would otherwise conflict with it.
  function.metadata.table = header.get();
  ASSERT_EQ(PyNativeCallable_TagObject(Interface(), function.get(), by_object.get(), nullptr), 1);
  EXPECT_EQ(Refusal(Interface(), function.get(), "g->g"),
            "TypeError: f does not offer 'g->g'; it offers 'l->l', 'd->d', 'f->f'");
  EXPECT_EQ(Refusal(nullptr, function.get(), "g->g"),
            "TypeError: f does not offer 'g->g'; it offers 'l->l'");
}

TEST(Offered, NothingByATag) {
  const std::string nothing = "TypeError: f offers no native signature; 'g->g' was asked for: ";
  const std::string without_interface =
      nothing + "without an interface, only its flag bits and symbol were checked";
  const Table empty({}), unnamed{{nullptr, 0, Address(1)}}, by_object{{"f->f", 0, Address(3)}};
  for (const Table *table : {&empty, &unnamed}) {
    const Builtin function(kBoth, table->get());
    EXPECT_EQ(Refusal(Interface(), function.get(), "g->g"),
              nothing + "its tag has no entry with a signature");
    EXPECT_EQ(Refusal(nullptr, function.get(), "g->g"), without_interface);
    // Another place has entries.
    ASSERT_EQ(PyNativeCallable_TagObject(Interface(), function.get(), by_object.get(), nullptr), 1);
    EXPECT_EQ(Refusal(Interface(), function.get(), "g->g"),
              "TypeError: f does not offer 'g->g'; it offers 'f->f'");
    EXPECT_EQ(Refusal(nullptr, function.get(), "g->g"), without_interface);
  }
}

// The message names the missing flags.
TEST(Offered, WhatIsMissingIsSaid) {
  const Table table{{"l->l", PyNativeCallable_PURE, Address(1)}};
  const Builtin function(kBoth, table.get(), Self().get());
  typedcall::request asked;
  asked.signature = "l->l";
  const struct {
    std::uintptr_t required;
    const char *words;
  } missing[] = {
      {PyNativeCallable_TAKES_SELF, "does not take self"},
      {PyNativeCallable_THREAD_SAFE, "is not thread-safe"},
      {PyNativeCallable_SHORT | PyNativeCallable_THREAD_SAFE, "is not thread-safe, may block"},
      {PyNativeCallable_NEEDS_THREAD, "not: needs the GIL"},
  };
  for (const auto &one : missing) {
    asked.required = one.required;
    EXPECT_FALSE(typedcall::resolve(nullptr, function.get(), asked));
    EXPECT_EQ(TakeError(), std::string("TypeError: f does not offer 'l->l'; it offers 'l->l' (") +
                               one.words + ")");
  }
  asked.required = PyNativeCallable_PURE;
  EXPECT_TRUE(typedcall::resolve(nullptr, function.get(), asked)) << TakeError();
}

TEST(OtherKinds, AreNamed) {
  typedcall_test::Scope scope;
  scope.Run(
      "import functools\n"
      "class C:\n"
      "    def method(self): pass\n"
      "    def __call__(self): pass\n"
      "class S:\n"
      "    static = staticmethod(len)\n"
      "    of_class = classmethod(len)\n");
  const struct {
    const char *expression, *name, *words;
  } kinds[] = {
      {"lambda: 0", "<lambda>", kPythonFunction + 2},
      {"C.method", "C.method", kPythonFunction + 2},
      {"C().method", "C.method",
       "it is a bound method; resolve its __func__ and pass its __self__ first"},
      {"functools.partial(len)", "'functools.partial' object",
       "it is a functools.partial; resolve its func and pass its arguments along"},
      {"int", "int",
       "it is a type; resolve a function that creates its instances, or call it boxed"},
      {"C", "C", "it is a type; resolve a function that creates its instances, or call it boxed"},
      {"int.__add__", "int.__add__",
       "it wraps a slot of a type and has no PyMethodDef; call it boxed"},
      {"(5).__add__", "int.__add__",
       "it wraps a slot of a type and has no PyMethodDef; call it boxed"},
      {"C()", "'C' object",
       "'C' objects are not builtin functions, and this one has neither a native-callable slot "
       "(SEP 201) nor a tag"},
      {"len", "len", kUntagged + 2},
      {"[].append", "list.append", kUntagged + 2},
      {"list.append", "list.append", kUntagged + 2},
      {"S.static", "len", kUntagged + 2},
      {"dict.fromkeys", "dict.fromkeys", kUntagged + 2},
      {"dict.__dict__['fromkeys']", "dict.fromkeys", kUntagged + 2},
  };
  for (const auto &kind : kinds) {
    EXPECT_EQ(Refusal(Interface(), scope.Eval(kind.expression).get(), "l->l"),
              std::string("TypeError: ") + kind.name +
                  " offers no native signature; 'l->l' was asked for: " + kind.words)
        << kind.expression;
  }
  for (const char *name : {"static", "of_class"}) {
    const std::string kind = std::string(name) == "static" ? "staticmethod" : "classmethod";
    // Before 3.10, static and class methods have no name.
    const std::string shown = PY_VERSION_HEX >= 0x030A0000 ? "len" : "'" + kind + "' object";
    const std::string expression = "S.__dict__['" + std::string(name) + "']";
    EXPECT_EQ(Refusal(Interface(), scope.Eval(expression.c_str()).get(), "l->l"),
              "TypeError: " + shown +
                  " offers no native signature; 'l->l' was asked for: it is a " + kind +
                  " object; resolve the attribute of its class instead");
  }
}

TEST(Name, ThatCannotBeHadIsTheTypes) {
  typedcall_test::Scope scope;
  scope.Run(
      "class Odd:\n"
      "    def __call__(self): pass\n"
      "    def __getattr__(self, name): raise ValueError('no name')\n"
      "class Number(Odd):\n"
      "    def __getattr__(self, name): return 5\n"
      "class Surrogate(Odd):\n"
      "    def __getattr__(self, name): return '\\ud800'\n");
  for (const char *name : {"Odd", "Number", "Surrogate"}) {
    const Ref object = scope.Eval(std::string(name) + "()");
    EXPECT_EQ(Refusal(Interface(), object.get(), "l->l"),
              "TypeError: '" + std::string(name) +
                  "' object offers no native signature; 'l->l' was asked for: '" + name +
                  "' objects are not builtin functions, and this one has neither a "
                  "native-callable slot (SEP 201) nor a tag");
  }
}

// These exceptions must propagate from the look-up of the name.
TEST(Name, WhatEndsTheProgramComesOut) {
  for (const char *raised : {"KeyboardInterrupt", "SystemExit", "GeneratorExit", "MemoryError"}) {
    typedcall_test::Scope scope;
    scope.Run(std::string("class Odd:\n"
                          "    def __call__(self): pass\n"
                          "    def __getattr__(self, name): raise ") +
              raised + "('stop')\n");
    const Ref object = scope.Eval("Odd()");
    const std::string stop = std::string(raised) + ": stop";
    EXPECT_EQ(Refusal(Interface(), object.get(), "l->l"), stop);
    EXPECT_EQ(Refusal(nullptr, object.get(), "l->l"), stop);
    EXPECT_FALSE(typedcall::resolve<long(long)>(Interface(), object.get()));
    EXPECT_EQ(TakeError(), stop);
    EXPECT_FALSE(typedcall::resolve<long(long)>(Interface(), object.get(), typedcall::bound()));
    EXPECT_EQ(TakeError(), stop);
    EXPECT_FALSE(typedcall::resolve<long(long)>(Interface(), object.get(), typedcall::unbound()));
    EXPECT_EQ(TakeError(), stop);
    typedcall::call_site<long(long)> site(Interface());
    EXPECT_FALSE(site.resolve(object.get()));
    EXPECT_EQ(TakeError(), stop);
  }
}

TEST(Typed, SaysTheSame) {
  const Table table{{"d->d", 0, Address(1)}};
  const Builtin function(kBoth, table.get());
  EXPECT_FALSE(typedcall::resolve<long(long)>(nullptr, function.get()));
  EXPECT_EQ(TakeError(), "TypeError: f does not offer 'l->l'; it offers 'd->d'");
  EXPECT_FALSE(typedcall::find<long(long)>(nullptr, function.get()));
  EXPECT_EQ(TakeError(), "");
  EXPECT_TRUE(typedcall::resolve<double(double)>(nullptr, function.get()));
  EXPECT_EQ(TakeError(), "");
}

TEST(Pending, ExceptionIsKeptBySuccessAndByFind) {
  const Table table{{"l->l", 0, Address(1)}};
  const Builtin function(kBoth, table.get());
  const Ref other = PythonFunction();
  const PyTypedcall_Interface *interface = Interface();
  PyErr_SetString(PyExc_KeyError, "earlier");
  EXPECT_TRUE(typedcall::find(interface, function.get(), "l->l").has_value());
  EXPECT_TRUE(typedcall::resolve(interface, function.get(), "l->l").has_value());
  EXPECT_FALSE(typedcall::find(interface, function.get(), "d->d").has_value());
  EXPECT_FALSE(typedcall::find(interface, other.get(), "d->d").has_value());
  EXPECT_EQ(TakeError(), "KeyError: 'earlier'");
}

TEST(Pending, ExceptionIsReplacedByARefusal) {
  const Ref function = PythonFunction();
  const PyTypedcall_Interface *interface = Interface();
  PyErr_SetString(PyExc_KeyError, "earlier");
  EXPECT_EQ(Refusal(interface, function.get(), "l->l"),
            std::string("TypeError: python_function offers no native signature; 'l->l' was asked "
                        "for") +
                kPythonFunction);
}

// The result of PyTypedcall_Import() can be passed to resolve() without a check.
TEST(Pending, ExceptionOfAFailedImportIsKept) {
  const Ref function = PythonFunction();
  PyErr_SetString(PyExc_ImportError, "another version");
  EXPECT_EQ(Refusal(nullptr, function.get(), "l->l"), "ImportError: another version");
}

}  // namespace
