//! Part of the Rust example: the functions that the provider offers, each as a C function and as a
//! Python callable. tests/conformance/README.md lists them.

use crate::python::*;
use crate::Callable;
use std::ffi::CStr;
use std::mem::size_of;
use std::os::raw::{c_char, c_int, c_long};
use std::ptr::null_mut;

// ---- The C functions. None of them can panic.

pub extern "C" fn half(x: f64) -> f64 {
    x / 2.0
}

pub extern "C" fn add(x: f64, y: f64) -> f64 {
    x + y
}

pub extern "C" fn next(x: c_long) -> c_long {
    x.wrapping_add(1)
}

/// Raises if x is below 0. Attached.
unsafe fn is_below_zero(x: f64) -> bool {
    if x < 0.0 {
        PyErr_SetString(PyExc_ValueError, c!("below 0"));
    }
    x < 0.0
}

pub unsafe extern "C" fn minus(x: f64) -> f64 {
    if is_below_zero(x) {
        -1.0
    } else {
        -x
    }
}

pub unsafe extern "C" fn minus_for_pypy(x: f64) -> f64 {
    if is_below_zero(x) {
        -0.0
    } else {
        -x
    }
}

pub unsafe extern "C" fn thrice(x: f64, place: *mut f64) -> c_int {
    if is_below_zero(x) {
        return -1;
    }
    *place = 3.0 * x;
    0
}

pub unsafe extern "C" fn even(x: c_long, place: *mut c_long) -> c_int {
    if x & 1 != 0 {
        return 1; // fall back to Python
    }
    *place = x / 2;
    0
}

/// If `count` is 0, `first` may be anything.
pub unsafe extern "C" fn total(first: *const f64, count: isize) -> f64 {
    (0..count).map(|index| *first.offset(index)).sum()
}

pub extern "C" fn length(_text: *const c_char, size: isize) -> isize {
    size
}

pub unsafe extern "C" fn scaled(own: *mut PyObject, x: f64) -> f64 {
    x * (*(own as *const Callable)).factor
}

// ---- The Python callables: all METH_O except `add`.

unsafe fn with_double(argument: *mut PyObject, work: impl FnOnce(f64) -> Result<f64, Raised>) -> *mut PyObject {
    guarded(|| {
        let x = PyFloat_AsDouble(argument);
        if x == -1.0 && !PyErr_Occurred().is_null() {
            return Err(Raised);
        }
        Owned::new(PyFloat_FromDouble(work(x)? + 1000.0))
    })
}

unsafe fn with_long(argument: *mut PyObject, work: impl FnOnce(c_long) -> c_long) -> *mut PyObject {
    guarded(|| {
        let x = PyLong_AsLong(argument);
        if x == -1 && !PyErr_Occurred().is_null() {
            return Err(Raised);
        }
        Owned::new(PyLong_FromLong(work(x)))
    })
}

pub unsafe extern "C" fn py_half(_own: *mut PyObject, x: *mut PyObject) -> *mut PyObject {
    with_double(x, |x| Ok(x / 2.0))
}

pub unsafe extern "C" fn py_add(_own: *mut PyObject, args: *const *mut PyObject, count: isize) -> *mut PyObject {
    if count != 2 {
        PyErr_SetString(PyExc_TypeError, c!("add() takes two arguments"));
        return null_mut();
    }
    let y = PyFloat_AsDouble(*args.add(1));
    if y == -1.0 && !PyErr_Occurred().is_null() {
        return null_mut();
    }
    with_double(*args, |x| Ok(x + y))
}

pub unsafe extern "C" fn py_next(_own: *mut PyObject, x: *mut PyObject) -> *mut PyObject {
    with_long(x, |x| x.wrapping_add(1).wrapping_add(1000))
}

pub unsafe extern "C" fn py_minus(_own: *mut PyObject, x: *mut PyObject) -> *mut PyObject {
    with_double(x, |x| if is_below_zero(x) { Err(Raised) } else { Ok(-x) })
}

pub unsafe extern "C" fn py_thrice(_own: *mut PyObject, x: *mut PyObject) -> *mut PyObject {
    with_double(x, |x| if is_below_zero(x) { Err(Raised) } else { Ok(3.0 * x) })
}

pub unsafe extern "C" fn py_even(_own: *mut PyObject, x: *mut PyObject) -> *mut PyObject {
    with_long(x, |x| x.wrapping_add(1000))
}

pub unsafe extern "C" fn py_total(_own: *mut PyObject, numbers: *mut PyObject) -> *mut PyObject {
    guarded(|| {
        let mut view: PyBuffer = std::mem::zeroed();
        if PyObject_GetBuffer(numbers, &mut view, BUF_C_CONTIGUOUS | BUF_FORMAT) != 0 {
            return Err(Raised);
        }
        let of_doubles = !view.format.is_null() && CStr::from_ptr(view.format).to_bytes() == b"d";
        let first = view.buf as *const f64;
        let count = view.len / size_of::<f64>() as isize;
        let sum: f64 = match of_doubles {
            true => (0..count).map(|index| first.offset(index).read_unaligned()).sum(),
            false => 0.0,
        };
        PyBuffer_Release(&mut view);
        if !of_doubles {
            return raise(PyExc_TypeError, c!("total() needs a buffer of doubles"));
        }
        Owned::new(PyFloat_FromDouble(sum + 1000.0))
    })
}

pub unsafe extern "C" fn py_length(_own: *mut PyObject, text: *mut PyObject) -> *mut PyObject {
    let mut size = 0;
    if PyUnicode_AsUTF8AndSize(text, &mut size).is_null() {
        return null_mut();
    }
    PyLong_FromLong(size as c_long + 1000)
}

pub unsafe extern "C" fn py_scaled(own: *mut PyObject, x: *mut PyObject) -> *mut PyObject {
    with_double(x, |x| Ok(x * (*(own as *const Callable)).factor))
}
