// The provider example of SEP 200, and a consumer. The positional initialisers and the includes are
// those of the SEP.
#include "customslots.h"
#include "extensibletype.h"
#include "tests/support/c_module.h"

#define SOME_FUNCTIONALITY_ID PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 0x100, 0)
#define OTHER_FUNCTIONALITY_ID PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 0x101, 0)

typedef struct {
  PyObject_HEAD
  double value;
} MyProvider_Object;

static double TwiceTheValue(PyObject *object) { return 2 * ((MyProvider_Object *)object)->value; }
static double ThriceTheValue(PyObject *object) { return 3 * ((MyProvider_Object *)object)->value; }

typedef double (*some_functionality)(PyObject *);

static int MyProvider_init(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)kwargs;
  return PyArg_ParseTuple(args, "d", &((MyProvider_Object *)self)->value) ? 0 : -1;
}

static PyObject *MyProvider_add(PyObject *left, PyObject *right) {
  if (Py_TYPE(left)->tp_init != MyProvider_init || !PyFloat_Check(right)) {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
  }
  return PyFloat_FromDouble(((MyProvider_Object *)left)->value + PyFloat_AS_DOUBLE(right));
}

static PyCustomSlot my_custom_slots[] = {
    {SOME_FUNCTIONALITY_ID, {(void *)TwiceTheValue}},
    {OTHER_FUNCTIONALITY_ID, {NULL}},
};

// A static subclass needs room for the inherited slots.
static PyCustomSlot sub_custom_slots[4] = {
    {SOME_FUNCTIONALITY_ID, {(void *)ThriceTheValue}},
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

extern PyHeapExtensibleTypeObject MyProvider_Type;

PyHeapExtensibleTypeObject MyProvider_Type = {
    /* PyHeapTypeObject etp_heaptype */
    {
        /* PyTypeObject ht_type */
        {
            PyVarObject_HEAD_INIT(0, 0)                /* PyVarObject_HEAD */
            "sep200_example.myprovidertype",           /*tp_name*/
            sizeof(MyProvider_Object),                 /*tp_basicsize*/
            0,                                         /*tp_itemsize*/
            0,                                         /*tp_dealloc*/
            0,                                         /*tp_vectorcall_offset*/
            0,                                         /*tp_getattr*/
            0,                                         /*tp_setattr*/
            0,                                         /*tp_as_async*/
            0,                                         /*tp_repr*/
            &MyProvider_Type.etp_heaptype.as_number,   /*tp_as_number*/
            &MyProvider_Type.etp_heaptype.as_sequence, /*tp_as_sequence*/
            &MyProvider_Type.etp_heaptype.as_mapping,  /*tp_as_mapping*/
            0,                                         /*tp_hash*/
            0,                                         /*tp_call*/
            0,                                         /*tp_str*/
            0,                                         /*tp_getattro*/
            0,                                         /*tp_setattro*/
            &MyProvider_Type.etp_heaptype.as_buffer,   /*tp_as_buffer*/
            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,  /*tp_flags*/
            0,                                         /*tp_doc*/
            0,                                         /*tp_traverse*/
            0,                                         /*tp_clear*/
            0,                                         /*tp_richcompare*/
            0,                                         /*tp_weaklistoffset*/
            0,                                         /*tp_iter*/
            0,                                         /*tp_iternext*/
            0,                                         /*tp_methods*/
            0,                                         /*tp_members*/
            0,                                         /*tp_getset*/
            0,                                         /*tp_base*/
            0,                                         /*tp_dict*/
            0,                                         /*tp_descr_get*/
            0,                                         /*tp_descr_set*/
            0,                                         /*tp_dictoffset*/
            MyProvider_init,                           /*tp_init*/
            0,                                         /*tp_alloc*/
            PyType_GenericNew,                         /*tp_new*/
        },

        /* PyAsyncMethods as_async */
        {0},

        /* PyNumberMethods as_number */
        {
            MyProvider_add, /*nb_add*/
        },

        /* PyMappingMethods as_mapping */
        {0},

        /* PySequenceMethods as_sequence */
        {0},

        /* PyBufferProcs as_buffer */
        {0},

        0, /* ht_name */
        0  /* ht_slots */
    },     /* end of PyHeapTypeObject */

    2,              /* etp_custom_slot_count */
    my_custom_slots /* etp_custom_slot_table */
};

static PyHeapExtensibleTypeObject MySubtype_Type = {
    {{PyVarObject_HEAD_INIT(0, 0) "sep200_example.mysubtype", sizeof(MyProvider_Object)}},
    1,
    sub_custom_slots};

#pragma GCC diagnostic pop

// call(object) returns the result of the slot's function, or None for objects without the slot.
static PyObject *Call(PyObject *self, PyObject *object) {
  (void)self;
  const PyCustomSlot *slot = PyCustomSlots_Find(object, SOME_FUNCTIONALITY_ID, 0);
  if (slot == NULL) Py_RETURN_NONE;
  some_functionality function;
  memcpy(&function, &slot->data.pointer, sizeof(function));
  return PyFloat_FromDouble(function(object));
}

static PyObject *Count(PyObject *self, PyObject *object) {
  (void)self;
  return PyLong_FromSsize_t(PyCustomSlots_Count(object));
}

static PyMethodDef methods[] = {
    {"call", Call, METH_O, NULL}, {"count", Count, METH_O, NULL}, {NULL, NULL, 0, NULL}};

static int Exec(PyObject *module) {
  MySubtype_Type.etp_heaptype.ht_type.tp_base = &MyProvider_Type.etp_heaptype.ht_type;
  MySubtype_Type.etp_heaptype.ht_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  if (PyExtensibleType_Ready(&MyProvider_Type, 2) < 0) return -1;
  if (PyExtensibleType_Ready(&MySubtype_Type, 4) < 0) return -1;
  if (PyObject_SetAttrString(module, "Provider", (PyObject *)&MyProvider_Type) < 0) return -1;
  return PyObject_SetAttrString(module, "Subtype", (PyObject *)&MySubtype_Type);
}

TEST_MODULE_EXEC(sep200_example, methods, Exec)
