//! A reader in Rust, which finds the C function behind a Python callable and calls it. See
//! tests/conformance/README.md.

#[macro_use]
mod python;
mod abi;
mod native;
mod places;
mod signature;

use abi::*;
use places::*;
use python::*;
use signature::Signature;
use std::cell::Cell;
use std::ffi::CStr;
use std::mem::size_of;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::{addr_of_mut, null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::Acquire};

/// The module state.
struct Reader {
    interface: Cell<*const Interface>,
    data_offset: usize,      // O of 1.1
    as_buffer_offset: usize, // offsetof(PyHeapTypeObject, as_buffer)
}

impl Reader {
    /// The interface is kept once it is found, because it outlives this module (5.3).
    unsafe fn interface(&self) -> Option<&Interface> {
        if self.interface.get().is_null() {
            self.interface.set(find_interface());
        }
        self.interface.get().as_ref()
    }

    /// The final data of an extensible type (1.1 to 1.4).
    unsafe fn data_of(&self, kind: *mut PyTypeObject, resolves: bool) -> Option<&ExtensibleTypeData> {
        let metaclass = (*kind).head.kind;
        let needed = self.data_offset + size_of::<ExtensibleTypeData>();
        let has_data =
            (*kind).tp_flags & TPFLAGS_HEAPTYPE != 0 || (*kind).tp_as_buffer == kind as usize + self.as_buffer_offset;
        if metaclass.is_null() || (*metaclass).tp_basicsize < needed as isize || !has_data {
            return None;
        }
        let data = &*((kind as *const u8).add(self.data_offset) as *const ExtensibleTypeData);
        if resolves && data.magic.load(Acquire) == 0 {
            let interface = self.interface()?;
            let ours = (interface.metaclass)(interface.state);
            if !ours.is_null() && PyType_IsSubtype(metaclass, ours) != 0 {
                (interface.resolve)(interface.state, kind, null(), 0);
            }
            PyErr_Clear(); // a type that cannot be resolved has no slots
        }
        (data.magic.load(Acquire) == EXTENSIBLE_MAGIC).then(|| data)
    }

    /// Returns the data word of the type's first slot with that ID (1.5, 2.1).
    unsafe fn slot(&self, kind: *mut PyTypeObject, id: usize, resolves: bool) -> Option<usize> {
        if id < 2 || (id & 1 == 1 && id >> 32 != 0) {
            return None;
        }
        let data = self.data_of(kind, resolves)?;
        let mut slots = (0..data.count).map(|index| &*data.table.offset(index));
        slots.find(|slot| slot.id == id).map(|slot| slot.data)
    }

    /// Returns the instance's own table (1.18 to 1.21), or NULL. The instance keeps the table
    /// valid.
    unsafe fn table_in_instance(&self, object: *mut PyObject) -> Result<*const Table, Raised> {
        let kind = (*object).kind;
        let offset = match self.slot(kind, NATIVE_CALLABLE_ID, true) {
            Some(offset) => offset as isize,
            None => return Ok(null()),
        };
        // If a derived class overrides __call__, calls do not use the table.
        let name = Owned::new(PyUnicode_FromString(c!("__call__")))?;
        let mro = (*kind).tp_mro;
        let bases = (0..PyTuple_Size(mro)).map(|index| PyTuple_GetItem(mro, index) as *mut PyTypeObject);
        let from = bases.filter(|base| self.slot(*base, NATIVE_CALLABLE_ID, false).is_some()).last().unwrap_or(kind);
        let called = _PyType_Lookup(from, name.get());
        if called.is_null() || (*kind).tp_call != (*from).tp_call || _PyType_Lookup(kind, name.get()) != called {
            return Ok(null());
        }
        Ok((*((object as *const u8).offset(offset) as *const AtomicPtr<Table>)).load(Acquire))
    }

    /// Returns the row's matching entry, and a reference that keeps it valid (5.7).
    unsafe fn in_row(&self, space: c_int, key: *const c_void, request: &Request) -> Result<Option<Found>, Raised> {
        let interface = match self.interface() {
            Some(interface) => interface,
            None => return Ok(None),
        };
        let mut value = null();
        match Owned::new((interface.hold)(interface.state, space, key, null_mut(), &mut value)) {
            Ok(held) => Ok(request.choose(entries_of(value as *const Table)).map(|found| Found { _held: Some(held), ..found })),
            Err(Raised) if PyErr_Occurred().is_null() => Ok(None),
            Err(Raised) => Err(Raised),
        }
    }

    /// Looks in all places in order (8.1). The first place with a matching entry decides.
    unsafe fn look_everywhere(&self, callable: *mut PyObject, request: &Request) -> Result<Option<Found>, Raised> {
        let (kind, def) = ((*callable).kind, def_of(callable));
        if kind == addr_of_mut!(PyMethodDescr_Type) || kind == addr_of_mut!(PyClassMethodDescr_Type) {
            return Ok(None); // there is no self (8.6)
        }
        let mut found = if def.is_null() {
            request.choose(entries_of(self.table_in_instance(callable)?))
        } else {
            request.choose(in_front_of_name(def))
        };
        if found.is_none() && !def.is_null() {
            found = self.in_row(BY_DEF, def as *const c_void, request)?;
        }
        if found.is_none() {
            found = self.in_row(BY_OBJECT, callable as *const c_void, request)?;
        }
        if found.is_none() && !def.is_null() {
            found = beside(def).and_then(|entries| request.choose(entries));
        }
        Ok(found)
    }

