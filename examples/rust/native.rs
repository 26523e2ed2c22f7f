//! Part of the Rust example: calls a C function in an attached thread, and returns the value
//! that Python would get (docs/ABI.md, 3.14 to 3.19). x86-64 SysV and AAPCS64 only.

use crate::abi::*;
use crate::places::*;
use crate::python::*;
use crate::signature::*;
use std::ffi::CStr;
use std::mem::{transmute, zeroed};
use std::os::raw::{c_char, c_void};
use std::ptr::{addr_of_mut, null_mut};

/// The flags that `call` handles: all but SETS_ERRNO, because Python has no errno.
pub const HANDLED: usize =
    NEEDS_THREAD | ACQUIRES_GIL | MAY_RAISE | ERROR_IS_NEG_ZERO | RETURNS_STATUS | TAKES_SELF | DIFFERS | FALLS_BACK;

/// Integers and floating-point numbers use separate registers. A call that fills all registers can
/// call any function whose arguments fit in registers.
type WithAll<Result> = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, f64, f64, f64, f64, f64, f64, f64, f64) -> Result;

#[derive(Default)]
struct Registers {
    integers: Vec<u64>,
    floats: Vec<f64>,
    views: Vec<Box<View>>,
}

/// A Python buffer, released when it goes out of scope.
struct View(PyBuffer);

impl Drop for View {
    fn drop(&mut self) {
        unsafe { PyBuffer_Release(&mut self.0) }
    }
}

pub unsafe fn call(callable: *mut PyObject, found: &Found, arguments: *mut PyObject) -> Result<Owned, Raised> {
    let has = |flags| found.flags & flags != 0;
    let facts = Facts::of(found.flags);
    let has_place = found.signature.has_place(found.flags);
    let (mut items, mut result) = (&found.signature.arguments[..], found.signature.result);
    if has_place {
        (items, result) = (&items[..items.len() - 1], Item { shape: Shape::Value, ..items[items.len() - 1] });
    }
    if result.shape != Shape::Value || matches!(result.class, Class::Floating(b'g') | Class::Complex(_) | Class::Address) {
        return raise(PyExc_NotImplementedError, c!("a result of this type"));
    }
    if PyTuple_Size(arguments) != items.len() as isize {
        return raise(PyExc_TypeError, c!("wrong number of arguments"));
    }
    let (mut registers, mut place) = (Registers::default(), 0u64);
    if has(TAKES_SELF) {
        registers.integers.push(self_of(callable) as u64);
    }
    for (index, item) in items.iter().enumerate() {
        registers.add(item, PyTuple_GetItem(arguments, index as isize))?;
    }
    if has_place {
        registers.integers.push(addr_of_mut!(place) as u64);
    }
    if registers.integers.len() > 6 || registers.floats.len() > 8 {
        return raise(PyExc_NotImplementedError, c!("so many arguments"));
    }
    // A function that takes the GIL itself may wait for a thread that needs it.
    let thread = if has(ACQUIRES_GIL) && !has(NEEDS_THREAD) { PyEval_SaveThread() } else { null_mut() };
    let is_floating = !facts.reports && matches!(result.class, Class::Floating(_));
    let bits = registers.call(found.function, is_floating);
    if !thread.is_null() {
        PyEval_RestoreThread(thread);
    }
    if !facts.reports {
        return if facts.may_raise && !PyErr_Occurred().is_null() { Err(Raised) } else { value_of(result.class, bits) };
    }
    match bits as u32 {
        0 if has_place => value_of(result.class, place),
        0 => Ok(Owned::none()),
        _ if facts.may_fall_back => {
            drop(registers); // releases the buffers, which Python code may change from now on
            Owned::new(PyObject_Call(callable, arguments, null_mut()))
        }
        _ => Err(Raised),
    }
}

/// Returns Python's value for a result or a place. Unused bits may have any value.
unsafe fn value_of(class: Class, bits: u64) -> Result<Owned, Raised> {
    Owned::new(match class {
        Class::Bool => PyBool_FromLong((bits as u8).into()),
        Class::Signed(size) => PyLong_FromLong((bits << (64 - 8 * size)) as i64 >> (64 - 8 * size)),
        Class::Unsigned(size) => PyLong_FromSize_t((bits << (64 - 8 * size) >> (64 - 8 * size)) as usize),
        Class::Floating(b'f') => PyFloat_FromDouble(f32::from_bits(bits as u32).into()),
        Class::Floating(_) => PyFloat_FromDouble(f64::from_bits(bits)),
        Class::Text if bits != 0 => PyUnicode_FromString(bits as *const c_char),
        Class::Object => bits as *mut PyObject,
        _ => return Ok(Owned::none()),
    })
}

