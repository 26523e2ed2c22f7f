// Inner loops that convert elements, or choose an overload for each element.
#ifndef TYPEDCALL_PYTHON_NUMPY_CONVERTING_H_
#define TYPEDCALL_PYTHON_NUMPY_CONVERTING_H_

#include "../calling/entry_row.h"
// After Python.h.
#include <memory>
#include <utility>

#include "typedcall/calling.h"
#include "typedcall/loop.h"

namespace typedcall::python {

/// An inner loop that converts elements. The loop is immutable, and may run in any thread in which
/// its functions may.
class converting_loop {
 public:
  /// `asked` is the signature of the arrays' elements, such as "ll->i". `inner` is the loop of the
  /// overload that values of these types prefer or, if `chooses`, of any overload; `functions` are
  /// all overloads, which the loops of a ufunc share. Returns null with ValueError or MemoryError
  /// set on failure. Throws std::bad_alloc. GIL: held.
  static std::unique_ptr<converting_loop> make(const char *asked, loop inner, object_ref callable,
                                               std::shared_ptr<const calling::overloads> functions,
                                               bool chooses) {
    PyNativeSignature arrays;
    if (!typedcall::internal::check_signature(asked, &arrays)) return nullptr;
    std::unique_ptr<converting_loop> made(
        new converting_loop(std::move(inner), std::move(callable), std::move(functions)));
    if (!made->home_.set_current()) return nullptr;
    if (made->plan_.make(arrays, made->inner_.types(), chooses) && !made->plan_.is_direct())
      return made;
    PyErr_Format(PyExc_ValueError, "no loop over '%.200s' converts to the function's types", asked);
    return nullptr;
  }

  const loop &inner() const { return inner_; }
  /// Returns a borrowed reference, for tp_traverse.
  PyObject *callable() const { return callable_.get(); }
  PyNativeThreadState thread_state() const { return thread_state_of(*functions_); }

  /// Like loop::run_attached(). Must be called in the thread state that thread_state() requires.
  void run(char *const *args, const std::intptr_t *dimensions, const std::intptr_t *steps) const {
    pass_end end{this};
    calling::run_many(plan_, inner_, *functions_, callable_.get(), &end, args, dimensions[0],
                      steps);
  }

 private:
  // The exception stays pending because NumPy checks for it.
  struct pass_end {
    const converting_loop *self;
    bool is_over = false;

    bool is_attached() const { return PyNativeView_Internal_IsAttached(self->thread_state()); }
    const pass_end &where() const { return *this; }
    // Returns false if an exception is pending, because NumPy may call a loop again after an
    // exception.
    template <class Body>
    bool attached(PyObject *callable, const Body &body) const {
      return typedcall::internal::run_attached_to(self->home_, callable, [&](bool) {
        if (PyErr_Occurred() != nullptr) return false;
        body();
        return true;
      });
    }
    const char *why_detached() const { return ""; }
    void raised() { is_over = true; }
    void detached(const char *) { is_over = true; }
    void misfit(PyNativeType type) {
      is_over = true;
      attached(self->callable_.get(), [&] {
        PyErr_Format(PyExc_TypeError,
                     "which overload is called depends on the value, and its result '%s' does not "
                     "fit the array of '%s' of this loop",
                     PyNativeCode_Letters(type.code),
                     PyNativeCode_Letters(self->plan_.types.result.code));
      });
    }
    bool has_stopped() const { return is_over; }
  };

  converting_loop(loop inner, object_ref callable,
                  std::shared_ptr<const calling::overloads> functions)
      : inner_(std::move(inner)),
        functions_(std::move(functions)),
        callable_(std::move(callable)) {}

  loop inner_;
  calling::array_plan plan_;
  std::shared_ptr<const calling::overloads> functions_;
  object_ref callable_;
  typedcall::internal::home_interpreter home_;
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NUMPY_CONVERTING_H_
