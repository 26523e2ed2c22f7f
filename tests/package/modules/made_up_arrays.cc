// A sink of arrays: runs typed functions over arrays of a made-up runtime. See CONTRIBUTING.md.
#include "typedcall/provider.h"
// After Python.h.
#include "calling/entry_row.h"
#include "calling/error_text.h"
#include "calling/python_access.h"
#include "made_up_runtime.h"
#include "typedcall/loop.h"

namespace {

using namespace typedcall::python;
using typedcall::object_ref;

struct typed_loop {
  typedcall::loop loop;
  python_access *where;
  std::vector<std::intptr_t> steps;
};

std::string run(void *data, char *const *arrays, std::int64_t count) {
  const auto &self = *static_cast<const typed_loop *>(data);
  const std::intptr_t number = count;
  std::string said;
  if (self.loop.may_detach() && !self.loop.may_fall_back()) {
    self.loop.run_detached(arrays, &number, self.steps.data());
    return said;
  }
  const bool is_run = self.where->attached(nullptr, [&] {
    if (self.loop.run(arrays, &number, self.steps.data()) == 0) return;
    said = error_text().get();
    typedcall::internal::clear_exception();
  });
  return is_run ? said : self.where->why_detached();
}

void destroy(void *data) {
  auto *const self = static_cast<typed_loop *>(data);
  self->where->destroy(self);
}

/// Makes a function of arrays with the types of one entry. `kept` keeps its address valid.
PyObject *function(PyObject *module, PyObject *callable, PyObject *kept, PyObject *row) {
  entry_row entry;
  if (!entry.read(row)) return nullptr;
  typedcall::loop_options options;
  options.callable = object_ref::borrow(callable);
  auto loop = typedcall::loop::make(entry.signature, entry.flags, entry.address,
                                    object_ref::borrow(kept), std::move(options));
  if (!loop) return nullptr;
  std::vector<std::intptr_t> steps;
  for (const PyNativeType type : loop->inputs()) steps.push_back(PyNativeType_Size(type));
  steps.push_back(PyNativeType_Size(loop->output()));
  python_access *const where = typedcall::state_of<state_with_access>(module).where;
  return made_up::object_of(made_up::array_function{
      run, destroy, new typed_loop{*std::move(loop), where, std::move(steps)}});
}

void end(PyObject *module) { typedcall::state_of<state_with_access>(module).end(); }

typedcall::method_table methods{typedcall::def<function>("function", typedcall::takes_self),
                                typedcall::def<made_up::call_arrays>("call"),
                                typedcall::def<end>("end", typedcall::takes_self)};

}  // namespace

TYPEDCALL_MODULE_STATE(made_up_arrays, "A sink of arrays.", methods.required(), state_with_access);
