// The extension module `typedcall.jax._jax`: the one function that XLA calls for all typed
// functions, element by element over its arrays. Compiled and linked without JAX.
#include "typedcall/loop.h"
#include "typedcall/provider.h"

#include "../_entry_row.h"
#include "../_error_text.h"
#include "../_home.h"
#include "_jax_abi.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace typedcall::python;
using typedcall::loop;
using typedcall::object_ref;

/// One typed function. XLA's programs last as long as they like, so these last for ever.
struct element_function {
  std::string name;
  loop over;
};

using state = state_with_one_home;
constexpr std::size_t kMost = 1 << 16;
std::atomic<element_function *> all[kMost];
std::atomic<std::size_t> count_of_all{0};

/// XLA's type; 0: it has none.
int type_of(PyNativeType type) {
  const auto power = [&](int first) {  // of types of 1, 2, 4 and 8 bytes that are in a row
    return first + __builtin_ctz(static_cast<unsigned>(PyNativeType_Size(type)));
  };
  if (type.is_pointer != 0) return 0;
  switch (PyNativeType_Kind(type)) {
    case PyNativeKind_BOOL:
      return kXlaBool;
    case PyNativeKind_SIGNED:
      return power(2);
    case PyNativeKind_UNSIGNED:
      return power(6);
    case PyNativeKind_FLOATING:
      return PyNativeType_Size(type) > 8 ? 0 : power(kXlaF32 - 2);
    default:
      return 0;
  }
}

void *fail(const xla_call &call, int code, const std::string &message) {
  xla_error_request request = {sizeof(request), nullptr, message.c_str(), code};
  return call.api->make_error(&request);
}

template <class From, class To>
void copy_as(const char *from, char *to, std::intptr_t count) {
  for (std::intptr_t i = 0; i < count; ++i) {
    const To value =
        static_cast<To>(typedcall::internal::load_as<From>(from + i * std::intptr_t{sizeof(From)}));
    std::memcpy(to + i * std::intptr_t{sizeof(To)}, &value, sizeof(value));
  }
}
template <class From, class To>
bool narrow_as(const char *from, char *to, std::intptr_t count) {
  for (std::intptr_t i = 0; i < count; ++i) {
    const From value = typedcall::internal::load_as<From>(from + i * std::intptr_t{sizeof(From)});
    if (static_cast<From>(static_cast<To>(value)) != value) return false;
  }
  copy_as<From, To>(from, to, count);
  return true;
}

/// Without JAX's 64 bits there are arrays of 32 for the function's 64: -1: it is no such type.
int narrow_type(int type) {
  return type == kXlaF64 ? kXlaF32 : type == kXlaS64 ? 4 : type == 9 ? 8 : -1;
}

void widen(int type, const char *from, char *to, std::intptr_t count) {
  if (type == kXlaF64) copy_as<float, double>(from, to, count);
  if (type == kXlaS64) copy_as<std::int32_t, std::int64_t>(from, to, count);
  if (type == 9) copy_as<std::uint32_t, std::uint64_t>(from, to, count);
}
/// False where an integer does not fit.
bool narrow(int type, const char *from, char *to, std::intptr_t count) {
  if (type == kXlaS64) return narrow_as<std::int64_t, std::int32_t>(from, to, count);
  if (type == 9) return narrow_as<std::uint64_t, std::uint32_t>(from, to, count);
  copy_as<double, float>(from, to, count);
  return true;
}

/// The arrays of one call: the arguments', then the result's.
struct arrays {
  static constexpr std::intptr_t block = 512;

  std::vector<char *> data;
  std::vector<std::intptr_t> steps;  // as the function has them
  std::vector<int> wide;             // its type where the array's is narrower, else 0
  std::intptr_t count = 0;

  /// "" or what is wrong.
  std::string read(const xla_call &call, const loop &over) {
    const xla_buffers &in = call.arguments, &out = call.results;
    if (in.count != static_cast<std::int64_t>(over.inputs().size()) || out.count != 1) {
      return "another number of arrays than the function has";
    }
    for (std::int64_t i = 0; i <= in.count; ++i) {
      const bool is_result = i == in.count;
      const xla_buffers &from = is_result ? out : in;
      const std::int64_t at = is_result ? 0 : i;
      if (from.kinds[at] != kXlaIsBuffer) return "an argument that is no array";
      const auto &each = *static_cast<const xla_buffer *>(from.items[at]);
      const PyNativeType type =
          is_result ? over.output() : over.inputs()[static_cast<std::size_t>(i)];
      const int wanted = type_of(type);
      const bool is_narrow = each.type == narrow_type(wanted);
      if (each.type != wanted && !is_narrow)
        return "an array of another type than the function has";
      if (i > 0 && each.count() != count) return "arrays of different sizes";
      count = each.count();
      data.push_back(static_cast<char *>(each.data));
      steps.push_back(static_cast<std::intptr_t>(PyNativeType_Size(type)));
      wide.push_back(is_narrow ? wanted : 0);
    }
    return "";
  }

