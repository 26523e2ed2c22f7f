// Tests readers that never hold the GIL while the main thread publishes and retracts. A reader
// must find either nothing or one of the values of its key.
#include <atomic>
#include <thread>

#include "tests/core/rows.h"
#include "tests/support/seed.h"

namespace typedcall_test {
namespace {

constexpr int kDef = PyTypedcall_BY_DEF;

using Readers = Rows;

// Each key has its own range of values, so that readers can check them.
constexpr size_t kKeys = 512, kValues = 64;
char memory[kKeys][kValues];

TEST_F(Readers, SeeNothingOrTheRightValue) {
  std::atomic<bool> stop{false};
  std::atomic<long> wrong{0}, found{0}, missing{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        for (size_t k = 0; k < kKeys; ++k) {
          const char *value = static_cast<const char *>(Find(kDef, &memory[k]));
          if (value == nullptr) {
            ++missing;
          } else if (value < memory[k] || value >= memory[k] + kValues) {
            ++wrong;
          } else {
            ++found;
          }
        }
      }
    });
  }
  const auto seed = Seed(1);
  SCOPED_TRACE(SeedText(seed));
  unsigned state = seed;
  std::vector<Ref> owners(kKeys);
  for (long turn = 0; turn < 2000 || found < 1000 || missing < 1000; ++turn) {
    state = state * 1103515245u + 12345u;
    const size_t k = (state >> 8) % kKeys;
    if (owners[k] && turn % 3 == 0) {
      Retract(kDef, &memory[k]);
    } else if (owners[k]) {
      owners[k].reset();
    } else {
      owners[k] = Owner();
      const char *value = &memory[k][(state >> 20) % kValues];
      ASSERT_EQ(Publish(kDef, &memory[k], owners[k], value, nullptr), value);
    }
    if (turn % 64 == 0) std::this_thread::yield();
  }
  stop = true;
  for (std::thread &reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(missing, 0);
  EXPECT_GT(Counted().generations, 3u);
}

}  // namespace
}  // namespace typedcall_test
