//! Part of the Rust example: the data in front of a def's name and beside it (docs/ABI.md, section
//! 4), and the choice among the entries of one place. Symbols are looked up with glibc.

use crate::abi::*;
use crate::python::*;
use crate::signature::Signature;
use std::ffi::CStr;
use std::mem::size_of;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::{addr_of, addr_of_mut, null, null_mut};

/// Returns the def of a C function, or NULL for other objects (4.1).
pub unsafe fn def_of(callable: *mut PyObject) -> *const PyMethodDef {
    let kind = (*callable).kind;
    let is_function = kind == addr_of_mut!(PyCFunction_Type) || kind == addr_of_mut!(PyCMethod_Type);
    is_function.then(|| (*(callable as *mut PyCFunctionObject)).m_ml).unwrap_or(null())
}

/// Returns the self that TAKES_SELF passes, or NULL (3.16).
pub unsafe fn self_of(callable: *mut PyObject) -> *mut PyObject {
    let def = def_of(callable);
    if def.is_null() {
        callable
    } else if (*def).ml_flags & METH_STATIC != 0 {
        null_mut()
    } else {
        (*(callable as *mut PyCFunctionObject)).m_self
    }
}

/// A caller's request (section 8).
pub struct Request<'a> {
    pub text: &'a [u8],
    pub signature: Signature,
    pub can: usize,
    pub equivalent: bool,
}

/// A well-formed entry. Dropping it releases the objects that it holds.
pub struct Found {
    pub text: Vec<u8>,
    pub signature: Signature,
    pub flags: usize,
    pub function: *const c_void,
    pub _held: Option<Owned>,
}

impl Found {
    fn new(text: &[u8], flags: usize, function: *const c_void) -> Option<Found> {
        let signature = Signature::parse(text)?;
        let good = !function.is_null() && signature.goes_with(flags);
        good.then(|| Found { text: text.to_vec(), signature, flags, function, _held: None })
    }
}

impl Request<'_> {
    /// Returns the matching entry of one place (8.2).
    pub fn choose(&self, mut entries: Vec<Found>) -> Option<Found> {
        entries.retain(|entry| entry.flags & 0xffff & !self.can == 0);
        let mut chosen = entries.iter().position(|entry| entry.text == self.text);
        if chosen.is_none() && self.equivalent {
            chosen = entries.iter().position(|entry| entry.signature.answers(entry.flags, &self.signature));
        }
        chosen.map(|index| entries.swap_remove(index))
    }
}

/// Returns a table's well-formed entries (3.1 to 3.3).
pub unsafe fn entries_of(table: *const Table) -> Vec<Found> {
    if table.is_null() {
        return Vec::new();
    }
    let (count, first) = ((*table).count, addr_of!((*table).entries) as *const Entry);
    (0..count)
        .filter_map(|index| {
            let entry = &*first.offset(index);
            let text = (!entry.signature.is_null()).then(|| CStr::from_ptr(entry.signature))?;
            Found::new(text.to_bytes(), entry.flags, entry.function)
        })
        .collect()
}

/// Reads the data in front of a def's name (4.2 to 4.8).
pub unsafe fn in_front_of_name(def: *const PyMethodDef) -> Vec<Found> {
    let name = (*def).ml_name as *const u8;
    let bits = (*def).ml_flags & (METH_TYPED | METH_TYPED_EXT);
    if bits & METH_TYPED == 0 || name as usize % 8 != 0 {
        return Vec::new();
    }
    let pypy = name.sub(24) as *const PyPyMetadata;
    if bits & METH_TYPED_EXT != 0 {
        // Check the magic first, because the data before it exist only if the magic is right.
        let header = name.sub(HEADER_SIZE as usize) as *const TypedMetadata;
        if (*header).magic != HEADER_MAGIC || (*header).abi_major != 1 || (*header).size < HEADER_SIZE {
            return Vec::new();
        }
        if !(*header).table.is_null() {
            return entries_of((*header).table);
        }
    } else if (*pypy).padding != 0 {
        let one = name.sub(16) as *const OneArgMetadata;
        if (*pypy).padding < 0 || convention(def) != METH_O {
            return Vec::new();
        }
        return by_codes(&[(*one).arg_type], (*one).ret_type, NEEDS_THREAD, (*one).function);
    }
    let most = match convention(def) {
        METH_O => 1,
        METH_FASTCALL => 127,
        _ => return Vec::new(),
    };
    if (*pypy).arg_types.is_null() {
        return Vec::new();
    }
    let mut codes = Vec::new();
    loop {
        match *(*pypy).arg_types.add(codes.len()) {
            -1 if most != 1 || codes.len() == 1 => break,
            code @ 1..=3 if codes.len() < most => codes.push(code),
            _ => return Vec::new(),
        }
    }
    let flags = match (*pypy).ret_type {
        -2 => NEEDS_THREAD | MAY_RAISE | ERROR_IS_NEG_ZERO,
        negative if negative < 0 => NEEDS_THREAD | MAY_RAISE,
        _ => NEEDS_THREAD,
    };
    by_codes(&codes, (*pypy).ret_type.saturating_abs(), flags, (*pypy).function)
}

