// Two static extensible types, written as in SEP 200: with positional initialisers, and only with
// the SEP's names. A spring has a stiffness, and a slot with a function that returns a force.
#include "customslots.h"
#include "extensibletype.h"
#include "tests/support/c_module.h"

#define FORCE_ID PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 0x7370, 0)
#define UNUSED_ID PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 0x7371, 0)

typedef struct {
  PyObject_HEAD
  double stiffness;
} Spring;

typedef double (*Force)(PyObject *);

static double stiffness_of(PyObject *spring) { return ((Spring *)spring)->stiffness; }
static double pulled_by_two(PyObject *spring) { return 2.0 * stiffness_of(spring); }
static double pulled_by_three(PyObject *spring) { return 3.0 * stiffness_of(spring); }

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs);
static PyObject *add(PyObject *left, PyObject *right);

static PyCustomSlot spring_slots[] = {
    {FORCE_ID, {(void *)pulled_by_two}},
    {UNUSED_ID, {NULL}},
};

// One slot, and room for those that the type inherits.
static PyCustomSlot long_slots[4] = {{FORCE_ID, {(void *)pulled_by_three}}};

// The fields that are left out are 0.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

// clang-format off
static PyHeapExtensibleTypeObject spring = {
  {
    {
      PyVarObject_HEAD_INIT(NULL, 0)
      "static_springs.Spring", sizeof(Spring), 0,  // name and sizes
      0, 0, 0, 0,                                  // from tp_dealloc to tp_setattr
      &spring.etp_heaptype.as_async,
      0,                                           // tp_repr
      &spring.etp_heaptype.as_number,
      &spring.etp_heaptype.as_sequence,
      &spring.etp_heaptype.as_mapping,
      0, 0, 0, 0, 0,                               // from tp_hash to tp_setattro
      &spring.etp_heaptype.as_buffer,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
      "Spring(stiffness)",
      0, 0, 0, 0, 0, 0,                            // from tp_traverse to tp_iternext
      0, 0, 0,                                     // methods, members, attributes
      0, 0, 0, 0, 0,                               // from tp_base to tp_dictoffset
      0, 0, make,
    },
    {0},    // as_async
    {add},  // as_number
    {0},    // as_mapping
    {0},    // as_sequence
    {0, 0},  // as_buffer
    0, 0,   // ht_name, ht_slots
  },
  2, spring_slots,
};

static PyHeapExtensibleTypeObject long_spring = {
  {{PyVarObject_HEAD_INIT(NULL, 0) "static_springs.LongSpring", sizeof(Spring)}},
  1, long_slots,
};
// clang-format on

#pragma GCC diagnostic pop

static PyTypeObject *const spring_type = &spring.etp_heaptype.ht_type;
static PyTypeObject *const long_type = &long_spring.etp_heaptype.ht_type;

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  double stiffness;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "d", &stiffness)) return NULL;
  PyObject *made = type->tp_alloc(type, 0);
  if (made != NULL) ((Spring *)made)->stiffness = stiffness;
  return made;
}

static PyObject *add(PyObject *left, PyObject *right) {
  if (!PyObject_TypeCheck(left, spring_type) || !PyFloat_Check(right)) Py_RETURN_NOTIMPLEMENTED;
  return PyFloat_FromDouble(stiffness_of(left) + PyFloat_AS_DOUBLE(right));
}

static PyObject *call(PyObject *module, PyObject *any) {
  const PyCustomSlot *slot = PyCustomSlots_Find(any, FORCE_ID, 0);
  (void)module;
  if (slot == NULL) Py_RETURN_NONE;
  return PyFloat_FromDouble(((Force)slot->data.pointer)(any));
}

static PyObject *count(PyObject *module, PyObject *any) {
  (void)module;
  return PyLong_FromSsize_t(PyCustomSlots_Count(any));
}

static PyMethodDef methods[] = {
    {"call", call, METH_O, "Calls the function in the slot. None if there is no slot."},
    {"count", count, METH_O, "The number of slots."},
    {NULL, NULL, 0, NULL},
};

static int exec(PyObject *module) {
  long_type->tp_base = spring_type;
  long_type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  if (PyExtensibleType_Ready(&spring, 2) < 0) return -1;
  if (PyExtensibleType_Ready(&long_spring, 4) < 0) return -1;
  if (PyObject_SetAttrString(module, "Provider", (PyObject *)spring_type) < 0) return -1;
  return PyObject_SetAttrString(module, "Subtype", (PyObject *)long_type);
}

TEST_MODULE_EXEC(static_springs, methods, exec)
