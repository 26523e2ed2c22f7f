// The extension module `typedcall.sql._sqlite`, which is a loadable extension of SQLite, too:
// loaded into a connection it adds the functions that install() has made ready in the same thread.
#include "_sqlite_values.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace {

using typedcall::native_value;
using typedcall::object_ref;
using typedcall::wide_value;
using typedcall::python::api_table;
using typedcall::python::box;
using typedcall::python::convert;
using typedcall::python::give;
using typedcall::python::give_object;
using typedcall::python::home;
using typedcall::python::kMost;
using typedcall::python::match;
using typedcall::python::overload;
using typedcall::python::set_error;
using typedcall::python::value_type;

/// One SQL function of one number of arguments. Made and destroyed with the GIL.
struct function {
  object_ref callable, kept;
  home *where;
  int arity, flags;
  std::vector<overload> overloads;

  /// Runs `body`, false with an exception, with a thread state; what was pending there stays.
  template <class Body>
  void attached(api_table &api, sqlite3_context *context, const Body &body) const {
    if (!where->attached(callable.get(), body, [&] { set_error(api, context); })) {
      api.result_error(context, "the Python interpreter has ended", -1);
    }
  }

  /// Calls the C function. False: it has no result for these.
  bool run(const overload &chosen, api_table &api, sqlite3_context *context,
           native_value *values) const {
    wide_value place;
    native_value result;
    const void *at;
    overload::outcome found = overload::outcome::result;
    if (chosen.needs_thread) {
      attached(api, context, [&] {
        found = chosen(values, &place, &result, &at);
        if (found == overload::outcome::result) give(api, context, chosen.result, at);
        return found != overload::outcome::exception;
      });
      return found != overload::outcome::none;
    }
    // A function that takes the GIL may wait for another thread to let go of it.
    const bool lets_go = chosen.has(PyNativeCallable_ACQUIRES_GIL) && PyTypedcall_IsAttached();
    PyThreadState *const thread = lets_go ? PyEval_SaveThread() : nullptr;
    found = chosen(values, &place, &result, &at);
    if (lets_go) typedcall::internal::restore_thread(thread);
    if (found == overload::outcome::none) return false;
    give(api, context, chosen.result, at);
    return true;
  }

