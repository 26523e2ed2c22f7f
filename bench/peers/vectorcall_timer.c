// Calls a callable many times by vectorcall, and starts and stops callgrind. Used by run.py.
#include <Python.h>
#include <time.h>

#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define HAS_CALLGRIND 1
#endif
#endif
#ifndef HAS_CALLGRIND
#define HAS_CALLGRIND 0
#endif

enum { MOST_ARGUMENTS = 8 };

// Returns the thread's processor time.
static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// Aligned, so that preceding code does not affect the loop.
static __attribute__((noinline, aligned(64))) int call_in_a_loop(PyObject *callable,
                                                                 PyObject *const *args,
                                                                 size_t nargsf, Py_ssize_t calls) {
  for (Py_ssize_t i = 0; i < calls; ++i) {
    PyObject *result = PyObject_Vectorcall(callable, args, nargsf, NULL);
    if (result == NULL) return -1;
    Py_DECREF(result);
  }
  return 0;
}

static PyObject *time_calls(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *callable, *arguments;
  Py_ssize_t calls;
  if (!PyArg_ParseTuple(args, "OO!n", &callable, &PyTuple_Type, &arguments, &calls)) return NULL;
  const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
  if (count > MOST_ARGUMENTS || calls < 1) {
    PyErr_SetString(PyExc_ValueError, "at most 8 arguments, at least one call");
    return NULL;
  }
  // PY_VECTORCALL_ARGUMENTS_OFFSET lets the callee overwrite the first element temporarily.
  PyObject *vector[MOST_ARGUMENTS + 1] = {NULL};
  for (Py_ssize_t i = 0; i < count; ++i) vector[i + 1] = PyTuple_GET_ITEM(arguments, i);
  const long long start = now_ns();
  if (call_in_a_loop(callable, vector + 1, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, calls) <
      0) {
    return NULL;
  }
  return PyFloat_FromDouble((double)(now_ns() - start) / (double)calls);
}

static PyObject *start_counting(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
#if HAS_CALLGRIND
  CALLGRIND_TOGGLE_COLLECT;
#endif
  Py_RETURN_NONE;
}

// Stops counting, and writes the count to a file whose name contains `name`.
static PyObject *stop_counting(PyObject *module, PyObject *name) {
  (void)module;
  const char *text = PyUnicode_AsUTF8(name);
  if (text == NULL) return NULL;
#if HAS_CALLGRIND
  CALLGRIND_TOGGLE_COLLECT;
  CALLGRIND_DUMP_STATS_AT(text);
#endif
  Py_RETURN_NONE;
}

static int exec_module(PyObject *module) {
  return PyModule_AddIntConstant(module, "HAS_CALLGRIND", HAS_CALLGRIND);
}

static PyMethodDef methods[] = {
    {"time_calls", time_calls, METH_VARARGS,
     "time_calls(callable, arguments, calls): nanoseconds per call, by vectorcall."},
    {"start_counting", start_counting, METH_NOARGS, NULL},
    {"stop_counting", stop_counting, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec_module}, {0, NULL}};

static PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                 .m_name = "vectorcall_timer",
                                 .m_methods = methods,
                                 .m_slots = slots};

PyMODINIT_FUNC PyInit_vectorcall_timer(void) { return PyModuleDef_Init(&definition); }
