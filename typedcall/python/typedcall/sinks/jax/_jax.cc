// The extension module `typedcall.sinks.jax._jax`: the one function that XLA calls for all typed
// functions, element by element over its arrays. Compiled and linked without JAX.
#include "typedcall/loop.h"
#include "typedcall/provider.h"

#include "../../calling/entry_row.h"
#include "../../calling/error_text.h"
#include "../../calling/home.h"
#include "abi.h"
#include "convert.h"

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
  bool takes_gil;  ///< it takes the GIL itself, and may wait for another thread that has it
};

using state = state_with_one_home;
constexpr std::size_t kMost = 1 << 16;
std::atomic<element_function *> all[kMost];
std::atomic<std::size_t> count_of_all{0};

void *fail(const xla_call &call, int code, const std::string &message) {
  xla_error_request request = {sizeof(request), nullptr, message.c_str(), code};
  return call.api->make_error(&request);
}

/// The arrays of one call: the arguments', then the result's.
struct arrays {
  static constexpr std::intptr_t block = 512;

  std::vector<char *> data;
  std::vector<std::intptr_t> steps;   // as the function has them
  std::vector<int> types, given;      // the function's types and those of the arrays
  std::vector<const char *> letters;  // of the function's types
  bool is_converted = false;
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
      const bool is_known =
          is_result ? converts_result(wanted, each.type) : converts_argument(each.type, wanted);
      if (!is_known) return "an array of another type than the function has";
      if (i > 0 && each.count() != count) return "arrays of different sizes";
      count = each.count();
      data.push_back(static_cast<char *>(each.data));
      steps.push_back(static_cast<std::intptr_t>(PyNativeType_Size(type)));
      types.push_back(wanted);
      letters.push_back(PyNativeCode_Letters(type.code));
      given.push_back(each.type);
      is_converted |= each.type != wanted;
    }
    return "";
  }

  /// Runs the loop by `run`, which is given the arrays and how many elements; false as that.
  template <class Run>
  bool apply(const Run &run, std::string *error) {
    if (!is_converted) return run(data.data(), count);
    std::vector<char> room(data.size() * block * 8);
    std::vector<char *> blocks(data);
    const std::size_t last = data.size() - 1;
    for (std::intptr_t done = 0; done < count; done += block) {
      const std::intptr_t now = std::min(block, count - done);
      for (std::size_t i = 0; i <= last; ++i) {
        char *const there = data[i] + done * size_of(given[i]);
        blocks[i] = given[i] == types[i] ? there : room.data() + i * block * 8;
        if (i < last && blocks[i] != there && !convert(given[i], there, types[i], blocks[i], now)) {
          *error = "OverflowError: argument " + std::to_string(i + 1) + " does not fit '" +
                   letters[i] + "'";
          return false;
        }
      }
      if (!run(blocks.data(), now)) return false;
      if (given[last] != types[last] && !convert(types[last], blocks[last], given[last],
                                                 data[last] + done * size_of(given[last]), now)) {
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
    const auto &steps = over.steps;
    const auto run = [&](char *const *data, std::intptr_t count) {
      if (!function.takes_gil) return function.over.run(data, &count, steps.data());
      int status = 0;
      typedcall::calling::without_gil(
          [&] { status = function.over.run_detached(data, &count, steps.data()); });
      return status;
    };
    const bool is_run = state::where->attached(nullptr, [&] {
      try {
        is_done = over.apply(
            [&](char *const *data, std::intptr_t count) {
              if (run(data, count) == 0) return true;
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
  // A loop refuses what takes the GIL: here it is let go of around the loop.
  const std::uintptr_t needed = entry.flags & ~std::uintptr_t{PyNativeCallable_ACQUIRES_GIL};
  if ((entry.flags & PyNativeCallable_FALLS_BACK) != 0) {
    options.callable = object_ref::borrow(callable);
  }
  auto made = loop::make(entry.signature, needed, entry.address, object_ref::borrow(kept),
                         std::move(options));
  if (!made) return -1;
  PyNativeSignature parsed;  // which the loop has read, too
  const bool takes_gil = PyNativeSignature_ParseString(entry.signature, &parsed, nullptr) == 0 &&
                         PyNativeView_Of(&parsed, entry.flags).hold == PyNativeHold_NO_GIL;
  auto owned =
      std::make_unique<element_function>(element_function{name, std::move(*made), takes_gil});
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