  /// Calls Python's function: a value that the C functions do not take, or a fallback.
  __attribute__((noinline, cold)) void run_boxed(api_table &api, sqlite3_context *context,
                                                 sqlite3_value **argv) const {
    for (int i = 0; i < arity; ++i) {
      if (api.value_type(argv[i]) == SQLITE_NULL) return;
    }
    attached(api, context, [&] {
      object_ref boxed[kMost];
      PyObject *stack[kMost + 1] = {nullptr};
      const std::size_t count = static_cast<std::size_t>(arity);
      for (std::size_t i = 0; i < count; ++i) {
        boxed[i] = box(api, argv[i]);
        if (!boxed[i]) return false;
        stack[i + 1] = boxed[i].get();
      }
      const object_ref result = object_ref::steal(PyObject_Vectorcall(
          callable.get(), stack + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
      return result && give_object(api, context, result.get());
    });
  }
};

// SQLite hands a function nothing by which the SQLite could be known whose it is: Python's own and
// APSW's may be in one process. So each has callbacks of its own, as many as anybody will load.
constexpr std::size_t kLibraries = 8;
std::atomic<api_table *> libraries[kLibraries];

template <std::size_t library>
void run_sql(sqlite3_context *context, int argc, sqlite3_value **argv) {
  api_table &api = *libraries[library].load(std::memory_order_relaxed);
  const auto &self = *static_cast<const function *>(api.user_data(context));
  native_value values[kMost + 1];
  for (const overload &each : self.overloads) {
    match found = match::fits;
    native_value *next = values;
    for (int i = 0; i < argc && found == match::fits; ++i) {
      const value_type &type = each.parameters[static_cast<std::size_t>(i)];
      found = convert(api, argv[i], type, next);
      next += type.is_buffer ? 2 : 1;
    }
    if (found == match::null) return;
    if (found == match::differs) continue;
    if (self.run(each, api, context, values)) return;
    break;  // it falls back
  }
  self.run_boxed(api, context, argv);
}

using callback = void (*)(sqlite3_context *, int, sqlite3_value **);
template <std::size_t... at>
constexpr std::array<callback, sizeof...(at)> make_callbacks(std::index_sequence<at...>) {
  return {&run_sql<at>...};
}

/// The callback for an SQLite. Null: there are too many of them.
callback callback_of(api_table *api) {
  static constexpr auto all = make_callbacks(std::make_index_sequence<kLibraries>());
  for (std::size_t i = 0; i < kLibraries; ++i) {
    api_table *known = nullptr;
    if (libraries[i].compare_exchange_strong(known, api) || known == api) return all[i];
  }
  return nullptr;
}

/// SQLite does not need the function any more; in any thread.
void destroy(void *data) {
  auto *const self = static_cast<function *>(data);
  self->where->destroy(self);
}

/// What install() wants of the extension that is being loaded in its thread.
struct order {
  const char *name;
  std::vector<std::unique_ptr<function>> functions;
  bool is_taken = false;
};
thread_local order *current = nullptr;

using state = typedcall::python::state_with_home;

/// Adds one C function to `made`. False with ValueError.
bool add_overload(function *made, const char *signature, std::uintptr_t flags, std::uintptr_t at) {
  auto found = overload::make(signature, flags, at, static_cast<std::size_t>(made->arity));
  if (found) made->overloads.push_back(std::move(*found));
  return found.has_value();
}

PyObject *install(PyObject *module, PyObject *load, const char *name, PyObject *callable,
                  PyObject *kept, PyObject *groups) {
  order wanted{name, {}};
  for (Py_ssize_t i = 0; i < PyTuple_Size(groups); ++i) {
    int arity, is_pure;
    PyObject *rows;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(groups, i), "ipO!", &arity, &is_pure, &PyTuple_Type,
                          &rows)) {
      return nullptr;
    }
    wanted.functions.emplace_back(
        new function{object_ref::borrow(callable),
                     object_ref::borrow(kept),
                     typedcall::state_of<state>(module).where,
                     arity,
                     SQLITE_UTF8 | (is_pure != 0 ? SQLITE_DETERMINISTIC : 0),
                     {}});
    for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(rows); ++j) {
      const char *signature;
      unsigned long flags;
      Py_ssize_t at;
      if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, j), "skn", &signature, &flags, &at) ||
          !add_overload(wanted.functions.back().get(), signature, flags,
                        static_cast<std::uintptr_t>(at))) {
        return nullptr;
      }
    }
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  order *const outer = std::exchange(current, &wanted);
  PyObject *const result = PyObject_CallObject(load, nullptr);
  current = outer;
  if (result != nullptr && !wanted.is_taken) {
    PyErr_SetString(PyExc_RuntimeError, "the connection has loaded nothing in this thread");
    Py_DECREF(result);
    return nullptr;
  }
  return result;
}

void end(PyObject *module) { typedcall::state_of<state>(module).end(); }

using typedcall::positional;
using typedcall::takes_self;

typedcall::method_table methods{
    typedcall::def<install>(
        "install", takes_self, positional("load"), positional("name"), positional("callable"),
        positional("kept"), positional("groups"),
        "Calls load(), which loads this file into a connection of SQLite's, and gives that the "
        "functions: (arity, pure, ((signature, flags, address), ...)) of each."),
    typedcall::def<end>("end", takes_self,
                        "A subinterpreter ends: nothing is called in it any more, or let go."),
};

}  // namespace

extern "C" __attribute__((visibility("default"))) int sqlite3_extension_init(
    sqlite3 *connection, char **error, const sqlite3_api_routines *api) {
  order *const wanted = current;
  if (wanted == nullptr || wanted->is_taken) {
    *error = api->mprintf("typedcall: functions are added by typedcall.sql.register()");
    return SQLITE_ERROR;
  }
  wanted->is_taken = true;
  const callback run = api->libversion_number() < 3014000 ? nullptr : callback_of(api);
  if (run == nullptr) {
    *error = api->mprintf("typedcall: this SQLite is older than 3.14, or the ninth in the process");
    return SQLITE_ERROR;
  }
  for (auto &each : wanted->functions) {
    const int arity = each->arity, flags = each->flags;
    // SQLite destroys it in all cases, also where it does not take it.
    const int failed = api->create_function_v2(connection, wanted->name, arity, flags,
                                               each.release(), run, nullptr, nullptr, destroy);
    if (failed != SQLITE_OK) {
      *error = api->mprintf("%s", api->errmsg(connection));
      return failed;
    }
  }
  return SQLITE_OK_LOAD_PERMANENTLY;  // the same file again is the same functions
}

TYPEDCALL_MODULE_STATE(_sqlite, "Typed functions as functions of SQLite.", methods, state);
