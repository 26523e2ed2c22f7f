//! Part of the Rust example: the parts of CPython that it needs. For CPython 3.9 to 3.13 with a
//! GIL, on LP64.
#![allow(dead_code, non_upper_case_globals)]

use std::os::raw::{c_char, c_int, c_uint, c_ulong, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{null, null_mut};

#[repr(C)]
pub struct PyObject {
    pub refcount: isize,
    pub kind: *mut PyTypeObject,
}

/// The fields that we use, at their offsets in 3.9 to 3.13. The real struct is longer.
#[repr(C)]
pub struct PyTypeObject {
    pub head: PyObject,
    _to_basicsize: [usize; 2],
    pub tp_basicsize: isize,
    _to_call: [usize; 11],
    pub tp_call: usize,
    _to_as_buffer: [usize; 3],
    pub tp_as_buffer: usize,
    pub tp_flags: c_ulong,
    _to_new: [usize; 17],
    pub tp_new: Option<unsafe extern "C" fn(*mut PyTypeObject, *mut PyObject, *mut PyObject) -> *mut PyObject>,
    pub tp_free: Option<unsafe extern "C" fn(*mut c_void)>,
    _to_mro: [usize; 2],
    pub tp_mro: *mut PyObject,
}

pub const TPFLAGS_HEAPTYPE: c_ulong = 1 << 9;
pub const TPFLAGS_BASETYPE: c_ulong = 1 << 10;
pub const TPFLAGS_DEFAULT: c_ulong = 1 << 18;

pub const METH_VARARGS: c_int = 0x0001;
pub const METH_KEYWORDS: c_int = 0x0002;
pub const METH_NOARGS: c_int = 0x0004;
pub const METH_O: c_int = 0x0008;
pub const METH_STATIC: c_int = 0x0020;
pub const METH_FASTCALL: c_int = 0x0080;
pub const METH_METHOD: c_int = 0x0200;

#[repr(C)]
pub struct PyMethodDef {
    pub ml_name: *const c_char,
    pub ml_meth: *const c_void,
    pub ml_flags: c_int,
    pub ml_doc: *const c_char,
}

#[repr(C)]
pub struct PyCFunctionObject {
    pub head: PyObject,
    pub m_ml: *const PyMethodDef,
    pub m_self: *mut PyObject,
}

#[repr(C)]
pub struct PyMemberDef {
    pub name: *const c_char,
    pub kind: c_int,
    pub offset: isize,
    pub flags: c_int,
    pub doc: *const c_char,
}

/// A slot of a module (Py_mod_exec) or of a type (numbers as in typeslots.h).
#[repr(C)]
pub struct Slot {
    pub slot: c_int,
    pub value: *const c_void,
}
pub const MOD_EXEC: c_int = 2;
pub const TP_CALL: c_int = 50;
pub const TP_DEALLOC: c_int = 52;
pub const TP_MEMBERS: c_int = 72;

#[repr(C)]
pub struct PyTypeSpec {
    pub name: *const c_char,
    pub basicsize: c_int,
    pub itemsize: c_int,
    pub flags: c_uint,
    pub slots: *const Slot,
}

#[repr(C)]
pub struct PyModuleDef {
    pub head: PyObject,
    pub base: [usize; 3],
    pub name: *const c_char,
    pub doc: *const c_char,
    pub size: isize,
    pub methods: *const PyMethodDef,
    pub slots: *const Slot,
    pub traverse_clear_free: [usize; 3],
}

#[repr(C)]
pub struct PyBuffer {
    pub buf: *mut c_void,
    pub obj: *mut PyObject,
    pub len: isize,
    pub itemsize: isize,
    pub readonly: c_int,
    pub ndim: c_int,
    pub format: *const c_char,
    pub _rest: [usize; 4],
}
pub const BUF_WRITABLE: c_int = 0x01;
pub const BUF_FORMAT: c_int = 0x04;
pub const BUF_C_CONTIGUOUS: c_int = 0x38;

#[rustfmt::skip]
extern "C" {
    pub static mut PyType_Type: PyTypeObject;
    pub static mut PyTuple_Type: PyTypeObject;
    pub static mut PyCFunction_Type: PyTypeObject;
    pub static mut PyCMethod_Type: PyTypeObject;
    pub static mut PyMethodDescr_Type: PyTypeObject;
    pub static mut PyClassMethodDescr_Type: PyTypeObject;
    pub static PyExc_TypeError: *mut PyObject;
    pub static PyExc_ValueError: *mut PyObject;
    pub static PyExc_LookupError: *mut PyObject;
    pub static PyExc_OverflowError: *mut PyObject;
    pub static PyExc_ImportError: *mut PyObject;
    pub static PyExc_RuntimeError: *mut PyObject;
    pub static PyExc_SystemError: *mut PyObject;
    pub static PyExc_NotImplementedError: *mut PyObject;
    static mut _Py_NoneStruct: PyObject;

    pub fn Py_IncRef(object: *mut PyObject);
    pub fn Py_DecRef(object: *mut PyObject);
    pub fn PyErr_SetString(kind: *mut PyObject, text: *const c_char);
    pub fn PyErr_Occurred() -> *mut PyObject;
    pub fn PyErr_ExceptionMatches(kind: *mut PyObject) -> c_int;
    pub fn PyErr_Clear();
    pub fn PyArg_ParseTuple(args: *mut PyObject, format: *const c_char, ...) -> c_int;
    pub fn Py_BuildValue(format: *const c_char, ...) -> *mut PyObject;
    pub fn PyObject_Call(callable: *mut PyObject, args: *mut PyObject, keywords: *mut PyObject) -> *mut PyObject;
    pub fn PyObject_CallNoArgs(callable: *mut PyObject) -> *mut PyObject;
    pub fn PyObject_GetAttrString(object: *mut PyObject, name: *const c_char) -> *mut PyObject;
    pub fn PyObject_ClearWeakRefs(object: *mut PyObject);
    pub fn PyObject_GetBuffer(object: *mut PyObject, view: *mut PyBuffer, flags: c_int) -> c_int;
    pub fn PyBuffer_Release(view: *mut PyBuffer);
    pub fn PyFloat_FromDouble(value: f64) -> *mut PyObject;
    pub fn PyFloat_AsDouble(object: *mut PyObject) -> f64;
    pub fn PyLong_FromLong(value: i64) -> *mut PyObject;
    pub fn PyLong_FromSize_t(value: usize) -> *mut PyObject;
    pub fn PyLong_AsLong(object: *mut PyObject) -> i64;
    pub fn PyBool_FromLong(value: i64) -> *mut PyObject;
    pub fn PyObject_IsTrue(object: *mut PyObject) -> c_int;
    pub fn PyLong_AsSize_t(object: *mut PyObject) -> usize;
    pub fn PyUnicode_AsUTF8AndSize(text: *mut PyObject, size: *mut isize) -> *const c_char;
    pub fn PyUnicode_FromString(text: *const c_char) -> *mut PyObject;
    pub fn PyTuple_Size(tuple: *mut PyObject) -> isize;
    pub fn PyTuple_GetItem(tuple: *mut PyObject, index: isize) -> *mut PyObject;
    pub fn PyDict_New() -> *mut PyObject;
    pub fn PyDict_GetItemString(dict: *mut PyObject, key: *const c_char) -> *mut PyObject;
    pub fn PyDict_SetItemString(dict: *mut PyObject, key: *const c_char, value: *mut PyObject) -> c_int;
    pub fn PySet_New(iterable: *mut PyObject) -> *mut PyObject;
    pub fn PySet_Add(set: *mut PyObject, item: *mut PyObject) -> c_int;
    pub fn PyCapsule_IsValid(capsule: *mut PyObject, name: *const c_char) -> c_int;
    pub fn PyCapsule_GetPointer(capsule: *mut PyObject, name: *const c_char) -> *mut c_void;
    pub fn PyImport_ImportModule(name: *const c_char) -> *mut PyObject;
    pub fn PyImport_GetModule(name: *mut PyObject) -> *mut PyObject;
    pub fn PyInterpreterState_Get() -> *mut c_void;
    pub fn PyInterpreterState_GetDict(interpreter: *mut c_void) -> *mut PyObject;
    pub fn PyEval_SaveThread() -> *mut c_void;
    pub fn PyEval_RestoreThread(thread: *mut c_void);
    pub fn _PyType_Lookup(kind: *mut PyTypeObject, name: *mut PyObject) -> *mut PyObject; // borrowed
    pub fn PyType_IsSubtype(kind: *mut PyTypeObject, base: *mut PyTypeObject) -> c_int;
    pub fn PyType_FromSpec(spec: *const PyTypeSpec) -> *mut PyObject;
    pub fn PyCFunction_NewEx(def: *const PyMethodDef, own: *mut PyObject, module: *mut PyObject) -> *mut PyObject;
    pub fn PyModule_GetState(module: *mut PyObject) -> *mut c_void;
    pub fn PyModuleDef_Init(def: *mut PyModuleDef) -> *mut PyObject;
}

// Static variables of these types are never modified.
unsafe impl Sync for PyMethodDef {}
unsafe impl Sync for PyMemberDef {}
unsafe impl Sync for Slot {}

/// A module with multi-phase initialisation (PEP 489), so that each interpreter has its own.
pub const fn module_def(name: *const c_char, size: usize, methods: *const PyMethodDef, slots: &'static [Slot]) -> PyModuleDef {
    PyModuleDef {
        head: PyObject { refcount: 1, kind: null_mut() },
        base: [0; 3],
        name,
        doc: null(),
        size: size as isize,
        methods,
        slots: slots.as_ptr(),
        traverse_clear_free: [0; 3],
    }
}

macro_rules! c {
    ($text:expr) => {
        concat!($text, "\0").as_ptr() as *const std::os::raw::c_char
    };
}

/// Shows that a Python exception is set.
pub struct Raised;

pub unsafe fn raise<T>(kind: *mut PyObject, text: *const c_char) -> Result<T, Raised> {
    PyErr_SetString(kind, text);
    Err(Raised)
}

/// Turns the status of a CPython function, 0 or -1, into a Result.
pub fn check(status: c_int) -> Result<(), Raised> {
    (status == 0).then(|| ()).ok_or(Raised)
}

/// A reference, released when it goes out of scope.
pub struct Owned(*mut PyObject);

impl Owned {
    /// Takes the new reference that a CPython function returned, or its exception.
    pub fn new(object: *mut PyObject) -> Result<Owned, Raised> {
        (!object.is_null()).then(|| Owned(object)).ok_or(Raised)
    }
    pub unsafe fn borrowed(object: *mut PyObject) -> Owned {
        Py_IncRef(object);
        Owned(object)
    }
    /// Takes over a reference from another owner.
    pub fn stolen(object: *mut PyObject) -> Owned {
        Owned(object)
    }
    pub unsafe fn none() -> Owned {
        Owned::borrowed(std::ptr::addr_of_mut!(_Py_NoneStruct))
    }
    pub fn get(&self) -> *mut PyObject {
        self.0
    }
    pub fn release(self) -> *mut PyObject {
        std::mem::ManuallyDrop::new(self).0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        unsafe { Py_DecRef(self.0) }
    }
}

/// Runs the body of a function that Python calls. A panic becomes a SystemError, because it must not reach C.
pub unsafe fn guarded(work: impl FnOnce() -> Result<Owned, Raised>) -> *mut PyObject {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(object)) => object.release(),
        Ok(Err(Raised)) => null_mut(),
        Err(_) => {
            PyErr_SetString(PyExc_SystemError, c!("a panic in Rust"));
            null_mut()
        }
    }
}