    /// Makes a C request (section 8). A request with an invalid signature finds nothing.
    unsafe fn find(
        &self,
        callable: *mut PyObject,
        text: *const c_char,
        can: usize,
        equivalent: bool,
    ) -> Result<Option<Found>, Raised> {
        let text = CStr::from_ptr(text).to_bytes();
        let can = if self_of(callable).is_null() { can & !TAKES_SELF } else { can };
        match Signature::parse(text) {
            Some(signature) => self.look_everywhere(callable, &Request { text, signature, can, equivalent }),
            None => Ok(None),
        }
    }
}

// ---- The module's functions.

/// Returns the module state, which `start` has filled.
unsafe fn reader_of<'a>(module: *mut PyObject) -> &'a Reader {
    &*(PyModule_GetState(module) as *const Reader)
}

/// find(callable, signature, can, equivalent): None or (signature, flags, address)
unsafe extern "C" fn find(module: *mut PyObject, args: *mut PyObject) -> *mut PyObject {
    guarded(|| {
        let (mut callable, mut text, mut can, mut equivalent) = (null_mut::<PyObject>(), null::<c_char>(), 0usize, 0 as c_int);
        check_parsed(PyArg_ParseTuple(args, c!("Oskp"), &mut callable, &mut text, &mut can, &mut equivalent))?;
        match reader_of(module).find(callable, text, can, equivalent != 0)? {
            None => Ok(Owned::none()),
            Some(mut found) => {
                found.text.push(0);
                Owned::new(Py_BuildValue(c!("(sKK)"), found.text.as_ptr(), found.flags, found.function))
            }
        }
    })
}

/// call(callable, signature, can, arguments): the result or exception that Python would get
unsafe extern "C" fn call(module: *mut PyObject, args: *mut PyObject) -> *mut PyObject {
    guarded(|| {
        let (mut callable, mut text, mut can, mut given) =
            (null_mut::<PyObject>(), null::<c_char>(), 0usize, null_mut::<PyObject>());
        let tuple = addr_of_mut!(PyTuple_Type);
        check_parsed(PyArg_ParseTuple(args, c!("OskO!"), &mut callable, &mut text, &mut can, tuple, &mut given))?;
        match reader_of(module).find(callable, text, can & native::HANDLED, true)? {
            None => raise(PyExc_LookupError, c!("no C function with this signature and these flags")),
            Some(found) => native::call(callable, &found, given),
        }
    })
}

/// slot(object, id): the data word, or None
unsafe extern "C" fn slot(module: *mut PyObject, args: *mut PyObject) -> *mut PyObject {
    guarded(|| {
        let (mut object, mut id) = (null_mut::<PyObject>(), 0isize);
        check_parsed(PyArg_ParseTuple(args, c!("On"), &mut object, &mut id))?;
        match reader_of(module).slot((*object).kind, id as usize, true) {
            Some(word) => Owned::new(PyLong_FromSize_t(word)),
            None => Ok(Owned::none()),
        }
    })
}

/// PyArg_ParseTuple returns 0 if it has set an exception.
fn check_parsed(parsed: c_int) -> Result<(), Raised> {
    check((parsed == 0).into())
}

/// Fills the state, and PLACES.
unsafe extern "C" fn start(module: *mut PyObject) -> c_int {
    let done = guarded(|| {
        // The offset O of 1.1, for an alignment of 16. The offset of as_buffer differs between
        // versions, but any heap type reveals it.
        let data_offset = (PyType_Type.tp_basicsize as usize + 15) & !15;
        let arguments = Owned::new(Py_BuildValue(c!("(s(){})"), c!("Probe")))?;
        let probe = Owned::new(PyObject_Call(addr_of_mut!(PyType_Type) as *mut PyObject, arguments.get(), null_mut()))?;
        let as_buffer_offset = (*(probe.get() as *mut PyTypeObject)).tp_as_buffer - probe.get() as usize;
        let state = PyModule_GetState(module) as *mut Reader;
        state.write(Reader { interface: Cell::new(null()), data_offset, as_buffer_offset });

        let places = Owned::new(PySet_New(null_mut()))?;
        for place in [c!("name"), c!("def"), c!("object"), c!("instance"), c!("sibling"), c!("type")] {
            check(PySet_Add(places.get(), Owned::new(PyUnicode_FromString(place))?.get()))?;
        }
        let attributes = Owned::new(PyObject_GetAttrString(module, c!("__dict__")))?;
        check(PyDict_SetItemString(attributes.get(), c!("PLACES"), places.get()))?;
        Ok(Owned::none())
    });
    Owned::new(done).map_or(-1, |_| 0)
}

const fn method(name: *const c_char, function: *const c_void) -> PyMethodDef {
    PyMethodDef { ml_name: name, ml_meth: function, ml_flags: METH_VARARGS, ml_doc: null() }
}

static METHODS: [PyMethodDef; 4] = [
    method(c!("find"), find as *const c_void),
    method(c!("call"), call as *const c_void),
    method(c!("slot"), slot as *const c_void),
    method(null(), null()),
];
static SLOTS: [Slot; 2] = [Slot { slot: MOD_EXEC, value: start as *const c_void }, Slot { slot: 0, value: null() }];
static mut MODULE: PyModuleDef = module_def(c!("member_rust_consumer"), size_of::<Reader>(), METHODS.as_ptr(), &SLOTS);

#[no_mangle]
pub unsafe extern "C" fn PyInit_member_rust_consumer() -> *mut PyObject {
    PyModuleDef_Init(addr_of_mut!(MODULE))
}
