// Code shared by the extension modules of typedcall.sinks.sql. install() requests
// functions. The extension that the database loads adds them.
#ifndef TYPEDCALL_PYTHON_SQL_FUNCTIONS_H_
#define TYPEDCALL_PYTHON_SQL_FUNCTIONS_H_

#include "typedcall/provider.h"
// After Python.h.
#include "typedcall/calling.h"

#include "../../calling/entry_row.h"
#include "../../calling/error_text.h"
#include "../../calling/python_access.h"

#include <memory>
#include <vector>

namespace typedcall::python {

using calling::value_type;
constexpr std::size_t kMost = PyNativeSignature_MAX_ARGS;

/// A request from install() to the extension that is being loaded.
template <class Function>
struct order_of {
  const char *name;
  std::vector<std::unique_ptr<Function>> functions;
  bool is_done = false;
};

/// The entries for one number of arguments, from typedcall/sinks/sql/__init__.py. Entries for other
/// numbers may be included, because an overload is chosen among all entries.
struct group {
  int arity = 0, is_pure = 0;
  PyObject *rows = nullptr;
  calling::overloads functions;

  /// Reads a group. On failure, returns false with an exception set.
  bool read(PyObject *from) {
    return PyArg_ParseTuple(from, "ipO!", &arity, &is_pure, &PyTuple_Type, &rows) &&
           read_entries(rows, "SQL", &functions);
  }
};

/// The database engine calls this, in any thread, when it no longer needs the Function.
template <class Function>
void destroy(void *data) {
  auto *const self = static_cast<Function *>(data);
  self->where->destroy(self);
}

using state = state_with_access;

inline void end(PyObject *module) { state_of<state>(module).end(); }

template <auto install>
auto methods_of() {
  return method_table{
      def<install>("install", takes_self, positional("load"), positional("name"),
                   positional("callable"), positional("kept"), positional("groups"),
                   "Calls load(), which loads this file into a database, and adds the functions: "
                   "(arity, pure, ((signature, flags, address), ...)) for each."),
      def<end>(
          "end", takes_self,
          "Call at the end of a subinterpreter: no function runs or is destroyed in it any more."),
  };
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_SQL_FUNCTIONS_H_
