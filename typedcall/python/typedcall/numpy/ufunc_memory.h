// The memory of a ufunc: its loops, and those that it makes when a call brings other types.
#ifndef TYPEDCALL_PYTHON_NUMPY_UFUNC_MEMORY_H_
#define TYPEDCALL_PYTHON_NUMPY_UFUNC_MEMORY_H_

#include "../native/numpy_ufuncs.h"
#include "made_loop.h"
#include "typedcall/base/object_ref.h"
#include "typedcall/calling.h"
#include "typedcall/loop.h"

// After Python.h.
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace typedcall::python {

/// All memory to which a ufunc points.
class ufunc_memory {
 public:
  std::string name, doc;
  object_ref origin;              // the arguments of ufunc(), for pickling
  type_resolver usual = nullptr;  // NumPy's own

  /// `planner` makes loops for types that calls bring; see resolve(). It may be null or None.
  void plan_with(PyObject *planner, void *const *arrays) {
    if (planner != Py_None) planner_ = object_ref::borrow(planner);
    descriptor_of_ = reinterpret_cast<descriptor_fields *(*)(int)>(arrays[kDescrFromType]);
    const unsigned version = reinterpret_cast<unsigned (*)()>(arrays[kGetVersion])();
    has_strong_scalars_ = version >= 0x02000000;
  }
  bool is_planned() const { return static_cast<bool>(planner_); }

  const inner_loop *functions() const { return functions_.data(); }
  void *const *data() const { return data_.data(); }
  const char *types() const { return types_.data(); }
  std::size_t size() const { return loops_.size(); }

  /// Adds the loops of `rows`; see make_ufunc(). `types` are NumPy's type numbers for each. On
  /// failure, returns false with an exception set. Throws std::bad_alloc.
  bool add_all(PyObject *rows, const std::string &types, std::size_t arrays, bool are_rows) {
    const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(rows));
    const std::size_t room = count + (is_planned() ? kMostBrought : 0);
    functions_.reserve(room);
    data_.reserve(room);
    types_.reserve(room * arrays);
    for (std::size_t i = 0; i < count; ++i) {
      PyObject *const row = PyTuple_GET_ITEM(rows, static_cast<Py_ssize_t>(i));
      made_loop made;
      if (!(are_rows ? make_row_loop(row, arrays, &made) : make_loop(row, &made))) return false;
      append(std::move(made), types.substr(i * arrays, arrays));
    }
    own_ = size();
    return true;
  }

  /// NumPy's resolver of types, for calls that bring types for which there is no loop. The planner
  /// is called with the inputs' type numbers, and with all type numbers of the loop that NumPy
  /// would choose, or None if NumPy would raise. It returns None to accept that, or a tuple of the
  /// type numbers of another loop and, if this is a new one, its row. GIL: held. If NumPy treats
  /// numbers of Python differently from arrays, it chooses among the loops that the ufunc had at
  /// first, so that results do not depend on earlier calls. The planner is then also given which
  /// inputs are such numbers.
  int resolve(ufunc_fields *ufunc, int casting, array_fields **operands, PyObject *asked,
              descriptor_fields **found) {
    std::string brought, weak, types;
    if (!names_no_input(asked, ufunc->nin) || !read(operands, ufunc->nin, &brought, &weak)) {
      return usual(ufunc, casting, operands, asked, found);
    }
    try {
      std::string key = brought;
      int status = -1;
      if (!weak.empty()) {
        status = usual(ufunc, casting, operands, asked, found);
        if (status == 0 && refuse_added(*ufunc, found)) status = -1;
        key += weak;
        for (int i = 0; status == 0 && i < ufunc->nargs; ++i) {
          key += static_cast<char>(found[i]->type_num);
        }
      }
      {
        const std::lock_guard<std::mutex> held(lock_);
        const auto known = chosen_.find(key);
        if (known != chosen_.end()) types = known->second;
      }
      if (types.empty()) {
        if (weak.empty()) status = usual(ufunc, casting, operands, nullptr, found);
        if (!plan(ufunc, brought, weak, key, status == 0 ? found : nullptr, &types)) return -1;
      } else if (!weak.empty()) {
        if (status != 0 && !PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Clear();
        for (int i = 0; status == 0 && i < ufunc->nargs; ++i) Py_CLEAR(found[i]);
      }
    } catch (const std::bad_alloc &) {
      PyErr_NoMemory();
      return -1;
    }
    if (!are_results(asked, *ufunc, types)) return usual(ufunc, casting, operands, asked, found);
    for (int i = 0; i < ufunc->nargs; ++i) {
      found[i] = descriptor_of_(types[static_cast<std::size_t>(i)]);
      if (found[i] != nullptr) continue;
      while (i-- > 0) Py_CLEAR(found[i]);
      return -1;
    }
    return 0;
  }

  int traverse(visitproc visit, void *arg) const {
    Py_VISIT(origin.get());
    Py_VISIT(planner_.get());
    for (const made_loop &each : loops_) {
      const int stopped = each.traverse(visit, arg);
      if (stopped != 0) return stopped;
    }
    return 0;
  }

 private:
  // True if the caller names no input's type: `asked` is null, or a tuple of a descriptor or None
  // for each array.
  static bool names_no_input(PyObject *asked, int inputs) {
    if (asked == nullptr || asked == Py_None) return true;
    if (!PyTuple_Check(asked) || PyTuple_GET_SIZE(asked) <= inputs) return false;
    for (int i = 0; i < inputs; ++i) {
      if (PyTuple_GET_ITEM(asked, i) != Py_None) return false;
    }
    return true;
  }

  // True if these are the types of the results that the caller names, if any.
  static bool are_results(PyObject *asked, const ufunc_fields &ufunc, const std::string &types) {
    if (asked == nullptr || asked == Py_None) return true;
    if (PyTuple_GET_SIZE(asked) != ufunc.nargs) return false;
    for (int i = ufunc.nin; i < ufunc.nargs; ++i) {
      PyObject *const one = PyTuple_GET_ITEM(asked, i);
      if (one == Py_None) continue;
      const int number = reinterpret_cast<const descriptor_fields *>(one)->type_num;
      if (number != types[static_cast<std::size_t>(i)]) return false;
    }
    return true;
  }

  // If NumPy chose a loop that an earlier call brought, drops that choice, and returns true with
  // TypeError set.
  bool refuse_added(const ufunc_fields &ufunc, descriptor_fields **found) {
    std::string types;
    for (int i = 0; i < ufunc.nargs; ++i) types.push_back(static_cast<char>(found[i]->type_num));
    {
      const std::lock_guard<std::mutex> held(lock_);
      const std::size_t at = place_of(types);
      if (at < own_ || at == size()) return false;
    }
    for (int i = 0; i < ufunc.nargs; ++i) Py_CLEAR(found[i]);
    PyErr_Format(PyExc_TypeError, "ufunc '%.200s' has no loop for these arrays and numbers",
                 name.c_str());
    return true;
  }

  // Returns the first loop over these types, or size(). The lock must be held.
  std::size_t place_of(const std::string &types) const {
    std::size_t at = 0;
    while (at < size() && types_.compare(at * types.size(), types.size(), types) != 0) ++at;
    return at;
  }

  // Fills in the type numbers and, if NumPy treats some of the operands differently because they
  // are numbers of Python, a 1 for each of these and a 0 for each other. Returns false for types
  // that are not numbers.
  bool read(array_fields *const *operands, int count, std::string *numbers,
            std::string *weak) const {
    for (int i = 0; i < count; ++i) {
      const array_fields *const array = operands[i];
      const int number = array != nullptr ? array->descriptor->type_num : -1;
      if (number < 0 || (number > kLastNumber && number != kFloat16)) return false;
      numbers->push_back(static_cast<char>(number));
      const bool is_weak =
          has_strong_scalars_ ? (array->flags & kWasPython) != 0 : array->dimension_count == 0;
      weak->push_back(is_weak ? '\1' : '\0');
    }
    if (weak->find('\0') == weak->npos || weak->find('\1') == weak->npos) weak->clear();
    return true;
  }

  bool plan(ufunc_fields *ufunc, const std::string &brought, const std::string &weak,
            const std::string &key, descriptor_fields **numpys, std::string *types) {
    std::string of_numpy;
    PyObject *kind = nullptr, *raised = nullptr, *traceback = nullptr;
    if (numpys == nullptr) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
      PyErr_Fetch(&kind, &raised, &traceback);
    }
    for (int i = 0; numpys != nullptr && i < ufunc->nargs; ++i) {
      of_numpy.push_back(static_cast<char>(numpys[i]->type_num));
      Py_CLEAR(numpys[i]);
    }
    const object_ref answer = object_ref::steal(PyObject_CallFunction(
        planner_.get(), "y#y#y#", brought.data(), static_cast<Py_ssize_t>(brought.size()),
        numpys != nullptr ? of_numpy.data() : nullptr, static_cast<Py_ssize_t>(of_numpy.size()),
        weak.data(), static_cast<Py_ssize_t>(weak.size())));
    const char *numbers = of_numpy.data();
    Py_ssize_t size = static_cast<Py_ssize_t>(of_numpy.size());
    PyObject *row = nullptr;
    made_loop made;
    bool is_made = static_cast<bool>(answer);
    if (is_made && answer.get() == Py_None && numpys == nullptr) {
      PyErr_Restore(kind, raised, traceback);
      return false;
    }
    Py_XDECREF(kind);
    Py_XDECREF(raised);
    Py_XDECREF(traceback);
    if (is_made && answer.get() != Py_None) {
      is_made = PyArg_ParseTuple(answer.get(), "y#|O!", &numbers, &size, &PyTuple_Type, &row) != 0;
    }
    if (!is_made || (row != nullptr && !make_loop(row, &made))) return false;
    types->assign(numbers, static_cast<std::size_t>(size));
    if (size != ufunc->nargs) {
      PyErr_SetString(PyExc_SystemError, "a loop of a ufunc has a type for each array");
      return false;
    }
    // Nothing here runs Python code.
    const std::lock_guard<std::mutex> held(lock_);
    if (row != nullptr && place_of(*types) == loops_.size()) {
      if (functions_.size() == functions_.capacity() && kMostBrought > 0) {
        PyErr_SetString(PyExc_TypeError, "too many different types for one ufunc");
        return false;
      }
      const published arrays{this, ufunc};
      append(std::move(made), *types);
    }
    *types = chosen_.emplace(key, *types).first->second;
    return true;
  }

  // Tells NumPy where the arrays are. They may move even if there is no memory for a loop.
  struct published {
    const ufunc_memory *memory;
    ufunc_fields *ufunc;

    ~published() {
      ufunc->functions = memory->functions(), ufunc->data = memory->data();
      ufunc->types = memory->types();
      std::atomic_thread_fence(std::memory_order_release);
      ufunc->ntypes = static_cast<int>(memory->size());
    }
  };

  void append(made_loop made, const std::string &types) {
    // An earlier call may have thrown std::bad_alloc.
    functions_.resize(size());
    data_.resize(size());
    types_.resize(size() * types.size());
    functions_.push_back(made.function);
    data_.push_back(made.data());
    types_ += types;
    loops_.push_back(std::move(made));
  }

  // Makes a loop. `row` is (signature, flags, address, keep_alive, callable, signature of the
  // arrays or None, rows to choose from, whether the engine chooses for each element).
  bool make_loop(PyObject *row, made_loop *made) {
    const char *signature, *asked = nullptr;
    unsigned long flags;
    Py_ssize_t address;
    int chooses = 0;
    PyObject *keep_alive, *callable = nullptr, *rows = nullptr;
    if (!PyArg_ParseTuple(row, "sknO|OzO!p:loop", &signature, &flags, &address, &keep_alive,
                          &callable, &asked, &PyTuple_Type, &rows, &chooses)) {
      return false;
    }
    void *const funcptr = reinterpret_cast<void *>(address);
    loop_options options;
    options.callable = object_ref::borrow(callable);
    auto found =
        loop::make(signature, flags, funcptr, object_ref::borrow(keep_alive), std::move(options));
    if (!found) return false;
    if (asked == nullptr) {
      made->function = held_as<&loop::ufunc_loop>(found->thread_state());
      made->plain = std::make_unique<loop>(std::move(*found));
      return true;
    }
    if (rows == nullptr) {
      PyErr_SetString(PyExc_ValueError, "a loop over other types needs the rows to choose among");
      return false;
    }
    auto functions = functions_of(rows);
    if (functions == nullptr) return false;
    made->converting = converting_loop::make(asked, std::move(*found), object_ref::borrow(callable),
                                             std::move(functions), chooses != 0);
    if (made->converting == nullptr) return false;
    made->function = held_as<&run_converting>(made->converting->thread_state());
    return true;
  }

  // Loops share their overloads. On failure, returns null with an exception set.
  std::shared_ptr<const calling::overloads> functions_of(PyObject *rows) {
    {
      const std::lock_guard<std::mutex> held(lock_);
      if (shared_rows_.get() == rows) return shared_functions_;
    }
    auto functions = std::make_shared<calling::overloads>();
    if (!read_entries(rows, "NumPy", functions.get())) return nullptr;
    const std::lock_guard<std::mutex> held(lock_);
    if (shared_rows_) return functions;
    shared_rows_ = object_ref::borrow(rows);
    shared_functions_ = functions;
    return functions;
  }

  // Makes a loop of a generalised ufunc. `row` is (signature, flags, address, keep_alive, callable,
  // operands).
  static bool make_row_loop(PyObject *row, std::size_t arrays, made_loop *made) {
    const char *signature;
    unsigned long flags;
    Py_ssize_t address;
    PyObject *keep_alive, *callable, *operands;
    if (!PyArg_ParseTuple(row, "sknOOO:loop", &signature, &flags, &address, &keep_alive, &callable,
                          &operands)) {
      return false;
    }
    void *const funcptr = reinterpret_cast<void *>(address);
    auto found = gufunc_loop::make(signature, flags, funcptr, operands, static_cast<int>(arrays),
                                   object_ref::borrow(keep_alive), object_ref::borrow(callable));
    if (!found) return false;
    made->function = held_as<&run_rows>(found->thread_state());
    made->rows = std::make_unique<gufunc_loop>(std::move(*found));
    return true;
  }

  object_ref planner_;
  descriptor_fields *(*descriptor_of_)(int) = nullptr;
  bool has_strong_scalars_ = false;  // NumPy 1 chooses by the values of scalars beside arrays
  // Without a GIL, other threads may read these arrays, so they must not move.
#ifdef Py_GIL_DISABLED
  static constexpr std::size_t kMostBrought = 1000;
#else
  static constexpr std::size_t kMostBrought = 0;
#endif

  std::mutex lock_;      // not held while Python code runs
  std::size_t own_ = 0;  // the loops that no call brought
  object_ref shared_rows_;
  std::shared_ptr<const calling::overloads> shared_functions_;
  std::vector<made_loop> loops_;
  std::vector<inner_loop> functions_;
  std::vector<void *> data_;
  std::string types_;
  std::map<std::string, std::string> chosen_;
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NUMPY_UFUNC_MEMORY_H_
