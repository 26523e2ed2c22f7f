// Uses all code that reads or writes tables of several entries. test_bounds.py compiles this file.
#include <string>

#include "tests/support/c_module.h"
#include "typedcall/call_site.h"
#include "typedcall/native_callable_slot.h"
#include "typedcall/provider.h"
#include "typedcall/tag.h"

namespace {

long last(long x) noexcept { return x + 3; }
double half(double x) noexcept { return x / 2; }
float same(float x) noexcept { return x; }

typedcall::method_table methods{typedcall::def<&half, &same, &last>("f")};

#define EXPECT(condition) \
  if (!(condition)) return PyErr_Format(PyExc_AssertionError, "line %d: %s", __LINE__, #condition)

PyObject *run(PyObject *, PyObject *callable) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == nullptr) return nullptr;
  typedcall::call_site<long(long)> site(interface);
  for (int turn = 0; turn < 2; ++turn) EXPECT(site.find(callable).get() == &last);
  EXPECT(typedcall::find(interface, callable, "q->q").has_value());
  typedcall::request safe;
  safe.signature = "h->q";
  safe.casting = typedcall::casting::safe;
  EXPECT(typedcall::find(interface, callable, safe).has_value());
  int entries = 0;
  typedcall::for_each_entry(interface, callable, [&](const auto &, auto) { ++entries; });
  EXPECT(entries == 3);
  EXPECT(!typedcall::resolve(interface, callable, "O->O"));
  PyErr_Clear();

  PyNativeCallableTables tables;
  PyNativeCallableTables_Init(&tables);
  const PyNativeCallableEntry offered[] = {{"l->l", 0, reinterpret_cast<void *>(&last)},
                                           {"d->d", 0, reinterpret_cast<void *>(&half)},
                                           {"f->f", 0, reinterpret_cast<void *>(&same)}};
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT(PyNativeCallableTables_Set(&tables, offered, 2) == 0);
    EXPECT(PyNativeCallableTables_Append(&tables, &offered[2]) == 0);
    EXPECT(PyNativeCallableTables_Append(&tables, &offered[1]) == 0);
  }
  EXPECT(tables.table->count == 3);
  EXPECT(PyNativeCallable_CheckTable(tables.table, "f") == 0);
  EXPECT(PyNativeCallable_TablesAreEqual(tables.table, tables.table));
#ifdef INDEXED  // the options must detect this fault
  const volatile Py_ssize_t third = 2;
  EXPECT(tables.table->entries[third].funcptr != nullptr);
#endif
  PyNativeCallableTables_Release(&tables);
  Py_RETURN_NONE;
}

PyMethodDef plain[] = {{"run", run, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

int exec(PyObject *module) {
  return PyModule_AddFunctions(module, plain) < 0 ? -1 : methods.tag(module);
}

}  // namespace

TEST_MODULE_EXEC(bounds, methods.defs(), exec)
