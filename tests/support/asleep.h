// Where has another thread got to? That it waits for the GIL, or for good, nobody says; but the
// kernel knows that it sleeps. For tests that need a thread to be there, without guessing how long
// it takes.
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

/// How the kernel has a thread of this process: 'S' is asleep, 'R' runs or would, 'X' has ended.
inline char StateOf(pid_t thread) {
  std::FILE *const file =
      std::fopen(("/proc/self/task/" + std::to_string(thread) + "/stat").c_str(), "r");
  if (file == nullptr) return 'X';
  char text[256];
  text[std::fread(text, 1, sizeof(text) - 1, file)] = '\0';
  std::fclose(file);
  // Behind the name of the program, which may have anything but the last parenthesis.
  const char *const name_end = std::strrchr(text, ')');
  return name_end == nullptr || name_end[1] == '\0' || name_end[2] == 'Z' ? 'X' : name_end[2];
}

/// Waits until a thread sleeps, which must have nothing to sleep for but what it is to be waited
/// for at, or has ended. Aborts after a minute: the thread has not got there.
inline void WaitUntilAsleep(pid_t thread) {
  // In a row: who asks for the GIL looks up every few milliseconds, and a lock of the C library
  // is soon free. One that only has no processor does not count: it does not sleep.
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
