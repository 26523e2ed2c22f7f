//! A provider in Rust. OFFERS contains functions that are offered in each way that docs/ABI.md
//! describes. See tests/conformance/README.md.

#[macro_use]
mod python;
mod abi;
mod functions;

use abi::*;
use functions::*;
use python::*;
use std::mem::size_of;
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::ptr::{addr_of, addr_of_mut, null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::Release};

// ---- The description of each function; all the data are static.

const fn table(signature: &'static str, flags: usize, function: *const c_void) -> Table {
    let end = signature.as_bytes()[signature.len() - 1];
    assert!(end == 0, "a signature ends with a NUL");
    Table { count: 1, entries: [Entry { signature: signature.as_ptr() as *const c_char, flags, function }] }
}

const fn def(name: *const c_char, bits: c_int, function: *const c_void) -> PyMethodDef {
    PyMethodDef { ml_name: name, ml_meth: function, ml_flags: bits, ml_doc: null() }
}

/// The name at the end of a struct defined in section 4.
const fn name(text: &str) -> [c_char; 100] {
    let mut name = [0; 100];
    let mut index = 0;
    while index < text.len() {
        name[index] = text.as_bytes()[index] as c_char;
        index += 1;
    }
    assert!(index < 100 && name[index] == 0);
    name
}

const fn pypy(text: &str, arg_types: &'static [c_int], ret_type: c_int, function: *const c_void) -> PyPyMetadata {
    PyPyMetadata { arg_types: arg_types.as_ptr(), ret_type, padding: 0, function, ml_name: name(text) }
}

/// PyPy's codes, and the placeholder for signatures that they cannot express (4.6).
const LONG: c_int = 1;
const DOUBLE: c_int = 2;
const OTHER: c_int = 0x100;

/// The data for most ways of offering a function: its table, a def without bits, our header, and a
/// def whose name is in that header.
macro_rules! typed {
    ($module:ident, $signature:literal, $flags:expr, $function:ident, $convention:expr, $python:ident) => {
        mod $module {
            use super::*;
            pub static TABLE: Table = table(concat!($signature, "\0"), $flags, $function as *const c_void);
            pub static PLAIN: PyMethodDef = def(c!(stringify!($function)), $convention, $python as *const c_void);
            static HEADER: TypedMetadata = TypedMetadata {
                reserved: null(),
                table: addr_of!(TABLE),
                size: HEADER_SIZE,
                abi_major: 1,
                abi_minor: 0,
                magic: HEADER_MAGIC,
                pypy: pypy(stringify!($function), &[OTHER, -1], OTHER, $function as *const c_void),
            };
            pub static TYPED: PyMethodDef =
                def(addr_of!(HEADER.pypy.ml_name) as _, $convention | METH_TYPED | METH_TYPED_EXT, $python as *const c_void);
        }
    };
}

typed!(of_half, "d->d", THREAD_SAFE | PURE, half, METH_O, py_half);
typed!(of_add, "dd->d", 0, add, METH_FASTCALL, py_add);
typed!(of_next, "l->l", 0, next, METH_O, py_next);
typed!(of_minus, "d->d", NEEDS_THREAD | MAY_RAISE, minus, METH_O, py_minus);
typed!(of_thrice, "d&d->i", NEEDS_THREAD | RETURNS_STATUS, thrice, METH_O, py_thrice);
typed!(of_even, "l&l->i", FALLS_BACK, even, METH_O, py_even);
typed!(of_total, "*kd->d", 0, total, METH_O, py_total);
typed!(of_length, "*s->n", 0, length, METH_O, py_length);

