// Tests methods, and functions that take their module.

#include "tests/resolve/callables.h"

namespace {

using namespace resolve_test;

constexpr std::uintptr_t kSelf = PyNativeCallable_TAKES_SELF;

struct Scale {
  PyObject ob_base;
  double factor;
};

// The native functions. Their results depend on self.
double scaled(PyObject *self, double x) noexcept {
  return reinterpret_cast<Scale *>(self)->factor * x;
}
double twice(double x) noexcept { return 2 * x; }
long name_length(PyObject *self) noexcept {
  return static_cast<long>(std::strlen(reinterpret_cast<PyTypeObject *>(self)->tp_name));
}
long is_module(PyObject *self) noexcept { return PyModule_Check(self); }

PyObject *BoxedMethod(PyObject *, PyTypeObject *, PyObject *const *, Py_ssize_t, PyObject *) {
  Py_RETURN_NONE;
}
PyCFunction AsCFunction(decltype(&BoxedMethod) function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

constexpr int kMethodFlags = METH_METHOD | METH_FASTCALL | METH_KEYWORDS;
PyMethodDef defs[] = {
    {"scaled", Boxed, METH_O, nullptr},
    {"name_length", Boxed, METH_O | METH_CLASS, nullptr},
    {"twice", Boxed, METH_O | METH_STATIC, nullptr},
    {"with_class", AsCFunction(BoxedMethod), kMethodFlags, nullptr},
    {"class_with_class", AsCFunction(BoxedMethod), kMethodFlags | METH_CLASS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

void *AsAddress(double (*function)(PyObject *, double) noexcept) {
  return reinterpret_cast<void *>(function);
}
void *AsAddress(double (*function)(double) noexcept) { return reinterpret_cast<void *>(function); }
void *AsAddress(long (*function)(PyObject *) noexcept) {
  return reinterpret_cast<void *>(function);
}

class Methods : public testing::Test {
 protected:
  Methods() {
    PyType_Slot slots[] = {{Py_tp_methods, defs}, {0, nullptr}};
    PyType_Spec spec = {"test.Scale", sizeof(Scale), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                        slots};
    type = Ref::Steal(PyType_FromSpec(&spec));
    EXPECT_TRUE(type) << TakeError();
    scope.Set("Scale", type.get());
    scope.Run(
        "class Sub(Scale): pass\n"
        "scale, sub = Scale(), Sub()");
    Factor("scale", 3);
    Factor("sub", 5);
    Tag(0, scaled_table);
    Tag(1, name_table);
    Tag(2, twice_table);
    Tag(3, scaled_table);
    Tag(4, name_table);
  }
  ~Methods() override {
    for (const PyMethodDef &def : defs) PyTypedMethod_UntagDef(Interface(), &def);
  }

  void Factor(const char *name, double factor) {
    reinterpret_cast<Scale *>(scope.Eval(name).get())->factor = factor;
  }
  void Tag(std::size_t def, const Table &table) {
    EXPECT_EQ(PyTypedMethod_TagDef(Interface(), &defs[def], type.get(), table.get(), nullptr), 1)
        << TakeError();
  }

  // Returns "TypeError: ..." if the call raises it, or "".
  std::string PythonSays(const std::string &call) {
    scope.Run("try:\n    " + call +
              "\nexcept Exception as error:\n    said = type(error).__name__ + ': ' + str(error)\n"
              "else:\n    said = ''");
    return PyUnicode_AsUTF8(scope.Eval("said").get());
  }

  Ref type;
  typedcall_test::Scope scope;
  const Table scaled_table{{"d->d", kSelf, AsAddress(scaled)}, {"f->f", 0, Address(1)}};
  const Table name_table{{"->l", kSelf, AsAddress(name_length)}};
  const Table twice_table{{"d->d", 0, AsAddress(twice)}, {"l->l", kSelf, Address(2)}};
};

TEST_F(Methods, BoundToAnInstance) {
  for (const auto &[expression, factor] : {std::pair("scale", 3.0), std::pair("sub", 5.0)}) {
    const Ref instance = scope.Eval(expression);
    const Ref method = scope.Eval(std::string(expression) + ".scaled");
    const auto found = typedcall::resolve(Interface(), method.get(), "d->d", kSelf);
    ASSERT_TRUE(found) << TakeError();
    EXPECT_EQ(found->self, instance.get());
    EXPECT_EQ(found->callable, method.get());
    EXPECT_EQ(found->defining_class, nullptr);
    const auto bound =
        typedcall::resolve<double(double)>(Interface(), method.get(), typedcall::bound());
    ASSERT_TRUE(bound) << TakeError();
    EXPECT_EQ(bound.self(), instance.get());
    EXPECT_EQ(bound(2), 2 * factor);
    EXPECT_TRUE(typedcall::find<double(double)>(Interface(), method.get(), typedcall::bound()));
  }
}

// A function with self is never converted to one without self, or vice versa.
TEST_F(Methods, SelfIsNotForgotten) {
  const Ref method = scope.Eval("scale.scaled");
  for (const typedcall::capabilities can : {std::uintptr_t{0}, kSelf, ~std::uintptr_t{0}}) {
    EXPECT_FALSE(typedcall::find<double(double)>(Interface(), method.get(), can));
    EXPECT_FALSE(typedcall::resolve<double(double)>(Interface(), method.get(), can));
    EXPECT_EQ(TakeError(),
              "TypeError: Scale.scaled does not offer 'd->d'; it offers 'd->d' (takes self), "
              "'f->f'");
  }
  EXPECT_FALSE(typedcall::find<float(float)>(Interface(), method.get(), typedcall::bound()));
  EXPECT_FALSE(typedcall::resolve<float(float)>(Interface(), method.get(), typedcall::bound()));
  EXPECT_EQ(TakeError(),
            "TypeError: Scale.scaled does not offer 'f->f'; it offers 'd->d', 'f->f' (does not "
            "take self)");
  EXPECT_TRUE(typedcall::find<float(float)>(Interface(), method.get()));
}

TEST_F(Methods, OfAClass) {
  const struct {
    const char *expression;
    long length;
  } classes[] = {{"Scale.name_length", 10}, {"Sub.name_length", 3}, {"sub.name_length", 3}};
  for (const auto &one : classes) {
    const Ref method = scope.Eval(one.expression);
    const auto bound = typedcall::resolve<long()>(Interface(), method.get(), typedcall::bound());
    ASSERT_TRUE(bound) << TakeError();
    EXPECT_TRUE(PyType_Check(bound.self()));
    EXPECT_EQ(bound(), one.length) << one.expression;
  }
}

TEST_F(Methods, Static) {
  for (const char *expression : {"Scale.twice", "Sub.twice", "scale.twice"}) {
    const Ref method = scope.Eval(expression);
    const auto function = typedcall::resolve<double(double)>(Interface(), method.get());
    ASSERT_TRUE(function) << TakeError();
    EXPECT_EQ(function(4), 8);
    const auto found = typedcall::find(Interface(), method.get(), "d->d", kSelf);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->self, nullptr);
    // CPython passes no self to static methods.
    EXPECT_FALSE(typedcall::find(Interface(), method.get(), "l->l", kSelf));
    EXPECT_FALSE(typedcall::resolve<long(long)>(Interface(), method.get(), typedcall::bound()));
    EXPECT_NE(TakeError().find("'l->l' (takes self, but this function has no self)"),
              std::string::npos);
  }
}

TEST_F(Methods, WithADefiningClass) {
  const Ref method = scope.Eval("sub.with_class"), instance = scope.Eval("sub");
  ASSERT_EQ(Py_TYPE(method.get()), &PyCMethod_Type);
  const auto found = typedcall::resolve(Interface(), method.get(), "d->d", kSelf);
  ASSERT_TRUE(found) << TakeError();
  EXPECT_EQ(found->self, instance.get());
  EXPECT_EQ(reinterpret_cast<PyObject *>(found->defining_class), type.get());
  EXPECT_EQ(typedcall::resolve<double(double)>(Interface(), method.get(), typedcall::bound())(2),
            10);

  const Ref of_class = scope.Eval("Sub.class_with_class");
  ASSERT_EQ(Py_TYPE(of_class.get()), &PyCMethod_Type);
  EXPECT_EQ(typedcall::resolve<long()>(Interface(), of_class.get(), typedcall::bound())(), 3);
}

TEST(DefiningClass, WithBits) {
  const Table table{{"l->l", 0, Address(1)}, {"d->d", kSelf, Address(2)}};
  const Builtin function(kBoth, table.get());
  PyMethodDef def = function.def;
  def.ml_flags = kMethodFlags | kBoth;
  def.ml_meth = AsCFunction(BoxedMethod);
  const Ref method = Ref::Steal(PyCMethod_New(&def, Py_None, nullptr, &PyLong_Type));
  ASSERT_TRUE(method) << TakeError();
  EXPECT_EQ(Find(nullptr, method.get(), "l->l"), "l->l 1 method metadata");
  const auto found = typedcall::find(nullptr, method.get(), "d->d", kSelf);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->self, Py_None);
  EXPECT_EQ(found->defining_class, &PyLong_Type);
}

TEST_F(Methods, UnboundAreNotFoundByThoseWhoDoNotCheck) {
  for (const char *expression : {"Scale.scaled", "Sub.scaled", "Scale.with_class"}) {
    const Ref method = scope.Eval(expression);
    ASSERT_EQ(Py_TYPE(method.get()), &PyMethodDescr_Type);
    // No entry is found, because the call in Python takes self and checks it.
    for (const char *signature : {"d->d", "f->f"}) {
      EXPECT_FALSE(typedcall::find(Interface(), method.get(), signature, ~std::uintptr_t{0}));
    }
    EXPECT_FALSE(typedcall::find<float(float)>(Interface(), method.get()));
    EXPECT_FALSE(typedcall::find<double(double)>(Interface(), method.get(), typedcall::bound()));
  }
  const Ref method = scope.Eval("Scale.scaled");
  EXPECT_EQ(Refusal(Interface(), method.get(), "d->d", kSelf),
            "TypeError: Scale.scaled is an unbound method, whose first argument is a 'test.Scale'; "
            "bind it, or ask for an unbound function; it offers 'd->d', 'f->f'");
}

TEST_F(Methods, UnboundChecksSelf) {
  for (const char *expression : {"Scale.scaled", "Sub.scaled", "Scale.with_class"}) {
    const Ref method = scope.Eval(expression);
    const auto unbound =
        typedcall::resolve<double(double)>(Interface(), method.get(), typedcall::unbound());
    ASSERT_TRUE(unbound) << TakeError();
    EXPECT_TRUE(typedcall::find<double(double)>(Interface(), method.get(), typedcall::unbound()));
    for (const auto &[name, factor] : {std::pair("scale", 3.0), std::pair("sub", 5.0)}) {
      const Ref self = scope.Eval(name);
      ASSERT_TRUE(unbound.check(self.get())) << TakeError();
      EXPECT_EQ(unbound(self.get(), 2), 2 * factor);
      const auto bound = unbound.bind(self.get());
      ASSERT_TRUE(bound);
      EXPECT_EQ(bound.self(), self.get());
      EXPECT_EQ(bound(2), 2 * factor);
    }
    for (const char *wrong : {"5", "None", "Scale", "object()", "len"}) {
      const Ref self = scope.Eval(wrong);
      EXPECT_FALSE(unbound.check(self.get()));
      const std::string said = TakeError();
      EXPECT_EQ(said, PythonSays(std::string(expression) + "(" + wrong + ", 2.0)"));
      EXPECT_NE(said, "");
      EXPECT_FALSE(unbound.bind(self.get()));
      EXPECT_EQ(TakeError(), said);
    }
    EXPECT_FALSE(unbound.check(nullptr));
    EXPECT_EQ(TakeError(), "SystemError: typedcall: self is NULL");
  }
}

TEST_F(Methods, UnboundMethodsOfAClass) {
  for (const char *expression :
       {"Scale.__dict__['name_length']", "Scale.__dict__['class_with_class']"}) {
    const Ref method = scope.Eval(expression);
    ASSERT_EQ(Py_TYPE(method.get()), &PyClassMethodDescr_Type);
    EXPECT_FALSE(typedcall::find<long()>(Interface(), method.get(), typedcall::bound()));
    const auto unbound =
        typedcall::resolve<long()>(Interface(), method.get(), typedcall::unbound());
    ASSERT_TRUE(unbound) << TakeError();
    EXPECT_EQ(unbound.bind(type.get())(), 10);
    EXPECT_EQ(unbound.bind(scope.Eval("Sub").get())(), 3);
    for (const char *wrong : {"5", "scale", "int", "object"}) {
      EXPECT_FALSE(unbound.bind(scope.Eval(wrong).get()));
      const std::string said = TakeError();
      EXPECT_EQ(said, PythonSays(std::string(expression) + "(" + wrong + ", 2.0)"));
    }
  }
  EXPECT_EQ(Refusal(Interface(), scope.Eval("Scale.__dict__['name_length']").get(), "->l", kSelf),
            "TypeError: Scale.name_length is an unbound method, whose first argument is a subclass "
            "of 'test.Scale'; bind it, or ask for an unbound function; it offers '->l'");
}

TEST_F(Methods, UnboundIsAskedOfUnboundOnly) {
  for (const char *expression : {"scale.scaled", "Scale.twice", "Scale", "len", "lambda: 0"}) {
    const Ref callable = scope.Eval(expression);
    EXPECT_FALSE(
        typedcall::find<double(double)>(Interface(), callable.get(), typedcall::unbound()));
    EXPECT_EQ(TakeError(), "");
    EXPECT_FALSE(
        typedcall::resolve<double(double)>(Interface(), callable.get(), typedcall::unbound()));
    EXPECT_NE(TakeError().find("is not an unbound method of a type; ask for a bound function"),
              std::string::npos);
    EXPECT_FALSE(typedcall::check_self(callable.get(), callable.get()));
    EXPECT_NE(TakeError().find("objects are not unbound methods"), std::string::npos);
  }
  const Ref method = scope.Eval("Scale.scaled");
  EXPECT_FALSE(typedcall::resolve<float(float)>(Interface(), method.get(), typedcall::unbound()));
  EXPECT_EQ(TakeError(),
            "TypeError: Scale.scaled does not offer 'f->f'; it offers 'd->d', 'f->f' (does not "
            "take self)");
  PyErr_SetString(PyExc_ImportError, "another version");
  EXPECT_FALSE(typedcall::resolve<float(float)>(nullptr, Py_None, typedcall::unbound()));
  EXPECT_EQ(TakeError(), "ImportError: another version");
}

// A request can state that the caller passes self.
TEST_F(Methods, UnboundInARequest) {
  const Ref method = scope.Eval("Scale.scaled");
  typedcall::request asked;
  asked.signature = "d->d";
  asked.capabilities = kSelf;
  asked.unbound = true;
  const auto found = typedcall::resolve(Interface(), method.get(), asked);
  ASSERT_TRUE(found) << TakeError();
  EXPECT_EQ(found->self, nullptr);
  EXPECT_EQ(found->callable, method.get());
  EXPECT_EQ(found->funcptr, AsAddress(scaled));
}

TEST(Modules, SelfIsTheModule) {
  static PyMethodDef module_defs[] = {{"is_module", Boxed, METH_O, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};
  static PyModuleDef module_def = {PyModuleDef_HEAD_INIT,
                                   "takes_module",
                                   nullptr,
                                   0,
                                   module_defs,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  const Table table{{"->l", kSelf, AsAddress(is_module)}};
  Ref module = Ref::Steal(PyModule_Create(&module_def));
  ASSERT_EQ(PyTypedMethod_TagDef(Interface(), &module_defs[0], module.get(), table.get(), nullptr),
            1);
  Ref function = Ref::Steal(PyObject_GetAttrString(module.get(), "is_module"));
  auto bound = typedcall::resolve<long()>(Interface(), function.get(), typedcall::bound());
  ASSERT_TRUE(bound) << TakeError();
  EXPECT_EQ(bound.self(), module.get());
  // The function keeps its dependencies alive.
  module.reset();
  function.reset();
  typedcall_test::Collect();
  EXPECT_EQ(bound(), 1);
  EXPECT_EQ(typedcall::bound_function<long()>().self(), nullptr);
}

TEST(Functions, WithoutSelf) {
  const Table table{{"l->l", kSelf, Address(1)}};
  const Builtin function(kBoth, table.get());
  EXPECT_FALSE(typedcall::find(nullptr, function.get(), "l->l", kSelf));
  EXPECT_EQ(Refusal(nullptr, function.get(), "l->l", kSelf),
            "TypeError: f does not offer 'l->l'; it offers 'l->l' (takes self, but this function "
            "has no self)");
}

// Each result holds a reference to the callable, which keeps self alive.
TEST_F(Methods, References) {
  const Ref method = scope.Eval("sub.scaled"), unbound = scope.Eval("Scale.scaled");
  const Ref self = scope.Eval("sub");
  const Py_ssize_t before[] = {Py_REFCNT(method.get()), Py_REFCNT(unbound.get()),
                               Py_REFCNT(self.get())};
  {
    const auto bound =
        typedcall::resolve<double(double)>(Interface(), method.get(), typedcall::bound());
    EXPECT_EQ(Py_REFCNT(method.get()), before[0] + 1);
    EXPECT_EQ(Py_REFCNT(self.get()), before[2] + 1);
    const auto free =
        typedcall::resolve<double(double)>(Interface(), unbound.get(), typedcall::unbound());
    EXPECT_EQ(Py_REFCNT(unbound.get()), before[1] + 1);
    const Py_ssize_t once = Py_REFCNT(free.keep_alive());
    const auto bound_later = free.bind(self.get());
    EXPECT_EQ(Py_REFCNT(free.keep_alive()), once + 1);
    EXPECT_EQ(Py_REFCNT(self.get()), before[2] + 2);
    EXPECT_FALSE(free.bind(Py_None));
    TakeError();
    EXPECT_FALSE(typedcall::find<long(long)>(Interface(), method.get(), typedcall::bound()));
    EXPECT_FALSE(typedcall::find<long(long)>(Interface(), unbound.get(), typedcall::unbound()));
  }
  EXPECT_EQ(Py_REFCNT(method.get()), before[0]);
  EXPECT_EQ(Py_REFCNT(unbound.get()), before[1]);
  EXPECT_EQ(Py_REFCNT(self.get()), before[2]);
}

// The type owns the defs, so each result keeps the type alive.
TEST(Types, AreKeptAlive) {
  static PyMethodDef own_defs[] = {{"scaled", Boxed, METH_O, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};
  const Table table{{"d->d", kSelf, AsAddress(scaled)}};
  for (const bool is_bound : {true, false}) {
    PyType_Slot slots[] = {{Py_tp_methods, own_defs}, {0, nullptr}};
    PyType_Spec spec = {"test.Short", sizeof(Scale), 0, Py_TPFLAGS_DEFAULT, slots};
    Ref type = Ref::Steal(PyType_FromSpec(&spec));
    ASSERT_EQ(PyTypedMethod_TagDef(Interface(), own_defs, type.get(), table.get(), nullptr), 1)
        << TakeError();
    typedcall_test::Scope scope;
    scope.Set("Short", type.get());
    scope.Run("import weakref\nwatch = weakref.ref(Short)\nshort = Short()\ndel Short");
    typedcall::bound_function<double(double)> bound;
    typedcall::unbound_function<double(double)> unbound;
    if (is_bound) {
      bound = typedcall::resolve<double(double)>(Interface(), scope.Eval("short.scaled").get(),
                                                 typedcall::bound());
    } else {
      const Ref method = Ref::Steal(PyObject_GetAttrString(type.get(), "scaled"));
      unbound = typedcall::resolve<double(double)>(Interface(), method.get(), typedcall::unbound());
    }
    EXPECT_TRUE(bound || unbound) << TakeError();
    type.reset();
    scope.Run("del short");
    typedcall_test::Collect();
    EXPECT_EQ(scope.Eval("watch() is None").get(), Py_False);
    bound = {};
    unbound = {};
    typedcall_test::Collect();
    EXPECT_EQ(scope.Eval("watch() is None").get(), Py_True);
  }
}

}  // namespace
