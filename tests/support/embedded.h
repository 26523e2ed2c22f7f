// Functions for GoogleTest programs that embed an interpreter. //tests/support:embedded_main
// provides main().
#ifndef TYPEDCALL_TESTS_SUPPORT_EMBEDDED_H_
#define TYPEDCALL_TESTS_SUPPORT_EMBEDDED_H_

#include <Python.h>

#include <string>
#include <utility>

namespace typedcall_test {

/// Starts the interpreter that PYTHON_BIN names. Ends the process on failure.
void StartPython();

/// Ends the interpreter and returns the result of Py_FinalizeEx(): 0, or -1 on failure.
int StopPython();

/// An owning reference. GIL: held for everything except moves.
class Ref {
 public:
  Ref() = default;
  Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref &operator=(Ref &&other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  /// Steals a new reference, which may be NULL.
  static Ref Steal(PyObject *object) { return Ref(object); }
  /// Adds a reference to a borrowed object, which may be NULL.
  static Ref Borrow(PyObject *object) {
    Py_XINCREF(object);
    return Ref(object);
  }

  PyObject *get() const { return object_; }
  PyTypeObject *type() const { return reinterpret_cast<PyTypeObject *>(object_); }
  explicit operator bool() const { return object_ != nullptr; }
  void reset() { Py_CLEAR(object_); }
  PyObject *release() { return std::exchange(object_, nullptr); }

 private:
  explicit Ref(PyObject *object) : object_(object) {}
  PyObject *object_ = nullptr;
};

/// A METH_O function that returns its argument.
inline PyObject *Boxed(PyObject *, PyObject *argument) {
  Py_INCREF(argument);
  return argument;
}

/// Returns a module with the functions of a method table, or an empty reference with an exception
/// set. The module is not in sys.modules.
template <class Methods>
Ref ModuleOf(Methods &methods) {
  static PyModuleDef def = {
      PyModuleDef_HEAD_INIT, "m", nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr};
  def.m_methods = methods.defs();
  Ref module = Ref::Steal(PyModule_Create(&def));
  if (module && methods.tag(module.get()) < 0) module.reset();
  return module;
}

/// A dictionary for Python code. An exception is a test failure, and is printed and cleared.
class Scope {
 public:
  Scope();
  void Set(const char *name, PyObject *borrowed);
  /// Runs statements. Returns false if an exception is raised.
  bool Run(const std::string &code);
  /// Returns the value of an expression or variable.
  Ref Eval(const std::string &expression);

 private:
  Ref globals_;
};

/// Clears the pending exception and returns it as "TypeName: text", or "" if there is none.
std::string TakeError();

/// Calls gc.collect() until it finds nothing more.
void Collect();

/// Returns true if this build frees unused classes. Free-threaded 3.13 never frees a class after a
/// second thread has run.
bool ClassesCanDie();

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_SUPPORT_EMBEDDED_H_
