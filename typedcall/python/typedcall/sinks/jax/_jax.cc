// The extension module `typedcall.sinks.jax._jax`. XLA calls a single function, run_xla(), for all
// typed functions. JAX is not needed to compile or link the module.
#include "../../calling/entry_row.h"
#include "../../calling/error_text.h"
#include "../../calling/python_access.h"
#include "abi.h"
#include "typedcall/calling.h"
#include "typedcall/loop.h"

// After Python.h.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace typedcall::python;
namespace calling = typedcall::calling;
using typedcall::loop;
using typedcall::object_ref;

/// One overload of a typed function, and all overloads for values that do not fit this one. Never
/// freed, because XLA's programs may live until the process ends.
struct element_function {
  std::string name;
  loop over;
  calling::overloads functions;
  object_ref callable;
  bool is_free;  ///< true if any thread may call all functions without preparation
};

using state = state_with_one_access;
constexpr std::size_t kMost = 1 << 16;
std::atomic<element_function *> all[kMost];
std::atomic<std::size_t> count_of_all{0};

void *fail(const xla_call &call, int code, const std::string &message) {
  xla_error_request request = {sizeof(request), nullptr, message.c_str(), code};
  return call.api->make_error(&request);
}

/// Returns the type of an array's elements, or VOID if it is not supported.
PyNativeType type_of(int type) {
  static_assert(kXlaS64 == kXlaS8 + 3 && kXlaU8 == kXlaS64 + 1 && kXlaU64 == kXlaU8 + 3);
  if (type >= kXlaS8 && type <= kXlaS64) return calling::integer_type(type - kXlaS8, true);
  if (type >= kXlaU8 && type <= kXlaU64) return calling::integer_type(type - kXlaU8, false);
  static_assert(typedcall::internal::are_all_reals<float, double>(), "XLA's number of others?");
  if (type == kXlaBool) return {PyNativeType_BOOL, 0};
  if (type == kXlaF32) return {PyNativeType_FLOAT, 0};
  if (type == kXlaF64) return {PyNativeType_DOUBLE, 0};
  return {PyNativeType_VOID, 0};
}

/// The arrays of one call: the arguments, and then the result.
struct arrays {
  std::vector<char *> data;
  std::vector<std::intptr_t> steps;
  calling::array_plan plan;
  std::intptr_t count = 0;

  /// Reads the arrays of a call. Returns "", or an error message.
  std::string read(const xla_call &call, const loop &over) {
    const xla_buffers &in = call.arguments, &out = call.results;
    if (in.count != static_cast<std::int64_t>(over.types().parameters.size()) || out.count != 1) {
      return "the number of arrays differs from the function's";
    }
    PyNativeSignature types = {};
    types.nargs = static_cast<int>(in.count);
    for (std::int64_t i = 0; i <= in.count; ++i) {
      const bool is_result = i == in.count;
      const xla_buffers &from = is_result ? out : in;
      const std::int64_t at = is_result ? 0 : i;
      if (from.kinds[at] != kXlaIsBuffer) return "an argument is not an array";
      const auto &each = *static_cast<const xla_buffer *>(from.items[at]);
      const PyNativeType type = type_of(each.type);
      if (type.code == PyNativeType_VOID) return kOtherType;
      if (i > 0 && each.count() != count) return "the arrays have different sizes";
      count = each.count();
      data.push_back(static_cast<char *>(each.data));
      steps.push_back(static_cast<std::intptr_t>(PyNativeType_Size(type)));
      (is_result ? types.result : types.args[i]) = type;
    }
    return plan.make(types, over.types()) ? "" : kOtherType;
  }

  static constexpr char kOtherType[] = "the type of an array differs from the function's";
};

/// The outcome of a pass: an error message, or empty.
struct xla_end {
  const element_function &function;
  std::string error;
  bool is_over = false;

  bool is_attached() const { return !function.is_free; }
  const python_access &where() const { return *state::where; }
  void raised() {
    const error_text said;
    typedcall::internal::clear_exception();
    stop(said.get());
  }
  void detached(const char *why) { stop(why); }
  void misfit(PyNativeType) {
    stop("OverflowError: a result does not fit its array; JAX may need its 64 bits");
  }
  bool has_stopped() const { return is_over; }

 private:
  void stop(const char *why) {
    is_over = true;
    try {
      error = why;
    } catch (const std::bad_alloc &) {  // a C++ exception here would leave the GIL held
    }
  }
};

