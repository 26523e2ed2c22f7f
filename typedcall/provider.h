// The C++ provider: what the author of a module uses, in the order of need. Each typedcall::def()
// makes the Python wrapper and the tagged def of a function.
//
//   long inc(long x) noexcept { return x + 1; }
//   static typedcall::method_table methods{typedcall::def<inc>("inc", "Add one.")};
//   TYPEDCALL_MODULE(mymodule, "Adds.", methods);
//
//   def                            a method from functions
//   pure, takes_self, may_raise    effects: what a function's type does not show (base/effects.h)
//   method_table                   the methods of a module
//   TYPEDCALL_MODULE               the module; also TYPEDCALL_MODULE_WITHOUT_GIL
//   arg, positional, keyword_only  names and defaults of parameters
//   span                           an array as a parameter (base/span.h)
//   spans                          the same for a C function's pointer and count
//   error_value                    the result with an exception set (base/error_value.h)
//   set_exception_translator       translates the module's C++ exceptions (convert/exceptions.h)
//   run_python                     runs Python code in a noexcept function (base/gil.h)
//   otherwise                      Python's result if the function has none
//   type_method_table              the methods of a type
//   TYPEDCALL_MODULE_STATE         a module with a state: module_state, state_of
//
// Only functions that run no Python code should be `noexcept`. Others can have typedcall::nothrow.
#ifndef TYPEDCALL_PROVIDER_H_
#define TYPEDCALL_PROVIDER_H_

#if defined(Py_LIMITED_API) || defined(Py_TARGET_ABI3T)
#error \
    "typedcall/provider.h needs the full API: it looks into builtin functions and method descriptors"
#endif

#include "typedcall/base/with_exceptions.h"

#include "typedcall/base/effects.h"
#include "typedcall/base/error_value.h"
#include "typedcall/base/gil.h"
#include "typedcall/base/namespace.h"
#include "typedcall/base/span.h"
#include "typedcall/convert/exceptions.h"
#include "typedcall/provider/def.h"
#include "typedcall/provider/method_table.h"
#include "typedcall/provider/module.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// One method def, before it is stored in a table.
using method = internal::method;

/// Returns a method def for one function, or for several functions as overloads: def<inc>("inc"),
/// def<abs_long, abs_double>("abs"). `name` is a string literal of at most 99 bytes. The name may
/// be followed by these extras, in any order:
///
/// - effects (base/effects.h), combined with `|`. They apply to all overloads;
/// - the documentation, a string literal. A text signature (`inspect.signature`) or a list of
///   overloads is added, unless the documentation starts with a text signature ("name($module, x,
///   /)\n--\n\n");
/// - typedcall::otherwise<slow>, for a single function that falls back. If the function has no
///   result, `slow` computes Python's result;
/// - the names and defaults of all parameters, in order: def<power>("power",
///   typedcall::positional("x"), typedcall::arg("y") = 2.0). Overloads share names and defaults,
///   and must have the same number of parameters. Parameters after typedcall::keyword_only are
///   passed by name only.
///
/// A function is also offered without the last parameters if they have defaults. For example, the
/// function power above is offered as `dd->d` and, with y = 2.0, as `d->d`. If several overloads
/// then take the same arguments, only the first is offered.
///
/// A single function takes every argument that can be converted to its parameters (convert/).
/// Overloads with exactly the types of the arguments are preferred. Next come overloads that take
/// base classes of these types (an int for a bool), and then overloads that require conversions. An
/// overload is only as good as its worst argument. Passing an object as `PyObject *` is a
/// conversion.
///
/// For a Python float, `double` is preferred to `float`.
///
/// Overloads whose integers differ only in width or sign have equal ranks. If an int is out of
/// range for an overload, the next overload is tried. For example, with def<f32, f64>("f"), f(1)
/// calls f32 and f(1 << 40) calls f64. An int that was out of range is not converted to a floating
/// type, because this would lose digits. If no overload is left, OverflowError is raised. The next
/// overload is also tried if an object does not export a suitable buffer. Exceptions from
/// `__index__`, `__float__`, `__complex__` or `__buffer__` (except BufferError) propagate. These
/// methods may be called once for each overload that is tried.
///
/// Two defs of the same functions share a wrapper, so the error messages of both contain the name
/// of only one of them.
///
/// For the types, see convert/c_type.h. For Python callers, (complex) `long double` results are
/// rounded. Entries of such functions have PyNativeCallable_DIFFERS. If `Py_ssize_t` is long and
/// `size_t` is unsigned long, the signature contains `l` and `L`. These codes also match requests
/// for `n` and `N`.
///
/// A function that may throw may also set a Python exception and return any value. Use `nothrow`
/// for a function that does not throw but runs Python code. If such a function were `noexcept`, the
/// process could be terminated when the interpreter ends (see base/gil.h).
template <auto... Functions, std::size_t Length, class... Extras, class File = internal::this_file>
TYPEDCALL_IN_LINE inline method def(const char (&name)[Length], const Extras &...extras) {
  return internal::make_def<File, Functions...>(name, extras...);
}

