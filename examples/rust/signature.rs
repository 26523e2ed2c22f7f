//! Part of the Rust example: the grammar of signatures, which entries are well-formed, and which
//! match a request (docs/ABI.md, sections 3 and 8).

use crate::abi::*;
use std::mem::size_of;
use std::os::raw::{c_int, c_long, c_longlong, c_short};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Void,
    Bool,
    Signed(usize),
    Unsigned(usize),
    Floating(u8),
    Complex(u8),
    Address,
    Text,
    Object,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Value,
    Pointer,
    Buffer,
}

/// An argument or the result.
#[derive(Clone, Copy)]
pub struct Item {
    pub shape: Shape,
    pub constant: bool,
    pub class: Class,
}

/// How a C function with some flags reports the outcome of a call (3.8 to 3.15).
pub struct Facts {
    /// The C result is no value but a status.
    pub reports: bool,
    pub may_raise: bool,
    pub may_fall_back: bool,
}

impl Facts {
    pub fn of(flags: usize) -> Facts {
        let has = |flag| flags & flag != 0;
        Facts {
            reports: has(RETURNS_STATUS | FALLS_BACK),
            may_raise: has(MAY_RAISE | RETURNS_STATUS),
            may_fall_back: has(FALLS_BACK),
        }
    }
}

#[derive(Clone)]
pub struct Signature {
    pub arguments: Vec<Item>,
    pub result: Item,
}

/// Splits the code at the start of the text from the rest.
pub fn parse_code(text: &[u8]) -> Option<(Class, &[u8])> {
    let (&letter, rest) = text.split_first()?;
    let class = match letter {
        b'?' => Class::Bool,
        b'b' => Class::Signed(1),
        b'h' => Class::Signed(size_of::<c_short>()),
        b'i' => Class::Signed(size_of::<c_int>()),
        b'l' => Class::Signed(size_of::<c_long>()),
        b'q' => Class::Signed(size_of::<c_longlong>()),
        b'n' => Class::Signed(size_of::<isize>()),
        b'B' => Class::Unsigned(1),
        b'H' => Class::Unsigned(size_of::<c_short>()),
        b'I' => Class::Unsigned(size_of::<c_int>()),
        b'L' => Class::Unsigned(size_of::<c_long>()),
        b'Q' => Class::Unsigned(size_of::<c_longlong>()),
        b'N' => Class::Unsigned(size_of::<usize>()),
        b'f' | b'd' | b'g' => Class::Floating(letter),
        b'P' => Class::Address,
        b's' => Class::Text,
        b'O' => Class::Object,
        b'Z' => {
            let (&part, rest) = rest.split_first()?;
            return matches!(part, b'f' | b'd' | b'g').then(|| (Class::Complex(part), rest));
        }
        _ => return None,
    };
    Some((class, rest))
}

/// Splits the argument or result at the start of the text from the rest.
fn parse_item(text: &[u8]) -> Option<(Item, &[u8])> {
    let (shape, rest) = match text.split_first()? {
        (b'&', rest) => (Shape::Pointer, rest),
        (b'*', rest) => (Shape::Buffer, rest),
        _ => (Shape::Value, text),
    };
    let (constant, rest) = match rest.split_first()? {
        (b'k', rest) if shape != Shape::Value => (true, rest),
        _ => (false, rest),
    };
    let (class, rest) = parse_code(rest)?;
    let constant = match (shape, class) {
        (Shape::Buffer, Class::Address | Class::Object) => return None,
        (Shape::Buffer, Class::Text) if constant => return None,
        (Shape::Buffer, Class::Text) => true,
        _ => constant,
    };
    Some((Item { shape, constant, class }, rest))
}

impl Signature {
    /// Returns None if the grammar does not allow the text (3.3, 3.4).
    pub fn parse(text: &[u8]) -> Option<Signature> {
        let mut arguments = Vec::new();
        let mut count_in_c = 0;
        let mut rest = text;
        while !rest.starts_with(b"->") {
            let (argument, behind) = parse_item(rest)?;
            count_in_c += if argument.shape == Shape::Buffer { 2 } else { 1 };
            if count_in_c > 127 {
                return None;
            }
            arguments.push(argument);
            rest = behind;
        }
        let result = match &rest[2..] {
            b"v" => Item { shape: Shape::Value, constant: false, class: Class::Void },
            rest => match parse_item(rest)? {
                (result, b"") if result.shape != Shape::Buffer => result,
                _ => return None,
            },
        };
        Some(Signature { arguments, result })
    }

    /// True if an entry with these flags is well-formed (3.8, 3.11 to 3.13).
    pub fn goes_with(&self, flags: usize) -> bool {
        const KNOWN: usize = 0x01ff;
        let has = |flag| flags & flag != 0;
        let facts = Facts::of(flags);
        let is_value = self.result.shape == Shape::Value;
        if flags >> 24 != 0 || flags & 0xffff & !KNOWN != 0 {
            return false;
        }
        if facts.may_raise && !has(NEEDS_THREAD) {
            return false;
        }
        if facts.may_fall_back && (facts.may_raise || has(ERROR_IS_NEG_ZERO)) {
            return false;
        }
        if has(ERROR_IS_NEG_ZERO) {
            let is_double = is_value && self.result.class == Class::Floating(b'd');
            if !has(MAY_RAISE) || has(RETURNS_STATUS) || !is_double {
                return false;
            }
        }
        if facts.reports {
            return is_value && self.result.class == Class::Signed(size_of::<c_int>());
        }
        let without_error_value = matches!(self.result.class, Class::Bool | Class::Void | Class::Complex(_));
        !(has(MAY_RAISE) && is_value && without_error_value)
    }

    /// True if the last argument is the place of the value (3.14).
    pub fn has_place(&self, flags: usize) -> bool {
        let last = self.arguments.last();
        Facts::of(flags).reports && last.map_or(false, |last| last.shape == Shape::Pointer && !last.constant)
    }

    /// True if an entry with this signature and these flags matches the request, even if the texts differ (8.2, 8.3).
    pub fn answers(&self, flags: usize, request: &Signature) -> bool {
        let same = |one: &Item, other: &Item| one.shape == other.shape && one.class == other.class;
        self.arguments.len() == request.arguments.len()
            && self.has_place(flags) == request.has_place(flags)
            && same(&self.result, &request.result)
            && (request.result.constant || !self.result.constant)
            && (self.arguments.iter().zip(&request.arguments))
                .all(|(own, wanted)| same(own, wanted) && (own.constant || !wanted.constant))
    }
}