  /// Runs the loop by `run`, which is given the arrays and how many elements; false as that.
  template <class Run>
  bool apply(const Run &run, std::string *error) {
    if (std::all_of(wide.begin(), wide.end(), [](int each) { return each == 0; })) {
      return run(data.data(), count);
    }
    std::vector<char> room(data.size() * block * 8);
    std::vector<char *> blocks(data);
    for (std::intptr_t done = 0; done < count; done += block) {
      const std::intptr_t now = std::min(block, count - done);
      for (std::size_t i = 0; i < data.size(); ++i) {
        const std::intptr_t size = wide[i] != 0 ? steps[i] / 2 : steps[i];
        blocks[i] = data[i] + done * size;
        if (wide[i] == 0) continue;
        char *const own = room.data() + i * block * 8;
        if (i + 1 < data.size()) widen(wide[i], blocks[i], own, now);
        blocks[i] = own;
      }
      if (!run(blocks.data(), now)) return false;
      if (wide.back() != 0 &&
          !narrow(wide.back(), blocks.back(), data.back() + done * (steps.back() / 2), now)) {
        *error = "OverflowError: a result needs JAX's 64 bits (jax_enable_x64)";
        return false;
      }
    }
    return true;
  }
};

void *call_function(const xla_call &call, const element_function &function) {
  arrays over;
  std::string error = over.read(call, function.over);
  if (!error.empty()) return fail(call, kXlaInvalid, function.name + ": " + error);
  bool is_done = false;
  if (function.over.may_detach() && !function.over.may_fall_back()) {
    is_done = over.apply(
        [&](char *const *data, std::intptr_t count) {
          return function.over.run_detached(data, &count, over.steps.data()) == 0;
        },
        &error);
  } else {
    const bool is_run = state::where->attached(nullptr, [&] {
      try {
        is_done = over.apply(
            [&](char *const *data, std::intptr_t count) {
              if (function.over.run(data, &count, over.steps.data()) == 0) return true;
              const error_text said;
              said.interrupts_again();
              error = said.get();
              return false;
            },
            &error);
      } catch (const std::bad_alloc &) {
        error = "no memory";  // thrown further it would leave the GIL held
      }
    });
    if (!is_run) error = state::where->why_detached();
  }
  return is_done ? nullptr : fail(call, kXlaInternal, function.name + ": " + error);
}

/// What XLA calls for every typed function, in any thread.
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
    // A program that another process has made may have another function there.
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

Py_ssize_t add(const char *name, PyObject *row, PyObject *kept, PyObject *callable) {
  entry_row entry;
  if (!entry.read(row)) return -1;
  typedcall::loop_options options;
  // XLA can lose the GIL, which it has not.
  const std::uintptr_t needed = entry.flags & ~std::uintptr_t{PyNativeCallable_ACQUIRES_GIL};
  if ((entry.flags & PyNativeCallable_FALLS_BACK) != 0) {
    options.callable = object_ref::borrow(callable);
  }
  auto made = loop::make(entry.signature, needed, entry.address, object_ref::borrow(kept),
                         std::move(options));
  if (!made) return -1;
  auto owned = std::make_unique<element_function>(element_function{name, std::move(*made)});
  std::size_t at = count_of_all.load();
  do {
    if (at == kMost) {
      PyErr_SetString(PyExc_RuntimeError, "JAX has 65536 typed functions already");
      return -1;
    }
  } while (!count_of_all.compare_exchange_weak(at, at + 1));
  all[at].store(owned.release(), std::memory_order_release);
  return static_cast<Py_ssize_t>(at);
}

PyObject *target() {
  // The name is XLA's.
  return PyCapsule_New(reinterpret_cast<void *>(run_xla), "xla._CUSTOM_CALL_TARGET", nullptr);
}

using typedcall::positional;

typedcall::method_table methods{
    typedcall::def<add>("add", typedcall::may_raise, positional("name"), positional("row"),
                        positional("kept"), positional("callable"),
                        "The index by which a program calls the function; it is kept for ever."),
    typedcall::def<target>("target", "What XLA calls, for jax.ffi.register_ffi_target()."),
};

}  // namespace

TYPEDCALL_MODULE_STATE(_jax, "Typed functions for XLA.", methods, state);