/// The defs of a module and their metadata. Must be `static`, because modules keep pointers to it.
///
/// `PyMethodDef *defs()` is for PyModuleDef::m_methods. `int tag(PyObject *module) const` adds the
/// defs to the side table of the interpreter. Call tag() from Py_mod_exec, once for each module
/// object. If the interface cannot be used, tag() issues one RuntimeWarning, and the functions are
/// called boxed: see PyTypedcall_ImportForTags. Returns 0, or -1 with an exception set. Raises
/// ValueError for invalid parameter names, and SystemError for a def that def() rejected. GIL:
/// held. TYPEDCALL_MODULE does both.
///
/// `required()` is for a module whose purpose is typed calls: TYPEDCALL_MODULE(name, doc,
/// methods.required()). Returns the table, whose tag() then raises ImportError instead of warning.
template <std::size_t Count>
class method_table : public internal::table_of<Count> {
 public:
  template <class... Methods>
  TYPEDCALL_IN_LINE explicit method_table(const Methods &...methods)
      : internal::table_of<Count>(false, methods...) {}
};

template <class... Methods>
explicit method_table(const Methods &...) -> method_table<sizeof...(Methods)>;

/// Names a parameter that is passed by position or by name. With `arg("y") = 2.0`, callers may omit
/// the argument. The default of an object or pointer must be `nullptr`, which is None. `name` and a
/// default string must be literals or live as long as the process. If the name is invalid or not
/// unique, importing the module raises ValueError.
constexpr internal::parameter<internal::passing::either, internal::no_default> arg(
    const char *name) {
  return {name, {}};
}

constexpr void arg(std::nullptr_t) = delete;

/// Names a parameter that is passed by position only. The name appears in the documentation. A
/// default is set as with arg().
constexpr internal::parameter<internal::passing::by_position, internal::no_default> positional(
    const char *name) {
  return {name, {}};
}
constexpr void positional(std::nullptr_t) = delete;

/// Parameters after keyword_only are passed by name only, like those after `*` in Python.
///   typedcall::def<root>("root", arg("x"), typedcall::keyword_only, arg("tolerance") = 1e-9)
/// Parameters with and without defaults may be mixed after keyword_only.
inline constexpr internal::keyword_only_mark keyword_only{};

/// Replaces each pointer and the Py_ssize_t after it with one Python argument, a buffer. For
/// `double norm(const double *, Py_ssize_t)`, `def<spans<norm>>("norm")` offers "*kd->d". A
/// `const char *` becomes a text.
template <auto Function>
inline constexpr auto spans = &internal::spanned_function<Function>::call;

/// Computes Python's result if the function of the def has no result:
///
///     std::optional<double> root(double x) noexcept;  // empty if x < 0
///     double no_root(double x) { throw std::domain_error("a root of " + std::to_string(x)); }
///     typedcall::def<root>("root", typedcall::otherwise<no_root>)
///
/// `Function` has the parameters of the def's function. It returns the same type of value, or a new
/// reference as a `PyObject *`. It may throw or set an exception. It is called with the GIL held.
/// Without otherwise<>, raises ValueError, or the exception of a function that throws to fall back.
template <auto Function>
inline constexpr internal::otherwise_is<Function> otherwise{};

/// The defs of the methods of a type, including class methods and static methods. Must be `static`.
/// Types in different interpreters can share a table:
///
///     static typedcall::type_method_table methods{
///         typedcall::def<length>("length", typedcall::takes_self)};
///     PyType_Slot slots[] = {{Py_tp_methods, methods.defs()}, ...};
///     PyObject *type = PyType_FromModuleAndSpec(module, &spec, nullptr);
///     if (type == nullptr || methods.tag(type) < 0) ...
///
/// CPython checks the type of self before it calls a method. Callers of an entry must do the same.
template <std::size_t Count>
class type_method_table : public internal::table_of<Count> {
 public:
  template <class... Methods>
  TYPEDCALL_IN_LINE explicit type_method_table(const Methods &...methods)
      : internal::table_of<Count>(true, methods...) {}
};

