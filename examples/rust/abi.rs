//! Part of the Rust example: the structs and constants of docs/ABI.md, and the look-up of the
//! interface. For LP64.
#![allow(dead_code)]

use crate::python::*;
use std::mem::size_of;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::AtomicU64;

// ---- Section 1: slots on types. Fields that another thread may write while we read are atomic.

pub const EXTENSIBLE_MAGIC: u64 = 0xd1a0c5b3e7f42961;
pub const NATIVE_CALLABLE_ID: usize = 0x0400_0001;

#[repr(C)]
pub struct CustomSlot {
    pub id: usize,
    pub data: usize,
}

#[repr(C)]
pub struct ExtensibleTypeData {
    pub count: isize,
    pub table: *const CustomSlot,
    pub magic: AtomicU64,
}

// ---- Section 3: entries and their flags.

pub const NEEDS_THREAD: usize = 0x0001;
pub const ACQUIRES_GIL: usize = 0x0002;
pub const MAY_RAISE: usize = 0x0004;
pub const ERROR_IS_NEG_ZERO: usize = 0x0008;
pub const RETURNS_STATUS: usize = 0x0010;
pub const TAKES_SELF: usize = 0x0020;
pub const SETS_ERRNO: usize = 0x0040;
pub const DIFFERS: usize = 0x0080;
pub const FALLS_BACK: usize = 0x0100;
pub const THREAD_SAFE: usize = 0x01_0000;
pub const PURE: usize = 0x02_0000;

#[repr(C)]
pub struct Entry {
    pub signature: *const c_char,
    pub flags: usize,
    pub function: *const c_void,
}

/// `entries` has `count` elements, although one is declared.
#[repr(C)]
pub struct Table {
    pub count: isize,
    pub entries: [Entry; 1],
}

// ---- Section 4: data in front of a name, and symbols beside a def.

pub const METH_TYPED: c_int = 0x1000;
pub const METH_TYPED_EXT: c_int = 0x2000;
pub const HEADER_MAGIC: u64 = 0x5059_5459_5045_4431;
pub const HEADER_SIZE: u32 = 56;

#[repr(C)]
pub struct PyPyMetadata {
    pub arg_types: *const c_int,
    pub ret_type: c_int,
    pub padding: c_int,
    pub function: *const c_void,
    pub ml_name: [c_char; 100],
}

#[repr(C, align(8))]
pub struct OneArgMetadata {
    pub arg_type: c_int,
    pub ret_type: c_int,
    pub function: *const c_void,
    pub ml_name: [c_char; 100],
}

#[repr(C)]
pub struct TypedMetadata {
    pub reserved: *const c_void,
    pub table: *const Table,
    pub size: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    pub magic: u64,
    pub pypy: PyPyMetadata,
}

#[repr(C)]
pub struct Sibling {
    pub def: *const PyMethodDef,
    pub table: *const Table,
}

// ---- Section 5: the interface between modules.

pub const BY_DEF: c_int = 1;
pub const BY_OBJECT: c_int = 2;

#[repr(C)]
#[rustfmt::skip]
pub struct Interface {
    pub abi_major: u16,
    pub abi_minor: u16,
    pub size: u32,
    pub state: *mut c_void,
    pub metaclass: unsafe extern "C" fn(*mut c_void) -> *mut PyTypeObject,
    pub resolve: unsafe extern "C" fn(*mut c_void, *mut PyTypeObject, own: *const CustomSlot, own_count: isize) -> c_int,
    pub find: unsafe extern "C" fn(*mut c_void, space: c_int, key: *const c_void) -> *const c_void,
    pub hold: unsafe extern "C" fn(*mut c_void, space: c_int, key: *const c_void, callable: *mut PyObject,
                                   value: *mut *const c_void) -> *mut PyObject,
    pub publish: unsafe extern "C" fn(*mut c_void, space: c_int, key: *const c_void, owner: *mut PyObject, value: *const c_void,
                                      equal: *const c_void, destroy: *const c_void, kept: *mut PyObject) -> c_int,
    /// exchange, retract, sibling, counters, live_counters, slot_id, ready_static and combined_metaclass
    _not_used_here: [usize; 8],
}

const _: () = assert!(
    size_of::<Interface>() == 120
        && size_of::<TypedMetadata>() == 56 + 104
        && size_of::<Entry>() == 24
        && size_of::<CustomSlot>() == 16
);

// Static variables of these types are never modified.
unsafe impl Sync for Table {}
unsafe impl Sync for PyPyMetadata {}
unsafe impl Sync for OneArgMetadata {}
unsafe impl Sync for TypedMetadata {}
unsafe impl Sync for Sibling {}

/// Returns the interpreter's interface, or NULL (5.1, 5.2). Attached. Never keep it in a static,
/// because it belongs to one interpreter.
pub unsafe fn find_interface() -> *const Interface {
    let name = c!("_extensibletype.typedcall_v2");
    let own = PyInterpreterState_GetDict(PyInterpreterState_Get());
    let mut capsule = if own.is_null() { null_mut() } else { PyDict_GetItemString(own, name) };
    let mut _kept = None;
    if capsule.is_null() {
        if let Ok(object) = in_module() {
            capsule = object.get();
            _kept = Some(object);
        }
        PyErr_Clear();
    }
    if PyCapsule_IsValid(capsule, name) == 0 {
        return null_mut();
    }
    let interface = PyCapsule_GetPointer(capsule, name) as *const Interface;
    let usable = (*interface).abi_major == 1 && (*interface).size as usize >= size_of::<Interface>();
    if usable {
        interface
    } else {
        null_mut()
    }
}

unsafe fn in_module() -> Result<Owned, Raised> {
    let name = Owned::new(PyUnicode_FromString(c!("_extensibletype")))?;
    let module = Owned::new(PyImport_GetModule(name.get()))?;
    Owned::new(PyObject_GetAttrString(module.get(), c!("typedcall_v2")))
}
