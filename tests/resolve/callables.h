// Callables for the tests of the resolver.
#ifndef TYPEDCALL_TESTS_RESOLVE_CALLABLES_H_
#define TYPEDCALL_TESTS_RESOLVE_CALLABLES_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/embedded.h"
#include "typedcall/resolve.h"
#include "typedcall/tag.h"

namespace resolve_test {

using typedcall_test::Ref;
using typedcall_test::TakeError;

constexpr int kTyped = 0x1000, kExtended = 0x2000, kBoth = kTyped | kExtended;

// Returns an address that is never called.
inline void *Address(std::uintptr_t number) { return reinterpret_cast<void *>(number); }

// Makes a module from a method table and returns its function `name`.
template <class Methods>
Ref FunctionOf(Methods &methods, const char *name) {
  return Ref::Steal(PyObject_GetAttrString(typedcall_test::ModuleOf(methods).get(), name));
}

// A PyNativeCallableTable with any number of entries.
class Table {
 public:
  Table(std::initializer_list<PyNativeCallableEntry> entries)
      : words_(1 + entries.size() * sizeof(PyNativeCallableEntry) / sizeof(std::uintptr_t)) {
    const Py_ssize_t count = static_cast<Py_ssize_t>(entries.size());
    std::memcpy(words_.data(), &count, sizeof(count));
    if (count != 0) {
      std::memcpy(words_.data() + 1, entries.begin(), entries.size() * sizeof(*entries.begin()));
    }
  }
  const PyNativeCallableTable *get() const {
    return reinterpret_cast<const PyNativeCallableTable *>(words_.data());
  }

 private:
  std::vector<std::uintptr_t> words_;
};

inline PyObject *Boxed(PyObject *, PyObject *) { Py_RETURN_NONE; }

// A builtin function with its own def and metadata.
class Builtin {
 public:
  explicit Builtin(int bits, const PyNativeCallableTable *table = nullptr, PyObject *self = nullptr)
      : def{metadata.pypy.ml_name, Boxed, METH_O | bits, nullptr},
        object(Ref::Steal(PyCFunction_New(&def, self))) {
    metadata.table = table;
  }
  Builtin(const Builtin &) = delete;
  Builtin &operator=(const Builtin &) = delete;

  PyObject *get() const { return object.get(); }
  void SetPyPy(int *arg_types, int ret_type, void *function) {
    metadata.pypy.arg_types = arg_types;
    metadata.pypy.ret_type = ret_type;
    metadata.pypy.underlying_func = function;
    // Readers check the padding, which is only certain to be 0 in static data.
    std::memset(reinterpret_cast<char *>(&metadata.pypy.ret_type) + sizeof(int), 0, sizeof(int));
  }

  PyTypedMethodMetadata metadata = {
      nullptr, nullptr, PyTypedMethod_SIZE, 1, 0, PyTypedMethod_MAGIC, {nullptr, 0, nullptr, "f"}};
  PyMethodDef def;
  Ref object;
};

// Returns a function written in Python, without a table.
inline Ref PythonFunction() {
  typedcall_test::Scope scope;
  scope.Run("def python_function(x): return x");
  return scope.Eval("python_function");
}

inline const PyTypedcall_Interface *Interface() {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  EXPECT_NE(interface, nullptr) << TakeError();
  return interface;
}

// The messages of resolve() for callables without a table.
constexpr char kPythonFunction[] =
    ": it is a Python function, which has no C function behind it; call it boxed";
constexpr char kUntagged[] =
    ": it has no tag: tag it with typedcall.tag() in Python, typedcall/tag.h in C";

// Returns the result of find() as "signature number place" or "nothing".
inline std::string Find(const PyTypedcall_Interface *interface, PyObject *callable,
                        const char *signature, typedcall::capabilities can = 0) {
  const auto found = typedcall::find(interface, callable, signature, can);
  EXPECT_EQ(TakeError(), "");
  if (!found) return "nothing";
  EXPECT_EQ(found->callable, callable);
  return std::string(found->signature.c_str()) + " " +
         std::to_string(reinterpret_cast<std::uintptr_t>(found->funcptr)) + " " +
         typedcall::describe(found->place);
}

// Returns the text of the exception of resolve(), which must find nothing.
inline std::string Refusal(const PyTypedcall_Interface *interface, PyObject *callable,
                           const char *signature, typedcall::capabilities can = 0) {
  const auto found = typedcall::resolve(interface, callable, signature, can);
  EXPECT_FALSE(found.has_value());
  return TakeError();
}

}  // namespace resolve_test

#endif  // TYPEDCALL_TESTS_RESOLVE_CALLABLES_H_