template <class... Methods>
explicit type_method_table(const Methods &...) -> type_method_table<sizeof...(Methods)>;

/// The base class of a module's state, for TYPEDCALL_MODULE_STATE. Derived classes may replace its
/// members.
///
///     struct state : typedcall::module_state {
///       typedcall::object_ref cache;
///       int exec(PyObject *module) {  // returns 0, or -1 with an exception; may throw
///         cache = typedcall::object_ref::steal(PyDict_New());
///         return cache ? 0 : -1;
///       }
///       int traverse(visitproc visit, void *arg) const noexcept {  // visits all references
///         Py_VISIT(cache.get());
///         return 0;
///       }
///       void clear() { cache.reset(); }  // only if nothing else can break a cycle; may throw
///     };
///
/// A state is constructed when the module is executed, and destroyed with the module. Each
/// interpreter has its own module. GIL: held in all these calls. Functions of the module may still
/// be called after clear(). Define the class in an unnamed namespace, because another module may
/// have a class of the same name.
struct module_state {
  /// True if several threads may call the functions of the module at once. A free-threaded CPython
  /// then keeps the GIL disabled.
  static constexpr bool runs_without_gil = false;
  /// True if several interpreters, including those with their own GIL, may import the module.
  static constexpr bool supports_interpreters = true;

  int exec(PyObject *) { return 0; }
  int traverse(visitproc, void *) const noexcept { return 0; }
  void clear() {}
};

/// Returns the state of the module that `self` belongs to. `self` is the first argument of a
/// function or method with typedcall::takes_self. The class of an object must have been made by
/// PyType_FromModuleAndSpec, or be a subclass of such a class. If several bases belong to modules
/// with this state, the first class in the MRO is used.
///
/// For other objects, throws an exception that becomes TypeError. For a module that has not been
/// executed, throws an exception that becomes RuntimeError. GIL: held.
template <class State>
TYPEDCALL_HIDDEN State &state_of(PyObject *self) {
  using memory = internal::module_memory<State>;
  State *const state = memory::state_of(internal::module_of(self, memory::free));
  if (state == nullptr) internal::throw_not_executed();
  return *state;
}

/// Like state_of(PyObject *), for a pointer to the struct of the object.
template <class State, class Object>
TYPEDCALL_HIDDEN State &state_of(Object *self) {
  return state_of<State>(reinterpret_cast<PyObject *>(self));
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

/// Defines the extension module `name` with the functions of the method_table `methods`. The module
/// uses multi-phase initialisation and supports several interpreters. A module that needs more can
/// define its own PyModuleDef with methods.defs(), and call methods.tag(module) from Py_mod_exec.
/// On free-threaded builds, importing the module enables the GIL.
#define TYPEDCALL_MODULE(name, doc, methods) \
  TYPEDCALL_INTERNAL_STATELESS(name, doc, methods, typedcall::module_state)

/// Like TYPEDCALL_MODULE, for a module whose functions may all run in several threads at once. On
/// free-threaded builds, the GIL stays disabled. On PyPy, typedcall.accelerate() calls all
/// functions through cffi.
#define TYPEDCALL_MODULE_WITHOUT_GIL(name, doc, methods) \
  TYPEDCALL_INTERNAL_STATELESS(name, doc, methods,       \
                               typedcall::internal::without_gil_too<typedcall::module_state>)

/// Like TYPEDCALL_MODULE, with a module state. `State` is a class derived from
/// typedcall::module_state. Functions with typedcall::takes_self can get the state with
/// typedcall::state_of<State>(self).
#define TYPEDCALL_MODULE_STATE(name, doc, methods, State)                        \
  TYPEDCALL_INTERNAL_MODULE(name, doc, methods, State,                           \
                            sizeof(typedcall::internal::module_memory<State>),   \
                            typedcall::internal::module_memory<State>::exec,     \
                            typedcall::internal::module_memory<State>::traverse, \
                            typedcall::internal::module_memory<State>::clear,    \
                            typedcall::internal::module_memory<State>::free)

#endif  // TYPEDCALL_PROVIDER_H_
