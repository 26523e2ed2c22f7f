// Tests look-ups when memory runs out. calls_test.cc tests calls.
#include "typedcall/provider.h"
// provider.h comes first because it includes Python.h.
#include <complex>
#include <new>

#include "gtest/gtest.h"
#include "tests/instance_table/instance.h"
#include "tests/support/embedded.h"
#include "tests/support/memory.h"
#include "typedcall/call_site.h"
#include "typedcall/callback.h"
#include "typedcall/fallback.h"
#include "typedcall/invoker.h"
#include "typedcall/loop.h"
#include "typedcall/native_callable_slot.h"
#include "typedcall/tag.h"

// When memory runs out, dict.setdefault of free-threaded CPython reports success without adding the
// item.
#ifndef Py_GIL_DISABLED

namespace typedcall_test {
namespace {

double twice(double x) noexcept { return 2 * x; }
double power(double x, double y) { return x * y; }
PyObject *same(PyObject *object) noexcept {
  Py_INCREF(object);
  return object;
}
long length(const char *text) noexcept { return static_cast<long>(std::strlen(text)); }
long small(long x) noexcept { return x; }
int positive(double x, double *result) noexcept {
  *result = x;
  return x < 0;
}
double negative(double x) { return 10 * x; }
int narrow(int x) noexcept { return x; }
double mixed(int, float x, std::complex<double>) noexcept { return x; }

typedcall::method_table methods{
    typedcall::def<twice>("twice"),
    typedcall::def<power>("power", typedcall::positional("x"), typedcall::arg("y") = 2.0),
    typedcall::def<same>("same"),
    typedcall::def<length>("length"),
    typedcall::def<small, twice>("overloaded"),
    typedcall::def<mixed>("mixed"),
    typedcall::def<narrow>("narrow"),
    typedcall::def<positive>("falls_back", typedcall::falls_back, typedcall::otherwise<negative>),
};
TYPEDCALL_MODULE(memory_module, "For the test.", methods);

const PyNativeCallableTable table = {1, {{"d->d", 0, reinterpret_cast<void *>(twice)}}};

class Consumers : public testing::Test {
 protected:
  Consumers() : interface_(PyTypedcall_Import()) {}
  void SetUp() override {
    module_ = NewModule();
    ASSERT_TRUE(module_) << TakeError();
    scope_.Set("m", module_.get());
  }

  static Ref NewModule() {
    Ref spec =
        Scope().Eval("type('Spec', (), {'name': 'memory_module', 'parent': '', 'origin': None})()");
    return Execute(spec);
  }
  static Ref Execute(const Ref &spec) {
    auto *def = reinterpret_cast<PyModuleDef *>(PyInit_memory_module());
    Ref module = Ref::Steal(PyModule_FromDefAndSpec(def, spec.get()));
    if (module && PyModule_ExecDef(module.get(), def) < 0) module.reset();
    return module;
  }

