// An inner loop of a generalised ufunc. The loop passes each row as a buffer: a pointer and a
// count. Rows with gaps are copied to contiguous memory.
#ifndef TYPEDCALL_PYTHON_NUMPY_GUFUNC_H_
#define TYPEDCALL_PYTHON_NUMPY_GUFUNC_H_

#include "gufunc_kernels.h"
// After Python.h.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "typedcall/calling.h"
#include "typedcall/loop.h"

namespace typedcall::python {

/// One argument in Python, with the arrays that hold its values.
struct gufunc_argument {
  PyNativeType type;  ///< the type of the number, or of the buffer's elements
  PyNativeType given;
  calling::conversion convert;
  int input = -1, output = -1;            ///< indices of arrays; -1 if there is none
  int dimension = -1;                     ///< for a buffer, the index of its length
  int input_step = -1, output_step = -1;  ///< for a buffer, the index of the step inside a row
  object_ref make_array;                  ///< makes the argument in Python from a buffer's bytes

  bool is_buffer() const { return dimension >= 0; }
};

/// An inner loop over rows. The loop is immutable. It may run in the same threads as its function.
class gufunc_loop {
 public:
  /// `signature` and `flags` belong to an entry. `operands` contains (given letters, input, output,
  /// dimension, make_array) for each argument in Python. `arrays` is the number of arrays; the last
  /// one is the result. On failure, returns an empty value with an exception set. GIL: held. Throws
  /// std::bad_alloc.
  static std::optional<gufunc_loop> make(const char *signature, std::uintptr_t flags, void *funcptr,
                                         PyObject *operands, int arrays, object_ref keep_alive,
                                         object_ref callable) {
    auto own = calling::entry::make(signature, flags, funcptr, "a loop over rows", true);
    if (!own) return std::nullopt;
    gufunc_loop made(*std::move(own), funcptr, arrays);
    made.keep_alive_ = std::move(keep_alive);
    made.callable_ = std::move(callable);
    if (made.entry_.view.takes_self || (flags & PyNativeCallable_SETS_ERRNO) != 0) {
      return refuse(signature, "flags that no loop can follow");
    }
    if (!made.read(operands)) {
      return PyErr_Occurred() != nullptr ? std::nullopt
                                         : refuse(signature, "the arrays are not its arguments");
    }
    if (!made.callee_.set(made.callable_.get(), made.arguments_.size())) return std::nullopt;
    made.choose_kernel();
    return made;
  }

  PyNativeThreadState thread_state() const { return entry_.view.thread_state; }
  /// For tp_traverse.
  int traverse(visitproc visit, void *arg) const {
    Py_VISIT(keep_alive_.get());
    Py_VISIT(callable_.get());
    for (const gufunc_argument &each : arguments_) Py_VISIT(each.make_array.get());
    return 0;
  }

  /// Takes the arguments of a PyUFuncGenericFunction. Leaves an exception pending. Must be called
  /// in the thread state that thread_state() requires.
  void run(char *const *args, const std::intptr_t *dimensions, const std::intptr_t *steps) const {
    const std::intptr_t count = dimensions[0];
    if (count <= 0) return;
    const std::size_t room = scratch_size(dimensions, steps);
    if (kernel_ != nullptr && room == 0) {
      kernel_(funcptr_, args, steps, dimensions + 1, order_, count);
      return;
    }
    std::unique_ptr<char, decltype(&std::free)> scratch(nullptr, &std::free);
    if (room != 0) {
      scratch.reset(static_cast<char *>(std::malloc(room)));
      if (!scratch) {
        const PyGILState_STATE state = PyGILState_Ensure();
        PyErr_NoMemory();
        PyGILState_Release(state);
        return;
      }
    }
    row_values rows = {*this, args, dimensions + 1, steps, scratch.get()};
    calling::run_rows(entry_, entry_.invoke, nullptr, count, rows);
  }

