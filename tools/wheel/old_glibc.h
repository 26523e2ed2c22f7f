// Included first in every source of a wheel, so that the wheel runs with older glibc and libstdc++.
// glibc 2.34 moved these functions into libc.so.6 under new symbol versions, but keeps the old
// symbol versions, which are requested here.
#ifdef __x86_64__
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlclose,dlclose@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
__asm__(".symver dladdr1,dladdr1@GLIBC_2.3.3");
__asm__(".symver pthread_mutex_trylock,pthread_mutex_trylock@GLIBC_2.2.5");
#endif

// Code compiled by newer GCCs calls these functions, which older versions of libstdc++ lack.
#ifdef __cplusplus
#include <cxxabi.h>

#include <exception>
#include <new>
extern "C" [[noreturn]] __attribute__((weak, visibility("hidden"))) void __cxa_call_terminate(
    void *thrown) noexcept {
  if (thrown != nullptr) abi::__cxa_begin_catch(thrown);
  std::terminate();
}
namespace std {
[[noreturn]] __attribute__((weak, visibility("hidden"))) void __throw_bad_array_new_length() {
  throw bad_array_new_length();
}
}  // namespace std
#endif
