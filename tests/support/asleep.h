// Tells where another thread is. Nothing reports that it waits for the GIL, or has stopped for
// good; but the kernel knows that it sleeps. For tests that need a thread to be there, without
// guessing how long it takes.
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

/// The kernel's number of the calling thread.
inline pid_t ThisThread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

/// The kernel's state of a thread of this process: 'S' is asleep, 'R' runs or is ready, 'X' has
/// ended.
inline char StateOf(pid_t thread) {
  std::FILE *const file =
      std::fopen(("/proc/self/task/" + std::to_string(thread) + "/stat").c_str(), "r");
  if (file == nullptr) return 'X';
  char text[256];
  text[std::fread(text, 1, sizeof(text) - 1, file)] = '\0';
  std::fclose(file);
  // After the program's name, which may contain anything but the last parenthesis.
  const char *const name_end = std::strrchr(text, ')');
  return name_end == nullptr || name_end[1] == '\0' || name_end[2] == 'Z' ? 'X' : name_end[2];
}

/// Waits until a thread sleeps, or has ended. It must have no reason to sleep but the one the
/// caller waits for. Aborts after a minute: the thread has not got there.
inline void WaitUntilAsleep(pid_t thread) {
  // In a row: a thread that waits for the GIL wakes up every few milliseconds, and a lock of the C
  // library is soon free. One that only lacks a processor does not count: it does not sleep.
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
