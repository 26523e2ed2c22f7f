// Waits until another thread sleeps. Python does not report this, so these functions ask the
// kernel.
#ifndef TYPEDCALL_TESTS_SUPPORT_ASLEEP_H_
#define TYPEDCALL_TESTS_SUPPORT_ASLEEP_H_

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace typedcall_test {

/// Returns the kernel's ID of the calling thread.
inline pid_t ThisThread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

/// Returns the state of a thread of this process: 'S' asleep, 'R' running or ready, 'X' ended.
inline char StateOf(pid_t thread) {
  std::FILE *const file =
      std::fopen(("/proc/self/task/" + std::to_string(thread) + "/stat").c_str(), "r");
  if (file == nullptr) return 'X';
  char text[256];
  text[std::fread(text, 1, sizeof(text) - 1, file)] = '\0';
  std::fclose(file);
  // The state follows the last parenthesis. The name before it may also contain parentheses.
  const char *const name_end = std::strrchr(text, ')');
  return name_end == nullptr || name_end[1] == '\0' || name_end[2] == 'Z' ? 'X' : name_end[2];
}

/// Waits until a thread sleeps or has ended. The thread must sleep only for the reason that the
/// test expects. Aborts if this takes more than a minute.
inline void WaitUntilAsleep(pid_t thread) {
  // The thread must be asleep ten times in a row, because it may also wait briefly for a lock of
  // the C library.
  int asleep = 0;
  for (int millisecond = 0; asleep < 10; ++millisecond) {
    const char state = StateOf(thread);
    if (state == 'X') return;
    asleep = state == 'S' ? asleep + 1 : 0;
    if (millisecond == 60000) {
      std::fprintf(stderr, "a thread was expected to sleep, and is in the state %c\n", state);
      std::abort();
    }
    usleep(1000);
  }
}

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_SUPPORT_ASLEEP_H_