/// Returns the number, unless it is the error value and an exception is set.
unsafe fn unless_raised<T: PartialEq>(number: T, error_value: T) -> Result<T, Raised> {
    let raised = number == error_value && !PyErr_Occurred().is_null();
    (!raised).then(|| number).ok_or(Raised)
}

impl Registers {
    unsafe fn call(&mut self, function: *const c_void, is_floating: bool) -> u64 {
        self.integers.resize(6, 0);
        self.floats.resize(8, 0.0);
        let (n, x) = (&self.integers, &self.floats);
        if is_floating {
            let function: WithAll<f64> = transmute(function);
            function(n[0], n[1], n[2], n[3], n[4], n[5], x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]).to_bits()
        } else {
            let function: WithAll<u64> = transmute(function);
            function(n[0], n[1], n[2], n[3], n[4], n[5], x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7])
        }
    }

    unsafe fn add(&mut self, item: &Item, value: *mut PyObject) -> Result<(), Raised> {
        match (item.shape, item.class) {
            (Shape::Value | Shape::Buffer, Class::Text) => return self.add_text(item.shape, value),
            (Shape::Pointer | Shape::Buffer, _) => return self.add_buffer(item, value),
            (_, Class::Floating(b'd')) => self.floats.push(unless_raised(PyFloat_AsDouble(value), -1.0)?),
            (_, Class::Floating(b'f')) => {
                let number = unless_raised(PyFloat_AsDouble(value), -1.0)? as f32;
                self.floats.push(f64::from_bits(number.to_bits().into()));
            }
            (_, Class::Bool) => self.integers.push(unless_raised(PyObject_IsTrue(value), -1)? as u64),
            (_, Class::Object) => self.integers.push(value as u64),
            (_, Class::Signed(size)) => {
                let number = unless_raised(PyLong_AsLong(value), -1)?;
                self.integers.push(number as u64);
                if number << (64 - 8 * size) >> (64 - 8 * size) != number {
                    return raise(PyExc_OverflowError, c!("out of range"));
                }
            }
            (_, Class::Unsigned(size)) => {
                let number = unless_raised(PyLong_AsSize_t(value), usize::MAX)?;
                self.integers.push(number as u64);
                if number << (64 - 8 * size) >> (64 - 8 * size) != number {
                    return raise(PyExc_OverflowError, c!("out of range"));
                }
            }
            _ => return raise(PyExc_NotImplementedError, c!("an argument of this type")),
        }
        Ok(())
    }

    unsafe fn add_text(&mut self, shape: Shape, value: *mut PyObject) -> Result<(), Raised> {
        let mut size = 0;
        let text = PyUnicode_AsUTF8AndSize(value, &mut size);
        if text.is_null() {
            return Err(Raised);
        }
        self.integers.push(text as u64);
        if shape == Shape::Buffer {
            self.integers.push(size as u64);
        } else if CStr::from_ptr(text).to_bytes().len() != size as usize {
            return raise(PyExc_ValueError, c!("a NUL in a text"));
        }
        Ok(())
    }

    unsafe fn add_buffer(&mut self, item: &Item, value: *mut PyObject) -> Result<(), Raised> {
        let mut view = Box::new(View(zeroed()));
        let wanted = BUF_C_CONTIGUOUS | BUF_FORMAT | if item.constant { 0 } else { BUF_WRITABLE };
        if PyObject_GetBuffer(value, &mut view.0, wanted) != 0 {
            return Err(Raised);
        }
        let format = if view.0.format.is_null() { &b"B"[..] } else { CStr::from_ptr(view.0.format).to_bytes() };
        let (address, size, length) = (view.0.buf as u64, view.0.itemsize as u64, view.0.len as u64);
        let alignment = if matches!(item.class, Class::Complex(_)) { size / 2 } else { size };
        let suits = parse_code(format.strip_prefix(b"@").unwrap_or(format)) == Some((item.class, &b""[..]));
        self.views.push(view);
        if !suits || (length > 0 && address % alignment != 0) || (length == 0 && item.shape == Shape::Pointer) {
            return raise(PyExc_TypeError, c!("a buffer of something else, or not aligned, or empty"));
        }
        self.integers.push(address);
        if item.shape == Shape::Buffer {
            self.integers.push(length / size);
        }
        Ok(())
    }
}
