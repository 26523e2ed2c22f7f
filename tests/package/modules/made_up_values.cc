// A sink of values: calls typed functions for a made-up runtime. See "A sink" in CONTRIBUTING.md.
#include "typedcall/provider.h"
// After Python.h.
#include "calling/entry_row.h"
#include "calling/error_text.h"
#include "calling/python_access.h"
#include "made_up_runtime.h"

namespace {

using namespace typedcall::python;
using typedcall::object_ref;
using typedcall::calling::argument_value;

struct typed_function {
  object_ref callable, kept;
  python_access *where;
  typedcall::calling::overloads functions;
};

argument_value argument_value_of_array(const made_up::value &from) {
  constexpr PyNativeKind kinds[] = {PyNativeKind_BOOL, PyNativeKind_SIGNED, PyNativeKind_UNSIGNED,
                                    PyNativeKind_FLOATING};
  argument_value made = argument_value::bytes(from.elements, from.count);
  made.element = kinds[from.of];
  made.element_size = static_cast<std::uint16_t>(from.element_size);
  made.is_const = from.is_const;
  return made;
}

/// One call. typedcall/calling.h says what the members are for.
struct call_of {
  const typed_function &self;
  const made_up::value *arguments;
  made_up::value *result;
  argument_value argument(std::size_t i) const {
    const made_up::value &from = arguments[i];
    switch (from.is) {
      case made_up::kind::truth:
        return argument_value::boolean(from.integer != 0);
      case made_up::kind::integer:
        return argument_value::integer(from.integer);
      case made_up::kind::real:
        return argument_value::real(from.real);
      case made_up::kind::text:
        return argument_value::text(from.text.c_str(), from.text.size());
      case made_up::kind::bytes:
        return argument_value::bytes(from.text.c_str(), from.text.size());
      case made_up::kind::array:
        return argument_value_of_array(from);
      default:
        return argument_value::nothing();
    }
  }
  void set_result(const typedcall::calling::value_type &type, const void *at) const {
    const argument_value value = typedcall::calling::argument_value_of(type, at);
    const auto integer = static_cast<std::int64_t>(value.bits);
    const auto real = typedcall::native_value{value.bits}.get<double>();
    if (value.kind == PyNativeArgumentKind_BOOL) *result = {made_up::kind::truth, integer};
    if (value.kind == PyNativeArgumentKind_INT) *result = {made_up::kind::integer, integer};
    if (value.kind == PyNativeArgumentKind_FLOAT) *result = {made_up::kind::real, 0, real};
    if (value.kind == PyNativeArgumentKind_STR) *result = {made_up::kind::text, 0, 0, value.utf8()};
    const bool is_too_large = value.kind == PyNativeArgumentKind_INT && value.size != 0;
    if (is_too_large) detached("OverflowError: the runtime has no such integer");
  }
  void raised() const {
    const error_text said;
    typedcall::internal::clear_exception();
    detached(said.get());
  }
  void detached(const char *why) const { *result = {made_up::kind::error, 0, 0, why}; }
  bool settles(std::size_t) const { return false; }
  void fall_back(std::size_t count) {
    typedcall::calling::by_boxing(self.callable.get(), *self.where, count, *this);
  }
  object_ref box(std::size_t i) const {
    const made_up::value &from = arguments[i];
    if (from.is == made_up::kind::nothing) return object_ref::borrow(Py_None);
    if (from.is != made_up::kind::array) return typedcall::calling::box(argument(i));
    const object_ref bytes = object_ref::steal(PyMemoryView_FromMemory(
        static_cast<char *>(from.elements), static_cast<Py_ssize_t>(from.count * from.element_size),
        from.is_const ? PyBUF_READ : PyBUF_WRITE));
    return object_ref::steal(PyObject_CallMethod(bytes.get(), "cast", "s", from.letters));
  }
  bool set_result_object(PyObject *object) const {
    made_up::views none;
    return made_up::convert(object, &none, result);
  }
};

void run(void *data, const made_up::value *arguments, std::size_t count, made_up::value *result) {
  const auto &self = *static_cast<const typed_function *>(data);
  call_of sink{self, arguments, result};
  typedcall::calling::call(self.functions, self.callable.get(), *self.where, count, sink);
}

void destroy(void *data) {
  auto *const self = static_cast<typed_function *>(data);
  self->where->destroy(self);
}

PyObject *function(PyObject *module, PyObject *callable, PyObject *kept, PyObject *rows) {
  auto made = std::make_unique<typed_function>();
  made->callable = object_ref::borrow(callable);
  made->kept = object_ref::borrow(kept);
  made->where = typedcall::state_of<state_with_access>(module).where;
  if (!read_entries(rows, "the made-up runtime", &made->functions)) return nullptr;
  return made_up::object_of(made_up::function{run, destroy, made.release()});
}

void end(PyObject *module) { typedcall::state_of<state_with_access>(module).end(); }

typedcall::method_table methods{typedcall::def<function>("function", typedcall::takes_self),
                                typedcall::def<made_up::call>("call"),
                                typedcall::def<end>("end", typedcall::takes_self)};

}  // namespace

TYPEDCALL_MODULE_STATE(made_up_values, "A sink of values.", methods.required(), state_with_access);