/// The functions offered in three ways, each as (our header, no bits, table).
static FUNCTIONS: [(&PyMethodDef, &PyMethodDef, &Table); 8] = [
    (&of_half::TYPED, &of_half::PLAIN, &of_half::TABLE),
    (&of_add::TYPED, &of_add::PLAIN, &of_add::TABLE),
    (&of_next::TYPED, &of_next::PLAIN, &of_next::TABLE),
    (&of_minus::TYPED, &of_minus::PLAIN, &of_minus::TABLE),
    (&of_thrice::TYPED, &of_thrice::PLAIN, &of_thrice::TABLE),
    (&of_even::TYPED, &of_even::PLAIN, &of_even::TABLE),
    (&of_total::TYPED, &of_total::PLAIN, &of_total::TABLE),
    (&of_length::TYPED, &of_length::PLAIN, &of_length::TABLE),
];

static PYPY_HALF: PyPyMetadata = pypy("half", &[DOUBLE, -1], DOUBLE, half as *const c_void);
static PYPY_NEXT: PyPyMetadata = pypy("next", &[LONG, -1], LONG, next as *const c_void);
static PYPY_MINUS: PyPyMetadata = pypy("minus", &[DOUBLE, -1], -DOUBLE, minus_for_pypy as *const c_void);
static PYPY: [PyMethodDef; 3] = [
    def(addr_of!(PYPY_HALF.ml_name) as _, METH_O | METH_TYPED, py_half as *const c_void),
    def(addr_of!(PYPY_NEXT.ml_name) as _, METH_O | METH_TYPED, py_next as *const c_void),
    def(addr_of!(PYPY_MINUS.ml_name) as _, METH_O | METH_TYPED, py_minus as *const c_void),
];

static ONE_HALF: OneArgMetadata =
    OneArgMetadata { arg_type: DOUBLE, ret_type: DOUBLE, function: half as *const c_void, ml_name: name("half") };
static ONE_NEXT: OneArgMetadata =
    OneArgMetadata { arg_type: LONG, ret_type: LONG, function: next as *const c_void, ml_name: name("next") };
static ONE_ARG: [PyMethodDef; 2] = [
    def(addr_of!(ONE_HALF.ml_name) as _, METH_O | METH_TYPED, py_half as *const c_void),
    def(addr_of!(ONE_NEXT.ml_name) as _, METH_O | METH_TYPED, py_next as *const c_void),
];

// The exported symbols beside these two defs. Each name has one symbol, which describes one def.
static SIBLINGS: [PyMethodDef; 2] =
    [def(c!("half"), METH_O, py_half as *const c_void), def(c!("add"), METH_FASTCALL, py_add as *const c_void)];
#[no_mangle]
#[allow(non_upper_case_globals)]
pub static _PyPyTyped_half: Sibling = Sibling { def: addr_of!(SIBLINGS[0]), table: addr_of!(of_half::TABLE) };
#[no_mangle]
#[allow(non_upper_case_globals)]
pub static _PyPyTyped_add: Sibling = Sibling { def: addr_of!(SIBLINGS[1]), table: addr_of!(of_add::TABLE) };

static SCALED: PyMethodDef = def(c!("scaled"), METH_O, py_scaled as *const c_void);
static SCALED_TABLE: Table = table("d->d\0", TAKES_SELF, scaled as *const c_void);

// ---- A user-defined class: calling an instance runs `def` with the instance as self.

#[repr(C)]
pub struct Callable {
    head: PyObject,
    weak_references: *mut PyObject, // needed by an object that owns a row
    table: AtomicPtr<Table>,        // the native class's slot points here
    def: *const PyMethodDef,
    pub factor: f64,
}

const OFFSET_OF_WEAK_REFERENCES: usize = size_of::<PyObject>();
const OFFSET_OF_TABLE: usize = OFFSET_OF_WEAK_REFERENCES + size_of::<*mut PyObject>();

unsafe extern "C" fn callable_call(own: *mut PyObject, args: *mut PyObject, keywords: *mut PyObject) -> *mut PyObject {
    guarded(|| {
        let def = (*(own as *const Callable)).def;
        if def.is_null() {
            return raise(PyExc_TypeError, c!("this object has no function"));
        }
        let function = Owned::new(PyCFunction_NewEx(def, own, null_mut()))?;
        Owned::new(PyObject_Call(function.get(), args, keywords))
    })
}