 private:
  gufunc_loop(calling::entry own, void *funcptr, int arrays)
      : entry_(std::move(own)), arrays_(arrays), funcptr_(funcptr) {}

  static std::nullopt_t refuse(const char *signature, const char *why) {
    PyErr_Format(PyExc_ValueError, "no loop over rows for '%.200s': %s", signature, why);
    return std::nullopt;
  }

  // Reads the operands. Returns false if they do not match the signature, possibly with no
  // exception set.
  bool read(PyObject *operands) {
    if (!PyTuple_Check(operands) || arrays_ < 1) return false;
    const std::vector<calling::value_type> &parameters = entry_.parameters;
    std::vector<bool> has_rows(static_cast<std::size_t>(arrays_));
    if (PyTuple_GET_SIZE(operands) != static_cast<Py_ssize_t>(parameters.size())) return false;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      gufunc_argument made = {};
      const char *letters;
      PyObject *make_array;
      if (!PyArg_ParseTuple(PyTuple_GET_ITEM(operands, static_cast<Py_ssize_t>(i)), "siiiO:operand",
                            &letters, &made.input, &made.output, &made.dimension, &make_array)) {
        return false;
      }
      if (made.input >= arrays_ || made.output >= arrays_) return false;
      const PyNativeType type = parameters[i].type;
      made.type = {type.code, 0};
      if (PyNativeType_IsBuffer(type)) {
        if (!made.is_buffer() || (made.output < 0 && made.input < 0)) return false;
        if ((made.output >= 0) == (PyNativeType_IsConst(type) != 0)) return false;
        made.make_array = object_ref::borrow(make_array);
        if (made.input >= 0) has_rows[static_cast<std::size_t>(made.input)] = true;
        if (made.output >= 0) has_rows[static_cast<std::size_t>(made.output)] = true;
      } else {
        const int code = PyNativeCode_FromLetters(letters[0], letters[1]);
        if (type.pointer_flags || made.is_buffer()) return false;
        if (made.input < 0 || made.output >= 0 || code < 0) return false;
        made.given = {static_cast<unsigned char>(code), 0};
        if (!PyNativeType_Equivalent(made.given, made.type)) {
          made.convert = calling::conversion::between(made.given, made.type);
          if (!made.convert) return false;
        }
      }
      arguments_.push_back(std::move(made));
    }
    // NumPy first passes the steps between rows, and then the steps inside rows of the arrays that
    // have rows.
    int next = arrays_;
    for (int array = 0; array < arrays_; ++array) {
      if (!has_rows[static_cast<std::size_t>(array)]) continue;
      for (gufunc_argument &each : arguments_) {
        if (!each.is_buffer()) continue;
        if (each.input == array) each.input_step = next;
        if (each.output == array) each.output_step = next;
      }
      ++next;
    }
    return true;
  }

  // Sets kernel_ if rows need no copy and calls need no checks.
  void choose_kernel() {
    if (entry_.view.may_raise || entry_.view.may_fall_back || arguments_.size() > 2) return;
    for (const gufunc_argument &each : arguments_) {
      if (each.output >= 0 || each.convert) return;
      if (!each.is_buffer() && each.type.code != PyNativeType_DOUBLE) return;
    }
    if (arguments_.empty() || !arguments_[0].is_buffer()) return;
    const bool has_two = arguments_.size() == 2;
    const row_kernel_shape shape = !has_two                    ? row_kernel_shape::row
                                   : arguments_[1].is_buffer() ? row_kernel_shape::two_rows
                                                               : row_kernel_shape::row_and_number;
    order_ = {arguments_[0].input, has_two ? arguments_[1].input : 0, arrays_ - 1,
              arguments_[0].dimension,
              has_two && arguments_[1].is_buffer() ? arguments_[1].dimension : 0};
    kernel_ = find_row_kernel(shape, entry_.view.result);
  }