void *call_function(const xla_call &call, const element_function &function) {
  arrays over;
  const std::string error = over.read(call, function.over);
  if (!error.empty()) return fail(call, kXlaInvalid, function.name + ": " + error);
  xla_end end{function, {}};
  const auto run = [&] {
    calling::run_many(over.plan, function.over, function.functions, function.callable.get(), &end,
                      over.data.data(), over.count, over.steps.data());
  };
  if (function.is_free) {
    run();
  } else if (!state::where->attached(nullptr, run)) {
    end.detached(state::where->why_detached());
  }
  if (!end.is_over) return nullptr;
  return fail(call, kXlaInternal,
              function.name + ": " + (end.error.empty() ? "no memory" : end.error));
}

/// XLA calls this function in any thread.
void *run_xla(xla_call *call) noexcept {
  if (call->extension != nullptr && call->extension->type == kXlaMetadata) {
    auto &asked = *reinterpret_cast<xla_metadata_extension *>(call->extension)->metadata;
    const int minor =
        call->api != nullptr ? std::min(kXlaMinor, call->api->version.minor) : kXlaMinorUnasked;
    asked.version = {sizeof(xla_version), nullptr, kXlaMajor, minor};
    asked.traits = 0;
    return nullptr;
  }
  try {
    if (call->api->version.major != kXlaMajor || call->size < sizeof(xla_call)) {
      return fail(*call, kXlaInvalid, "typedcall does not know this version of XLA's C interface");
    }
    const xla_attributes &given = call->attributes;
    if (given.count != 2 || given.kinds[0] != kXlaIsScalar || given.kinds[1] != kXlaIsText) {
      return fail(*call, kXlaInvalid,
                  "typedcall: only typedcall.jax.elementwise() makes such calls");
    }
    const auto &index = *static_cast<const xla_scalar *>(given.items[0]);
    const auto &name = *static_cast<const xla_text *>(given.items[1]);
    std::int64_t at = 0;
    if (index.type == kXlaS64) std::memcpy(&at, index.value, sizeof(at));
    const element_function *const found = at < 0 || static_cast<std::size_t>(at) >= kMost
                                              ? nullptr
                                              : all[at].load(std::memory_order_acquire);
    // In a program that another process compiled, the index may belong to a different function.
    if (found == nullptr || found->name != std::string(name.data, name.size)) {
      return fail(*call, kXlaInvalid,
                  "typedcall: the program was compiled in another process, which had " +
                      std::string(name.data, name.size) + "; call elementwise() in this one");
    }
    return call_function(*call, *found);
  } catch (const std::bad_alloc &) {
    return fail(*call, kXlaInternal, "no memory");
  }
}

Py_ssize_t add(const char *name, PyObject *rows, Py_ssize_t first, PyObject *kept,
               PyObject *callable) {
  calling::overloads functions;
  entry_row row;
  if (!read_entries(rows, "JAX", &functions)) return -1;
  if (first < 0 || first >= PyTuple_Size(rows)) {
    PyErr_SetString(PyExc_IndexError, "no such entry");
    return -1;
  }
  if (!row.read(PyTuple_GET_ITEM(rows, first))) return -1;
  const calling::entry &own = functions.all[static_cast<std::size_t>(first)];
  const bool is_free = thread_state_of(functions) == PyNativeThreadState_ANY &&
                       !own.view.may_raise && !own.view.may_fall_back;
  typedcall::loop_options options;
  options.callable = object_ref::borrow(callable);
  auto made = loop::make(row.signature, row.flags, row.address, object_ref::borrow(kept),
                         std::move(options));
  if (!made) return -1;
  auto owned = std::make_unique<element_function>(element_function{
      name, std::move(*made), std::move(functions), object_ref::borrow(callable), is_free});
  std::size_t at = count_of_all.load();
  do {
    if (at == kMost) {
      PyErr_SetString(PyExc_RuntimeError, "JAX already has 65536 typed functions");
      return -1;
    }
  } while (!count_of_all.compare_exchange_weak(at, at + 1));
  all[at].store(owned.release(), std::memory_order_release);
  return static_cast<Py_ssize_t>(at);
}

PyObject *target() {
  // XLA requires this name.
  return PyCapsule_New(reinterpret_cast<void *>(run_xla), "xla._CUSTOM_CALL_TARGET", nullptr);
}

using typedcall::positional;

typedcall::method_table methods{
    typedcall::def<add>("add", typedcall::may_raise, positional("name"), positional("rows"),
                        positional("first"), positional("kept"), positional("callable"),
                        "The index by which a program calls the overload of `rows` that is tried "
                        "first; it is never freed."),
    typedcall::def<target>("target",
                           "The function that XLA calls, for jax.ffi.register_ffi_target()."),
};

}  // namespace

TYPEDCALL_MODULE_STATE(_jax, "Typed functions for XLA.", methods.required(), state);