/// CPython clears weak references by itself only for classes with garbage collection.
unsafe extern "C" fn callable_dealloc(own: *mut PyObject) {
    let kind = Owned::stolen((*own).kind as *mut PyObject);
    PyObject_ClearWeakRefs(own);
    (*(kind.get() as *mut PyTypeObject)).tp_free.map(|free| free(own as *mut c_void));
}

unsafe fn make_callable_type() -> Result<Owned, Raised> {
    const T_PYSSIZET: c_int = 19;
    const READONLY: c_int = 1;
    const END: PyMemberDef = PyMemberDef { name: null(), kind: 0, offset: 0, flags: 0, doc: null() };
    static MEMBERS: [PyMemberDef; 2] = [
        PyMemberDef {
            name: c!("__weaklistoffset__"),
            kind: T_PYSSIZET,
            offset: OFFSET_OF_WEAK_REFERENCES as isize,
            flags: READONLY,
            doc: null(),
        },
        END,
    ];
    let slots = [
        Slot { slot: TP_CALL, value: callable_call as *const c_void },
        Slot { slot: TP_DEALLOC, value: callable_dealloc as *const c_void },
        Slot { slot: TP_MEMBERS, value: MEMBERS.as_ptr() as *const c_void },
        Slot { slot: 0, value: null() },
    ];
    Owned::new(PyType_FromSpec(&PyTypeSpec {
        name: c!("member_rust_provider.Callable"),
        basicsize: size_of::<Callable>() as c_int,
        itemsize: 0,
        flags: (TPFLAGS_DEFAULT | TPFLAGS_BASETYPE) as c_uint,
        slots: slots.as_ptr(),
    }))
}

/// Makes a subclass with the native-callable slot (1.11), and resolves the type. This must
/// happen before the first look-up.
unsafe fn make_native_type(interface: &Interface, base: &Owned) -> Result<Owned, Raised> {
    let metaclass = (interface.metaclass)(interface.state);
    if metaclass.is_null() {
        return raise(PyExc_RuntimeError, c!("the interface has no metaclass"));
    }
    let bare = Owned::new(Py_BuildValue(
        c!("(s(O){s()ss})"),
        c!("NativeCallable"),
        base.get(),
        c!("__slots__"),
        c!("__module__"),
        c!("member_rust_provider"),
    ))?;
    let new = PyType_Type.tp_new.ok_or(Raised)?;
    let kind = Owned::new(new(metaclass, bare.get(), null_mut()))?;
    let own = [CustomSlot { id: NATIVE_CALLABLE_ID, data: OFFSET_OF_TABLE }];
    match (interface.resolve)(interface.state, kind.get() as *mut PyTypeObject, own.as_ptr(), 1) {
        status if status < 0 => Err(Raised),
        _ => Ok(kind),
    }
}

unsafe fn make_callable(kind: &Owned, def: &PyMethodDef, factor: f64, table: *const Table) -> Result<Owned, Raised> {
    let object = Owned::new(PyObject_CallNoArgs(kind.get()))?;
    let callable = object.get() as *mut Callable;
    (*callable).def = def;
    (*callable).factor = factor;
    (*callable).table.store(table as *mut Table, Release);
    Ok(object)
}

// ---- OFFERS.

unsafe fn put(dict: &Owned, key: *const c_char, value: &Owned) -> Result<(), Raised> {
    check(PyDict_SetItemString(dict.get(), key, value.get()))
}

unsafe fn put_function(way: &Owned, def: &PyMethodDef, module: *mut PyObject) -> Result<(), Raised> {
    let module_name = Owned::new(PyObject_GetAttrString(module, c!("__name__")))?;
    put(way, def.ml_name, &Owned::new(PyCFunction_NewEx(def, module, module_name.get()))?)
}