  static bool has_gaps(const gufunc_argument &each, int step, const std::intptr_t *lengths,
                       const std::intptr_t *steps) {
    return step >= 0 && lengths[each.dimension] > 1 &&
           steps[step] != static_cast<std::intptr_t>(PyNativeType_Size(each.type));
  }

  std::size_t row_size(const gufunc_argument &each, const std::intptr_t *lengths) const {
    const std::size_t size =
        static_cast<std::size_t>(lengths[each.dimension]) * PyNativeType_Size(each.type);
    return (size + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) *
           alignof(std::max_align_t);
  }

  // A row is copied if it has gaps. Rows of bools are always copied, because their bytes may have
  // any values, which the loop must not change.
  bool is_copied(const gufunc_argument &each, const std::intptr_t *lengths,
                 const std::intptr_t *steps) const {
    const int step = each.output >= 0 ? each.output_step : each.input_step;
    return each.is_buffer() &&
           (each.type.code == PyNativeType_BOOL || has_gaps(each, step, lengths, steps));
  }

  // Returns the size of all copies of a row, or SIZE_MAX if it is too large.
  std::size_t scratch_size(const std::intptr_t *dimensions, const std::intptr_t *steps) const {
    constexpr auto most = static_cast<std::size_t>(PTRDIFF_MAX);
    std::size_t room = 0;
    for (const gufunc_argument &each : arguments_) {
      if (!is_copied(each, dimensions + 1, steps)) continue;
      const std::size_t size = row_size(each, dimensions + 1);
      if (size > most - room) return SIZE_MAX;
      room += size;
    }
    return room;
  }

  /// See run_rows().
  struct row_values {
    const gufunc_loop &self;
    char *const *args;
    const std::intptr_t *lengths, *steps;
    char *scratch;  ///< the copies of a row
    char *unused = nullptr;
    const native_value *arguments = nullptr;
    bool is_misfit = false;

    native_value *load(std::intptr_t row, native_value *next, wide_value *wide) {
      arguments = next;
      unused = scratch;
      for (const gufunc_argument &each : self.arguments_) {
        const char *from = each.input < 0 ? nullptr : args[each.input] + row * steps[each.input];
        if (each.is_buffer()) {
          next = load_row(each, row, from, next);
          continue;
        }
        char made[sizeof(wide_value)];
        if (each.convert) {
          is_misfit |= each.convert.run(from, 0, 1, made, 0) != 1;
          from = made;
        }
        *next++ = typedcall::internal::load_element(each.type, from, wide++);
      }
      return next;
    }
    static constexpr bool is_immutable = false;
    bool has_misfit() const { return is_misfit; }
    static constexpr bool holds() { return false; }
    calling::outcome back(std::intptr_t row, const native_value *values, wide_value *place) {
      is_misfit = false;
      const bool is_done = self.call_boxed(values, args, lengths, steps, row, place);
      return is_done ? calling::outcome::value : calling::outcome::raised;
    }
    bool set_result(std::intptr_t row, native_value result, const wide_value &wide) const {
      self.put(arguments, args, lengths, steps, row, result, wide);
      return true;
    }

   private:
    native_value *load_row(const gufunc_argument &each, std::intptr_t i, const char *from,
                           native_value *next) {
      const std::intptr_t length = lengths[each.dimension];
      const bool is_own = self.is_copied(each, lengths, steps);
      char *row =
          each.output >= 0 ? args[each.output] + i * steps[each.output] : const_cast<char *>(from);
      if (is_own) {
        row = unused;
        unused += self.row_size(each, lengths);
      }
      const auto size = static_cast<std::intptr_t>(PyNativeType_Size(each.type));
      if (from != nullptr && row != from) {
        copy_row(row, size, from, steps[each.input_step], length, size);
      } else if (is_own && from == nullptr) {
        std::memset(row, 0, static_cast<std::size_t>(length * size));
      }
      if (each.type.code == PyNativeType_BOOL) {
        typedcall::internal::make_bools(row, static_cast<std::size_t>(length));
      }
      next[0] = native_value::of(static_cast<void *>(row));
      next[1] = native_value::of(length);
      return next + 2;
    }
  };