  const PyTypedcall_Interface *interface_;
  Scope scope_;
  Ref module_;
};

TEST_F(Consumers, AModule) {
  Ref spec =
      scope_.Eval("type('Spec', (), {'name': 'memory_module', 'parent': '', 'origin': None})()");
  Ref made;
  Sweep({"a module", [&] { return static_cast<bool>(made = Execute(spec)); }, [] {},
         [&](bool) { made.reset(); }});
}

TEST_F(Consumers, Wrappers) {
  const auto sweep = [&](const char *text, const std::string &body) {
    scope_.Run("def call(m):\n  " + body);
    Ref call = scope_.Eval("call"), result;
    Sweep({text,
           [&] {
             result = Ref::Steal(PyObject_CallOneArg(call.get(), module_.get()));
             return static_cast<bool>(result);
           },
           [] {}, [&](bool) { result.reset(); }});
  };
  for (const char *text : {"m.twice(1e300)", "m.power(3.0)", "m.power(3.0, y=5.0)",
                           "m.power(3.0, 5.0)", "m.same('text')", "m.length('text')",
                           "m.overloaded(12345678)", "m.overloaded(1.5)", "m.mixed(1, 2.5, 3j)"}) {
    sweep(text, std::string("return ") + text);
  }
  // The exception is either the usual one or MemoryError.
  for (const char *text : {"m.twice('x')", "m.twice()", "m.power(3.0, z=5.0)", "m.length('\\0')",
                           "m.overloaded('x')", "m.mixed(1 << 70, 2.5, 3j)"}) {
    sweep(text, std::string("try: ") + text +
                    "\n  except (TypeError, ValueError, OverflowError): return 1");
  }
}

TEST_F(Consumers, Tags) {
  Ref function = scope_.Eval("len"), method = scope_.Eval("[].append"), object;
  for (const Ref *callable : {&function, &method}) {
    Swept tag = {"TagCallable",
                 [&] {
                   return PyTypedMethod_TagCallable(interface_, callable->get(), &table, nullptr) ==
                          1;
                 },
                 [] {},
                 [&](bool succeeded) {
                   const PyMethodDef *def = PyTypedMethod_DefOf(callable->get());
                   EXPECT_EQ(PyTypedMethod_UntagDef(interface_, def), succeeded);
                 }};
    Sweep(tag);
  }
  Sweep({"TagObject",
         [&] { return PyNativeCallable_TagObject(interface_, object.get(), &table, nullptr) == 1; },
         [&] { object = scope_.Eval("lambda: 0"); },
         [&](bool succeeded) {
           EXPECT_EQ(typedcall::find<double(double)>(interface_, object.get()).get() != nullptr,
                     succeeded);
           object.reset();
         }});
  const PyNativeCallableTable other = {1, {{"d->d", 0, reinterpret_cast<void *>(power)}}};
  object = scope_.Eval("lambda: 0");
  ASSERT_EQ(PyNativeCallable_TagObject(interface_, object.get(), &table, nullptr), 1);
  Sweep({"a conflict", [&] {
           EXPECT_EQ(PyNativeCallable_TagObject(interface_, object.get(), &other, nullptr), -1);
           if (!PyErr_ExceptionMatches(PyExc_ValueError)) return false;
           PyErr_Clear();
           return true;
         }});
}

PyTypedMethod_DEFINE(def_metadata, "def", {"d->d", 0, reinterpret_cast<void *>(twice)});
PyTypedMethod_DEFINE(other_metadata, "other", {"d->d", 0, reinterpret_cast<void *>(power)});

TEST_F(Consumers, Arrays) {
  const PyTypedMethodMetadata *const typed[] = {&def_metadata, nullptr};
  const PyTypedMethodMetadata *const wrong[] = {&def_metadata, &other_metadata, nullptr};
  const PyMethodDef untouched[] = {{"def", nullptr, METH_O, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};
  PyMethodDef defs[2];
  const auto make = [&] { std::memcpy(defs, untouched, sizeof(defs)); };
  Sweep(
      {"TagInPlace", [&] { return PyTypedMethod_TagInPlace(&defs[0], &def_metadata) == 0; }, make});
  Sweep({"TagArray", [&] { return PyTypedMethod_TagArray(defs, typed) == 0; }, make});
  // A refusal changes nothing. The exception is either the usual one or MemoryError.
  const auto is_refused = [&](int result, PyObject *error) {
    EXPECT_EQ(result, -1);
    EXPECT_EQ(defs[0].ml_name, untouched[0].ml_name);
    if (!PyErr_ExceptionMatches(error)) return false;
    PyErr_Clear();
    return true;
  };
  Sweep({"TagInPlace, another name",
         [&] {
           return is_refused(PyTypedMethod_TagInPlace(&defs[0], &other_metadata), PyExc_ValueError);
         },
         make});
  Sweep({"TagArray, no such def",
         [&] { return is_refused(PyTypedMethod_TagArray(defs, wrong), PyExc_SystemError); }, make});
  make();
  ASSERT_EQ(PyTypedMethod_TagArray(defs, typed), 0);
  Ref owner;
  const auto untag = [&](bool succeeded) {
    if (PyTypedMethod_FLAGS == 0) {
      EXPECT_EQ(PyTypedMethod_UntagDef(interface_, &defs[0]), succeeded);
    }
    owner.reset();
  };
  const auto make_owner = [&] { owner = scope_.Eval("type('Owner', (), {})()"); };
  Swept add = {"AddTags", [&] { return PyTypedMethod_AddTags(owner.get(), defs, typed) == 0; },
               make_owner, untag};
  Sweep(add);
  add.name = "AddRequiredTags";
  add.call = [&] { return PyTypedMethod_AddRequiredTags(owner.get(), defs, typed) == 0; };
  Sweep(add);
  Sweep({"AddTags, no such def", [&] {
           EXPECT_EQ(PyTypedMethod_AddTags(module_.get(), defs, wrong), -1);
           if (!PyErr_ExceptionMatches(PyExc_SystemError)) return false;
           PyErr_Clear();
           return true;
         }});
  PyMethodDef def = untouched[0];
  Swept tag = {
      "TagDef",
      [&] { return PyTypedMethod_TagDef(interface_, &def, owner.get(), &table, nullptr) == 1; },
      make_owner,
      [&](bool succeeded) {
        EXPECT_EQ(PyTypedMethod_UntagDef(interface_, &def), succeeded);
        owner.reset();
      }};
  tag.cpython_leaks = true;
  Sweep(tag);
}

TEST_F(Consumers, ModulesThatStayWithoutTags) {
  scope_.Run(
      "import sys, warnings\n"
      "kept = sys.modules['_extensibletype']\n"
      "sys.modules['_extensibletype'] = None\n"
      "warnings.simplefilter('ignore')");
  const auto forget = [](bool) {
    PyDict_DelItemString(PyInterpreterState_GetDict(PyInterpreterState_Get()),
                         "typedcall: module 'memory_module' has no tags, so its functions are "
                         "called boxed: sys.modules['_extensibletype'] is a 'NoneType' instead of "
                         "a module");
    PyErr_Clear();
  };
  const auto import = [&] {
    return PyTypedcall_ImportForTags(module_.get()) == nullptr && PyErr_Occurred() == nullptr;
  };
  Sweep({"ImportForTags", import, [] {}, forget});
  scope_.Run("sys.modules['_extensibletype'] = kept");
}

TEST_F(Consumers, TablesInInstances) {
  PyNativeCallableTables tables = {};
  const PyNativeCallableEntry second = {"f->f", 0, reinterpret_cast<void *>(power)};
  const auto release = [&](bool succeeded) {
    EXPECT_EQ(tables.table != nullptr, succeeded);
    PyNativeCallableTables_Withdraw(&tables);
    PyNativeCallableTables_Release(&tables);
  };
  Sweep({"Set", [&] { return PyNativeCallableTables_Set(&tables, table.entries, 1) == 0; }, [] {},
         release});
  Sweep({"Append", [&] { return PyNativeCallableTables_Append(&tables, &second) == 0; }, [] {},
         release});
}

TEST_F(Consumers, InstancesOfASubclass) {
  Scope scope;
  // The look-up compares the `__call__` of two classes.
  scope.Set("Callable", MakeCallableType().get());
  scope.Run("class Below(Callable): pass");
  Ref instance = scope.Eval("Below()");
  ASSERT_EQ(Set(TablesOf(instance), {{"d->d", 0, Address(1)}}), 0);
  Swept find = {"CallTable", [&] { return PyNativeCallable_CallTable(instance.get()) != nullptr; }};
  find.counted = {instance.get()};
  find.is_silent = true;
  Sweep(find);
  find.name = "find<>";
  find.call = [&] {
    return static_cast<bool>(typedcall::find<double(double)>(interface_, instance.get()));
  };
  Sweep(find);
}

TEST_F(Consumers, Untagging) {
  Ref object;
  Swept untag = {
      "UntagObject", [&] { return PyNativeCallable_UntagObject(interface_, object.get()) == 1; },
      [&] {
        object = scope_.Eval("lambda: 0");
        ASSERT_EQ(PyNativeCallable_TagObject(interface_, object.get(), &table, nullptr), 1);
      },
      [&](bool) { object.reset(); }};
  untag.is_silent = true;
  untag.cpython_leaks = true;
  Sweep(untag);
}

TEST_F(Consumers, Finding) {
  Ref overloaded = scope_.Eval("m.overloaded"), object = scope_.Eval("lambda: 0");
  ASSERT_EQ(PyNativeCallable_TagObject(interface_, object.get(), &table, nullptr), 1);
  Ref none = scope_.Eval("lambda: 0"), method = scope_.Eval("list.append");
  for (PyObject *callable : {overloaded.get(), object.get()}) {
    Swept find = {"find<>", [&] {
                    return static_cast<bool>(typedcall::find<double(double)>(interface_, callable));
                  }};
    find.counted = {callable};
    find.is_silent = true;
    Sweep(find);
    find.name = "find";
    find.call = [&] { return typedcall::find(interface_, callable, "d->d").has_value(); };
    Sweep(find);
    find.name = "safe";
    find.call = [&] {
      typedcall::request asked;
      asked.signature = "f->d";
      asked.casting = typedcall::casting::safe;
      return typedcall::find(interface_, callable, asked).has_value();
    };
    Sweep(find);
    find.is_silent = false;
    find.name = "resolve<>";
    find.call = [&] {
      return static_cast<bool>(typedcall::resolve<double(double)>(interface_, callable));
    };
    Sweep(find);
    find.name = "resolve";
    find.call = [&] { return typedcall::resolve(interface_, callable, "d->d").has_value(); };
    Sweep(find);
  }
  for (PyObject *callable : {overloaded.get(), object.get(), none.get(), method.get(), Py_None}) {
    Swept refuse = {"no resolve<>", [&] {
                      EXPECT_FALSE(typedcall::resolve<int(int, int)>(interface_, callable));
                      return IsRefusal();
                    }};
    Sweep(refuse);
    refuse.name = "no resolve";
    refuse.call = [&] {
      EXPECT_FALSE(typedcall::resolve(interface_, callable, "dddd->d"));
      return IsRefusal();
    };
    Sweep(refuse);
    refuse.name = "no resolve of unbound";
    refuse.call = [&] {
      EXPECT_FALSE(typedcall::resolve<int(int)>(interface_, callable, typedcall::unbound()));
      return IsRefusal();
    };
    Sweep(refuse);
    refuse.name = "no resolve of bound";
    refuse.call = [&] {
      EXPECT_FALSE(typedcall::resolve<int(int)>(interface_, callable, typedcall::bound()));
      return IsRefusal();
    };
    Sweep(refuse);
  }
}

TEST_F(Consumers, Entries) {
  Ref overloaded = scope_.Eval("m.overloaded");
  Sweep({"for_each_entry", [&] {
           int seen = 0;
           typedcall::for_each_entry(
               interface_, overloaded.get(),
               [&](const PyNativeCallableEntry &, typedcall::place) { ++seen; });
           EXPECT_TRUE(seen == 2 || PyErr_Occurred());
           return seen == 2;
         }});
}

TEST_F(Consumers, CallSites) {
  Ref twice_ = scope_.Eval("m.twice");
  std::optional<typedcall::call_site<double(double)>> site;
  Sweep({"a call site",
         [&] {
           const auto found = site->find(twice_.get());
           return found && found(4.0) == 8.0;
         },
         [&] { site.emplace(interface_); },
         [&](bool) {
           const auto found = site->find(twice_.get());
           EXPECT_TRUE(found && found(4.0) == 8.0);
           site.reset();
         }});
}

TEST_F(Consumers, FallingBack) {
  Ref back = scope_.Eval("m.falls_back"), twice_ = scope_.Eval("m.twice"),
      same_ = scope_.Eval("m.same");
  Sweep({"resolve with_fallback", [&] {
           return static_cast<bool>(typedcall::resolve<double(double)>(interface_, back.get(),
                                                                       typedcall::with_fallback()));
         }});
  Sweep({"resolve with_fallback of what never does", [&] {
           return static_cast<bool>(typedcall::resolve<double(double)>(interface_, twice_.get(),
                                                                       typedcall::with_fallback()));
         }});
  Sweep({"no resolve with_fallback", [&] {
           EXPECT_FALSE(typedcall::resolve<double(double)>(interface_, same_.get(),
                                                           typedcall::with_fallback()));
           return IsRefusal();
         }});
  const auto f =
      typedcall::resolve<double(double)>(interface_, back.get(), typedcall::with_fallback());
  ASSERT_TRUE(f) << TakeError();
  Sweep({"the call of one", [&] {
           const double result = f(-1e10);
           return !f.raised(result) && result == -1e11;
         }});
  Sweep({"a callback, and its call", [&] {
           typedcall::callback<double(double, void *), double(double)> g(interface_, back.get());
           if (!g) return false;
           const double result = g.function()(-1e10, g.data());
           return g.check() && result == -1e11;
         }});
  Ref narrow = scope_.Eval("m.narrow");
  const auto wider =
      typedcall::resolve<int(int)>(interface_, narrow.get(), typedcall::with_fallback());
  ASSERT_TRUE(wider) << TakeError();
  Sweep({"the call of one with a long that does not fit", [&] {
           EXPECT_EQ(wider(1L << 40), -1);
           if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
           PyErr_Clear();
           return true;
         }});
  typedcall::loop_options options;
  options.callable = typedcall::object_ref::borrow(back.get());
  const auto loop = typedcall::loop::make("d&d->i", PyNativeCallable_FALLS_BACK,
                                          reinterpret_cast<void *>(positive), {}, options);
  ASSERT_TRUE(loop) << TakeError();
  double in[] = {1, -1e10}, out[2];
  char *const arrays[] = {reinterpret_cast<char *>(in), reinterpret_cast<char *>(out)};
  const std::intptr_t steps[] = {8, 8}, count = 2;
  Sweep({"a loop over one",
         [&] { return loop->run(arrays, &count, steps) == 0 && out[0] == 1 && out[1] == -1e11; }});
}

}  // namespace
}  // namespace typedcall_test

#endif
