// Three tagged functions. The first is thread-safe. The second needs the GIL and may raise. Only
// one thread at a time may call the third.
#include "typedcall/provider.h"

long twice(long x) noexcept { return 2 * x; }
long positive(long x) noexcept {
  if (x > 0) return x;
  PyErr_SetString(PyExc_ValueError, "not positive");
  return -1;
}
long calls = 0;
long count() noexcept { return ++calls; }

static typedcall::method_table methods{typedcall::def<twice>("twice", typedcall::thread_safe),
                                       typedcall::def<positive>("positive", typedcall::may_raise),
                                       typedcall::def<count>("count")};
TYPEDCALL_MODULE(sizes, "An extension module that knows nothing of ctypes or cffi.", methods);
