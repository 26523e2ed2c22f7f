// The extension module `typedcall.sinks.sql._duckdb`. A copy of the module is also a DuckDB
// extension. When a database loads the copy, the copy adds the functions that install() prepared.
#include "duckdb_call.h"

#include <pthread.h>

#include <atomic>
#include <utility>

namespace {

using namespace typedcall::python;
using duckdb::function;
using duckdb::handle;
using typedcall::object_ref;
duckdb::api &api = duckdb::library;

// The extension may be loaded in any thread. to_duckdb.py prevents concurrent loads.
using order = order_of<function>;
std::atomic<order *> current{nullptr};
// No load is in progress in a forked child.
const int forgets = pthread_atfork(nullptr, nullptr, [] { current = nullptr; });

std::atomic<function *> unneeded{nullptr};

/// GIL: held.
int release_unneeded(void *) {
  function *each = unneeded.exchange(nullptr);
  while (each != nullptr) delete std::exchange(each, each->next);
  return 0;
}

/// DuckDB calls this when it no longer needs the function. The function is destroyed when Python
/// code runs next, because a Python destructor would wait for locks that DuckDB may hold.
void destroy_later(void *data) {
  auto *const self = static_cast<function *>(data);
  if (self->where->has_ended()) return;
  if (!self->where->is_main()) return self->where->destroy(self);
  self->next = unneeded.load();
  while (!unneeded.compare_exchange_weak(self->next, self)) {
  }
  // If this cannot be scheduled, the function is destroyed with the next one or by the next
  // install().
  Py_AddPendingCall(release_unneeded, nullptr);
}

void add(handle set, const char *name, std::unique_ptr<function> each) {
  handle made = api.create_scalar_function();
  api.set_name(made, name);
  const auto with_type = [made](auto setter, int type) {
    handle logical = api.create_logical_type(type);
    setter(made, logical);
    api.destroy_logical_type(&logical);
  };
  for (const int type : each->types) with_type(api.add_parameter, type);
  with_type(api.set_return_type, duckdb::type_of(each->result));
  if (!each->is_pure) api.set_volatile(made);
  api.set_function(made, duckdb::run_sql);
  api.set_extra_info(made, each.release(), destroy_later);
  api.add_to_set(set, made);
  api.destroy_scalar_function(&made);
}

/// Adds the functions to the database. Returns null, or an error message.
TYPEDCALL_RARE const char *add_all(handle database, order *wanted) {
  handle connection;
  if (api.connect(database, &connection) != 0) return "typedcall: cannot connect to the database";
  handle set = api.create_function_set(wanted->name);
  for (auto &each : wanted->functions) add(set, wanted->name, std::move(each));
  const bool is_done = api.register_set(connection, set) == 0;
  api.destroy_function_set(&set);
  api.disconnect(&connection);
  return is_done
             ? nullptr
             : "typedcall: DuckDB does not take it; does an aggregate or a macro have that name?";
}

TYPEDCALL_RARE PyObject *install(PyObject *module, PyObject *load, const char *name,
                                 PyObject *callable, PyObject *kept, PyObject *groups) {
  order wanted{name, {}};
  python_access *const where = typedcall::state_of<state>(module).where;
  release_unneeded(nullptr);
  for (Py_ssize_t i = 0; i < PyTuple_Size(groups); ++i) {
    group each;
    if (!each.read(PyTuple_GET_ITEM(groups, i))) return nullptr;
    const auto count = static_cast<std::size_t>(each.arity);
    for (const auto &types : duckdb::lists_of(each.functions, count)) {
      auto made = std::make_unique<function>();
      made->callable = object_ref::borrow(callable);
      made->called = callable;
      made->kept = object_ref::borrow(kept);
      made->where = where;
      made->types = types;
      made->is_pure = each.is_pure != 0;
      if (!made->make(each.functions, each.rows)) return nullptr;
      wanted.functions.push_back(std::move(made));
    }
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  order *const outer = current.exchange(&wanted);  // restored below for an outer install()
  const object_ref result = object_ref::steal(PyObject_CallObject(load, nullptr));
  current = outer;
  if (wanted.is_done) {
    // Only an instance of Exception may be cleared here. An interrupt, for example, must propagate.
    if (!result && !PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  if (result) PyErr_SetString(PyExc_RuntimeError, "the database has not loaded the extension");
  return nullptr;
}

typedcall::method_table methods = methods_of<install>();

}  // namespace

/// DuckDB loads an extension only once into a database, but retries after a failure. This function
/// always reports a failure, so that more functions can be added later.
extern "C" __attribute__((visibility("default"))) bool typedcall_sql_init_c_api(
    handle info, const duckdb::access *access) {
  order *const wanted = current.exchange(nullptr);
  if (wanted == nullptr) {
    access->set_error(info, "typedcall: functions are added by typedcall.sql.register()");
    return false;
  }
  const void *const table = access->get_api(info, "v1.2.0");
  if (table == nullptr) return false;
  const duckdb::api found = duckdb::api::of(table);
  if (api.get_extra_info != nullptr && found.get_extra_info != api.get_extra_info) {
    access->set_error(info, "typedcall: there is another DuckDB in the process");
    return false;
  }
  if (api.get_extra_info == nullptr) api = found;  // set once; queries read it in other threads
  const handle *const database = access->get_database(info);
  if (database == nullptr) return false;
  const char *const why = add_all(*database, wanted);
  wanted->is_done = why == nullptr;
  access->set_error(info, why != nullptr ? why : "typedcall: the functions are added");
  return false;
}

TYPEDCALL_MODULE_STATE(_duckdb, "Adds typed functions to DuckDB's databases.", methods.required(),
                       state);
