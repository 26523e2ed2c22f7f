// The extension module `typedcall.sinks.sql._sqlite`, which is also a loadable SQLite extension.
// A connection that loads it gets the functions that install() has prepared in the same thread.
#include "sqlite_values.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

namespace {

using namespace typedcall::python;
namespace calling = typedcall::calling;
using typedcall::object_ref;

/// An SQL function with a fixed number of arguments. Must be created and destroyed with the GIL
/// held.
struct function {
  object_ref callable, kept;
  python_access *where;
  int arity, flags;
  calling::overloads functions;
};

/// One call to an SQL function, as the sink of typedcall's engine.
struct sqlite_call {
  api_table &api;
  sqlite3_context *context;
  sqlite3_value **argv;
  const function &self;

  argument_value argument(std::size_t i) const {
    const int kind = api.value_type(argv[i]);
    if (kind == SQLITE_FLOAT) return argument_value::real(api.value_double(argv[i]));
    return other_argument(api, argv[i], kind);
  }
  void set_result(const value_type &type, const void *at) const {
    typedcall::python::set_result(api, context, type, at);
  }
  void raised() const { set_error(api, context); }
  void detached(const char *why) const { api.result_error(context, why, -1); }
  /// True if an argument is NULL. The result must then be NULL, and already is.
  bool settles(std::size_t count) const {
    return std::any_of(argv, argv + count,
                       [this](sqlite3_value *each) { return api.value_type(each) == SQLITE_NULL; });
  }
  void fall_back(std::size_t count) {
    calling::by_boxing(self.callable.get(), *self.where, count, *this);
  }
  object_ref box(std::size_t i) const { return calling::box(argument(i)); }
  bool set_result_object(PyObject *object) const {
    return typedcall::python::set_result_object(api, context, object);
  }
};

// A process may contain several SQLite libraries, such as Python's and APSW's. Each library has its
// own callbacks, because SQLite does not tell a function which library calls it.
constexpr std::size_t kLibraries = 8;
std::atomic<api_table *> libraries[kLibraries];

template <std::size_t library>
void run_sql(sqlite3_context *context, int argc, sqlite3_value **argv) {
  api_table &api = *libraries[library].load(std::memory_order_relaxed);
  const auto &self = *static_cast<const function *>(api.user_data(context));
  sqlite_call sink{api, context, argv, self};
  calling::call(self.functions, self.callable.get(), *self.where, static_cast<std::size_t>(argc),
                sink);
}

using callback = void (*)(sqlite3_context *, int, sqlite3_value **);
template <std::size_t... at>
constexpr std::array<callback, sizeof...(at)> make_callbacks(std::index_sequence<at...>) {
  return {&run_sql<at>...};
}

/// Returns the callback for an SQLite library, or null if there are too many libraries.
callback callback_of(api_table *api) {
  static constexpr auto all = make_callbacks(std::make_index_sequence<kLibraries>());
  for (std::size_t i = 0; i < kLibraries; ++i) {
    api_table *known = nullptr;
    if (libraries[i].compare_exchange_strong(known, api) || known == api) return all[i];
  }
  return nullptr;
}

/// True if there is a function with this name and number of arguments. An existing function cannot
/// be replaced while statements run.
bool has_function(api_table &api, sqlite3 *connection, const char *name, int arity) {
  char marks[2 * kMost + 1] = "";
  for (int i = 0; i < arity; ++i) std::strcat(marks, i == 0 ? "?" : ",?");
  char *const text = api.mprintf("select \"%w\"(%s)", name, marks);
  if (text == nullptr) return false;
  sqlite3_stmt *made = nullptr;
  const bool is_there = api.prepare_v2(connection, text, -1, &made, nullptr) == SQLITE_OK;
  api.finalize(made);
  api.free(text);
  return is_there;
}

/// Adds all functions or none. Functions that SQLite may refuse come first. Returns the last
/// status.
TYPEDCALL_RARE int add_all(api_table &api, sqlite3 *connection, order_of<function> *wanted,
                           callback run) {
  auto &functions = wanted->functions;
  std::partition(functions.begin(), functions.end(), [&](const auto &each) {
    return has_function(api, connection, wanted->name, each->arity);
  });
  std::vector<int> added;
  added.reserve(functions.size());
  for (auto &each : functions) {
    const int arity = each->arity, flags = each->flags;
    // SQLite takes ownership of the function, even if SQLite refuses it.
    const int failed =
        api.create_function_v2(connection, wanted->name, arity, flags, each.release(), run, nullptr,
                               nullptr, destroy<function>);
    if (failed == SQLITE_OK) {
      added.push_back(arity);
      continue;
    }
    for (const int before : added) {
      api.create_function_v2(connection, wanted->name, before, SQLITE_UTF8, nullptr, nullptr,
                             nullptr, nullptr, nullptr);
    }
    return failed;
  }
  return SQLITE_OK;
}

// The extension is loaded in the thread of install().
using order = order_of<function>;
thread_local order *current = nullptr;

TYPEDCALL_RARE PyObject *install(PyObject *module, PyObject *load, const char *name,
                                 PyObject *callable, PyObject *kept, PyObject *groups) {
  order wanted{name, {}};
  for (Py_ssize_t i = 0; i < PyTuple_Size(groups); ++i) {
    group each;
    if (!each.read(PyTuple_GET_ITEM(groups, i))) return nullptr;
    wanted.functions.emplace_back(new function{
        object_ref::borrow(callable), object_ref::borrow(kept),
        typedcall::state_of<state>(module).where, each.arity,
        SQLITE_UTF8 | (each.is_pure != 0 ? SQLITE_DETERMINISTIC : 0), std::move(each.functions)});
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  order *const outer = std::exchange(current, &wanted);
  PyObject *const result = PyObject_CallObject(load, nullptr);
  current = outer;
  if (result != nullptr && !wanted.is_done) {
    PyErr_SetString(PyExc_RuntimeError,
                    "the connection has not loaded the extension in this thread");
    Py_DECREF(result);
    return nullptr;
  }
  return result;
}

typedcall::method_table methods = methods_of<install>();

}  // namespace

extern "C" __attribute__((visibility("default"))) int sqlite3_extension_init(
    sqlite3 *connection, char **error, const sqlite3_api_routines *api) {
  order *const wanted = current;
  if (wanted == nullptr || wanted->is_done) {
    *error = api->mprintf("typedcall: functions are added by typedcall.sql.register()");
    return SQLITE_ERROR;
  }
  wanted->is_done = true;
  const callback run = api->libversion_number() < 3014000 ? nullptr : callback_of(api);
  if (run == nullptr) {
    *error = api->mprintf("typedcall: this SQLite is older than 3.14, or the ninth in the process");
    return SQLITE_ERROR;
  }
  const int failed = add_all(*api, connection, wanted, run);
  if (failed != SQLITE_OK) {
    *error = api->mprintf("%s", api->errmsg(connection));
    return failed;
  }
  return SQLITE_OK_LOAD_PERMANENTLY;  // the extension stays loaded
}

TYPEDCALL_MODULE_STATE(_sqlite, "Adds typed functions to SQLite's connections.", methods.required(),
                       state);