unsafe fn new_way(offers: &Owned, key: *const c_char) -> Result<Owned, Raised> {
    let way = Owned::new(PyDict_New())?;
    put(offers, key, &way)?;
    Ok(way)
}

/// Offers a table for a key while the owner lives (5.12, 5.13).
unsafe fn publish(i: &Interface, space: c_int, key: *const c_void, owner: *mut PyObject, table: &Table) -> Result<(), Raised> {
    let value = table as *const Table as *const c_void;
    match (i.publish)(i.state, space, key, owner, value, null(), null(), null_mut()) {
        -1 => Err(Raised),
        -2 => raise(PyExc_RuntimeError, c!("somebody else offers something else for this function")),
        _ => Ok(()),
    }
}

/// Returns the interface, importing `typedcall` if it is not installed yet (5.5). Returns None,
/// without an exception, if there is no such module.
unsafe fn interface_or_import<'a>() -> Result<Option<&'a Interface>, Raised> {
    if find_interface().is_null() && Owned::new(PyImport_ImportModule(c!("typedcall"))).is_err() {
        if PyErr_ExceptionMatches(PyExc_ImportError) == 0 {
            return Err(Raised);
        }
        PyErr_Clear();
    }
    Ok(find_interface().as_ref())
}

unsafe extern "C" fn start(module: *mut PyObject) -> c_int {
    let done = guarded(|| {
        let offers = Owned::new(PyDict_New())?;
        let header = new_way(&offers, c!("header"))?;
        for (typed, _, _) in FUNCTIONS {
            put_function(&header, typed, module)?;
        }
        for (key, defs) in [(c!("pypy"), &PYPY[..]), (c!("one_arg"), &ONE_ARG[..]), (c!("sibling"), &SIBLINGS[..])] {
            let way = new_way(&offers, key)?;
            for def in defs {
                put_function(&way, def, module)?;
            }
        }
        if let Some(interface) = interface_or_import()? {
            offer_with(interface, &offers, module)?;
        }
        put(&Owned::new(PyObject_GetAttrString(module, c!("__dict__")))?, c!("OFFERS"), &offers)?;
        Ok(offers)
    });
    Owned::new(done).map_or(-1, |_| 0)
}

/// Adds the ways that need the interface.
unsafe fn offer_with(interface: &Interface, offers: &Owned, module: *mut PyObject) -> Result<(), Raised> {
    let callable_type = make_callable_type()?;
    let by_def = new_way(offers, c!("def"))?;
    let by_object = new_way(offers, c!("object"))?;
    for (_, plain, table) in FUNCTIONS {
        put_function(&by_def, plain, module)?;
        publish(interface, BY_DEF, plain as *const PyMethodDef as *const c_void, module, table)?;
        let object = make_callable(&callable_type, plain, 0.0, null())?;
        publish(interface, BY_OBJECT, object.get() as *const c_void, object.get(), table)?;
        put(&by_object, plain.ml_name, &object)?;
    }
    let native_type = make_native_type(interface, &callable_type)?;
    let instance = new_way(offers, c!("instance"))?;
    put(&instance, c!("half"), &make_callable(&native_type, &of_half::PLAIN, 0.0, &of_half::TABLE)?)?;
    put(&instance, c!("scaled"), &make_callable(&native_type, &SCALED, 4.0, &SCALED_TABLE)?)
}

static SLOTS: [Slot; 2] = [Slot { slot: MOD_EXEC, value: start as *const c_void }, Slot { slot: 0, value: null() }];
static mut MODULE: PyModuleDef = module_def(c!("member_rust_provider"), 0, null(), &SLOTS);

#[no_mangle]
pub unsafe extern "C" fn PyInit_member_rust_provider() -> *mut PyObject {
    PyModuleDef_Init(addr_of_mut!(MODULE))
}