  // Copies rows that were written to, and the result, into their arrays.
  void put(const native_value *values, char *const *args, const std::intptr_t *lengths,
           const std::intptr_t *steps, std::intptr_t i, native_value result,
           const wide_value &wide) const {
    std::size_t at = 0;
    for (const gufunc_argument &each : arguments_) {
      if (each.output >= 0 && is_copied(each, lengths, steps)) {
        const auto size = static_cast<std::intptr_t>(PyNativeType_Size(each.type));
        copy_row(args[each.output] + i * steps[each.output], steps[each.output_step],
                 values[at].get<const char *>(), size, lengths[each.dimension], size);
      }
      at += each.is_buffer() ? 2 : 1;
    }
    typedcall::internal::store_element(entry_.result.size, result, wide,
                                       args[arrays_ - 1] + i * steps[arrays_ - 1]);
  }

  // Calls the Python function. Numbers have the arrays' types, and rows are passed as new arrays.
  __attribute__((noinline, cold)) bool call_boxed(const native_value *values, char *const *args,
                                                  const std::intptr_t *lengths,
                                                  const std::intptr_t *steps, std::intptr_t i,
                                                  wide_value *place) const {
    const auto call = [&](bool) {
      if (PyErr_Occurred() != nullptr) return false;
      std::size_t at = 0, count = 0;
      typedcall::internal::boxed_arguments bytes(
          TYPEDCALL_INTERNAL_ON_STACK(PyObject *, arguments_.size() + 1));
      const auto box = [&](std::size_t number) {
        const gufunc_argument &each = arguments_[number];
        if (!each.is_buffer()) {
          ++at;
          wide_value wide;
          const char *from = args[each.input] + i * steps[each.input];
          const native_value value = typedcall::internal::load_element(each.given, from, &wide);
          return object_ref::steal(typedcall::internal::box_element(each.given, value));
        }
        const auto all =
            static_cast<Py_ssize_t>(PyNativeType_Size(each.type)) * lengths[each.dimension];
        const char *const row = values[at].get<const char *>();
        at += 2;
        if (!bytes.add(each.output >= 0 ? PyByteArray_FromStringAndSize(row, all)
                                        : PyBytes_FromStringAndSize(row, all))) {
          return object_ref();
        }
        return object_ref::steal(
            PyObject_CallFunctionObjArgs(each.make_array.get(), bytes[count++], nullptr));
      };
      // NumPy needs 19 kB of the stack to call the loop of a generalised ufunc.
      constexpr int levels = 4;
      const object_ref returned = calling::call_boxed(callee_, arguments_.size(), box, levels);
      if (!returned ||
          !typedcall::internal::unbox_element(entry_.result.type, returned.get(), place)) {
        return false;
      }
      at = count = 0;
      for (const gufunc_argument &each : arguments_) {
        if (each.output >= 0) {
          // Other code may have resized the bytearray.
          const auto size = static_cast<Py_ssize_t>(PyNativeType_Size(each.type));
          const Py_ssize_t all = size * lengths[each.dimension];
          if (PyByteArray_GET_SIZE(bytes[count]) == all) {
            std::memcpy(values[at].get<char *>(), PyByteArray_AS_STRING(bytes[count]),
                        static_cast<std::size_t>(all));
          }
        }
        at += each.is_buffer() ? 2 : 1;
        count += each.is_buffer() ? 1 : 0;
      }
      return true;
    };
    return callee_.attached(call);
  }

  std::vector<gufunc_argument> arguments_;
  calling::entry entry_;
  int arrays_;
  row_kernel kernel_ = nullptr;
  row_order order_ = {};
  void *funcptr_;
  object_ref keep_alive_, callable_;
  typedcall::internal::callable_at_home callee_;
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NUMPY_GUFUNC_H_
