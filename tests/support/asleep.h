// Detects, through the kernel, that another thread sleeps because it waits for the GIL or has
// stopped for good; Python does not report this. Tests can wait for this state without guessing a
// time.
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

/// Returns the kernel's number for the calling thread.
inline pid_t ThisThread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

/// Returns the state, according to the kernel, of one of this process's threads: 'S' asleep, 'R'
/// running or ready, 'X' ended.
inline char StateOf(pid_t thread) {
  std::FILE *const file =
      std::fopen(("/proc/self/task/" + std::to_string(thread) + "/stat").c_str(), "r");
  if (file == nullptr) return 'X';
  char text[256];
  text[std::fread(text, 1, sizeof(text) - 1, file)] = '\0';
  std::fclose(file);
  // The state follows the last parenthesis, because the program's name may contain any other
  // character.
  const char *const name_end = std::strrchr(text, ')');
  return name_end == nullptr || name_end[1] == '\0' || name_end[2] == 'Z' ? 'X' : name_end[2];
}

/// Waits until a thread sleeps, or has ended. The thread must have no reason to sleep except the
/// expected one. Aborts if this takes more than a minute.
inline void WaitUntilAsleep(pid_t thread) {
  // The thread must be found asleep ten times in a row: a thread that waits for the GIL wakes up
  // only every few milliseconds, whereas the C library's locks are soon free. A thread that only
  // lacks a processor does not sleep.
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