fn by_codes(arguments: &[c_int], result: c_int, flags: usize, function: *const c_void) -> Vec<Found> {
    let spell = |code| match code {
        1 => b'l',
        2 => b'd',
        3 => b'O',
        _ => b'!', // a byte that is never valid in a signature
    };
    let mut text: Vec<u8> = arguments.iter().copied().map(spell).collect();
    text.extend([b'-', b'>', spell(result)]);
    Found::new(&text, flags, function).into_iter().collect()
}

unsafe fn convention(def: *const PyMethodDef) -> c_int {
    const ALL: c_int = METH_VARARGS | METH_KEYWORDS | METH_NOARGS | METH_O | METH_FASTCALL | METH_METHOD;
    (*def).ml_flags & ALL
}

/// The facts that glibc reports about an address.
#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *mut c_void,
    name: *const c_char,
    address: *mut c_void,
}

#[repr(C)]
struct ElfSymbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

extern "C" {
    fn dladdr1(address: *const c_void, info: *mut DlInfo, extra: *mut *const ElfSymbol, flags: c_int) -> c_int;
    fn dlopen(file: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(handle: *mut c_void) -> c_int;
}

unsafe fn shared_object_of(address: *const c_void) -> Option<(DlInfo, *const ElfSymbol)> {
    const RTLD_DL_SYMENT: c_int = 1;
    let mut info = DlInfo { file: null(), base: null_mut(), name: null(), address: null_mut() };
    let mut symbol = null();
    (dladdr1(address, &mut info, &mut symbol, RTLD_DL_SYMENT) != 0).then(|| (info, symbol))
}

/// Returns the table of the symbol _PyPyTyped_NAME beside a def (4.10 to 4.12).
pub unsafe fn beside(def: *const PyMethodDef) -> Option<Vec<Found>> {
    const RTLD_LAZY_AND_NOLOAD: c_int = 1 | 4;
    const STT_OBJECT: u8 = 1;
    let name = CStr::from_ptr((*def).ml_name).to_bytes();
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if name.len() > 99 || name.first()?.is_ascii_digit() || !name.iter().all(is_letter) {
        return None;
    }
    let name = [b"_PyPyTyped_", name, b"\0"].concat();
    let (object, _) = shared_object_of(def as *const c_void)?;
    let handle = dlopen(object.file, RTLD_LAZY_AND_NOLOAD);
    if handle.is_null() {
        return None;
    }
    let sibling = dlsym(handle, name.as_ptr() as *const c_char) as *const Sibling;
    dlclose(handle);

    // The symbol at this address must be the one that was looked up.
    let (place, symbol) = shared_object_of(sibling as *const c_void)?;
    let named = !place.name.is_null() && CStr::from_ptr(place.name).to_bytes_with_nul() == name;
    if place.base != object.base || !named || symbol.is_null() {
        return None;
    }
    if (*symbol).info & 0xf != STT_OBJECT || (*symbol).size != size_of::<Sibling>() as u64 || (*sibling).def != def {
        return None;
    }
    let inside = |address| shared_object_of(address).map_or(false, |(other, _)| other.base == object.base);
    let table = (*sibling).table;
    if !inside(table as *const c_void) {
        return None;
    }
    for index in 0..(*table).count {
        let entry = (addr_of!((*table).entries) as *const Entry).offset(index);
        let good = inside((entry.offset(1) as *const c_void).sub(1))
            && inside((*entry).signature as *const c_void)
            && Signature::parse(CStr::from_ptr((*entry).signature).to_bytes()).is_some()
            && !(*entry).function.is_null();
        if !good {
            return None;
        }
    }
    Some(entries_of(table))
}
