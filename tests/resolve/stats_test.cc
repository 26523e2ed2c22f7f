// Tests the counters. Compiled with and without them.

#include "typedcall/resolve.h"

#include "tests/resolve/callables.h"
#include "typedcall/boxed_call.h"
#include "typedcall/invoker.h"

namespace {

using namespace resolve_test;
using typedcall::event;
using typedcall::stats;

long next(long x) noexcept { return x + 1; }
long of_self(PyObject *, long x) noexcept { return x; }

static_assert(stats::enabled == (TYPEDCALL_STATS != 0));

TEST(Stats, CountWhatHappens) {
  stats::reset();
  const Table table{{"l->l", 0, reinterpret_cast<void *>(next)},
                    {"l->l", PyNativeCallable_TAKES_SELF, reinterpret_cast<void *>(of_self)}};
  const Builtin bits(kBoth, table.get(), Py_None), row(0), object(0);
  ASSERT_EQ(PyTypedMethod_TagDef(Interface(), &row.def, row.get(), table.get(), nullptr), 1);
  ASSERT_EQ(PyNativeCallable_TagObject(Interface(), object.get(), table.get(), nullptr), 1);
  const auto function = typedcall::find<long(long)>(Interface(), bits.get());
  ASSERT_TRUE(function);
  EXPECT_EQ(function(1) + function(2), 5);
  EXPECT_EQ(typedcall::find<long(long)>(Interface(), bits.get(), typedcall::bound())(3), 3);
  EXPECT_TRUE(typedcall::find(Interface(), row.get(), "l->l"));
  EXPECT_TRUE(typedcall::resolve(Interface(), object.get(), "q->q"));
  EXPECT_FALSE(typedcall::find(Interface(), object.get(), "d->d"));

  const std::uint64_t on = stats::enabled ? 1 : 0;
  EXPECT_EQ(stats::count(event::direct), 3 * on);
  EXPECT_EQ(stats::count(event::found_method_metadata), 2 * on);
  EXPECT_EQ(stats::count(event::found_def_row), on);
  EXPECT_EQ(stats::count(event::found_object_row), on);
  EXPECT_EQ(stats::count(event::found_nothing), on);
  EXPECT_EQ(stats::count(event::found_pypy_metadata), 0u);
  EXPECT_EQ(stats::count(event::boxed), 0u);
  stats::add(event::boxed);
  EXPECT_EQ(stats::count(event::boxed), on);
  stats::reset();
  for (unsigned i = 0; i < static_cast<unsigned>(event::events); ++i) {
    EXPECT_EQ(stats::count(static_cast<event>(i)), 0u);
  }
}

TEST(Stats, CountTheWaysOfCalling) {
  stats::reset();
  const std::uint64_t on = stats::enabled ? 1 : 0;
  const struct {
    typedcall::invoker_backend how;
    event counted;
  } ways[] = {{typedcall::invoker_backend::trampoline, event::trampoline},
              {typedcall::invoker_backend::image, event::image},
              {typedcall::invoker_backend::ffi, event::ffi}};
  for (const auto &one : ways) {
    const auto call = typedcall::invoker::make("l->l", 0, reinterpret_cast<void *>(next), one.how);
    if (!call) continue;  // this platform has no register images
    const auto argument = typedcall::native_value::of(41L);
    EXPECT_EQ((*call)(&argument).get<long>(), 42);
    EXPECT_EQ(stats::count(one.counted), on);
  }
  const Builtin boxed(0);
  long result = 0;
  (void)typedcall::boxed_call(boxed.get(), &result, 1L);
  PyErr_Clear();
  EXPECT_EQ(stats::count(event::boxed), on);
  EXPECT_EQ(stats::count(event::direct), 0u);
}

// Each place has an event with the same name.
TEST(Stats, EventsAreInTheOrderOfPlaces) {
  using typedcall::place;
  using typedcall::internal::found_in;
  EXPECT_EQ(found_in(place::instance_slot), event::found_instance_slot);
  EXPECT_EQ(found_in(place::method_metadata), event::found_method_metadata);
  EXPECT_EQ(found_in(place::pypy_metadata), event::found_pypy_metadata);
  EXPECT_EQ(found_in(place::def_row), event::found_def_row);
  EXPECT_EQ(found_in(place::object_row), event::found_object_row);
  EXPECT_EQ(found_in(place::sibling_symbol), event::found_sibling_symbol);
}

}  // namespace
