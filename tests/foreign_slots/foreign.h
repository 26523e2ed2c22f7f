// A fixture that registers, removes and looks up foreign slots.
#ifndef TYPEDCALL_TESTS_FOREIGN_SLOTS_FOREIGN_H_
#define TYPEDCALL_TESTS_FOREIGN_SLOTS_FOREIGN_H_

#include "core/foreign_slots.h"
// foreign_slots.h comes first because it includes Python.h.
#include <string>
#include <vector>

#include "core/extensible_type.h"
#include "gtest/gtest.h"
#include "tests/core/extensible.h"
#include "tests/support/embedded.h"

namespace typedcall_test {

using Slots = std::vector<PyCustomSlot>;

inline PyCustomSlot S(unsigned idea, uintptr_t flags) { return Slot(Id(idea), flags); }

class Foreign : public testing::Test {
 protected:
  Foreign() : interface_(PyTypedcall_Import()) { scope_.Run("class Plain: pass\n"); }

  int Register(const Ref &type, const Slots &slots) {
    return PyForeignSlots_Register(interface_, type.type(), slots.data(),
                                   static_cast<Py_ssize_t>(slots.size()));
  }
  int Unregister(const Ref &type, unsigned idea) {
    return PyForeignSlots_Unregister(interface_, type.type(), Id(idea));
  }
  /// Returns the flags of the slot that FindAny finds, or -1.
  long Any(const char *expression, unsigned idea, Py_ssize_t position = 0) {
    Ref object = scope_.Eval(expression);
    return object ? AnyOf(object.get(), idea, position) : -2;
  }
  long AnyOf(PyObject *object, unsigned idea, Py_ssize_t position = 0) {
    const PyCustomSlot *slot = PyCustomSlots_FindAny(interface_, object, Id(idea), position);
    return slot != nullptr ? static_cast<long>(slot->data.flags) : -1;
  }
  /// Runs a class statement and returns the new class.
  Ref Class(const std::string &statement, const char *name = "X") {
    scope_.Run(statement);
    return scope_.Eval(name);
  }
  PyTypedcall_Counters Counters() {
    PyTypedcall_Counters counters;
    interface_->counters(interface_->state, &counters, sizeof(counters));
    return counters;
  }

  const PyTypedcall_Interface *interface_;
  Scope scope_;
};

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_FOREIGN_SLOTS_FOREIGN_H_
