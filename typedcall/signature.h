// Signature strings of native functions: parse, print and compare them, in C or at compile time.
// Needs no Python.h; C99, C11 and C++11 to C++20 (constexpr from C++14), no allocation, no stdio.
//
// The grammar (EBNF). NumPy's form, PEP 3118's letters:
//
//     signature = { type } , "->" , result ;       at most 127 arguments
//     result    = type | "v" ;
//     type      = [ "&" ] , code ;
//     code      = "?"                              bool
//               | "b" | "h" | "i" | "l" | "q"      signed char, short, int, long, long long
//               | "B" | "H" | "I" | "L" | "Q"      the same, unsigned
//               | "n" | "N"                        Py_ssize_t, size_t
//               | "f" | "d" | "g"                  float, double, long double
//               | "Zf" | "Zd" | "Zg"               complex of these
//               | "P" | "s" | "O" ;                void *, const char *, PyObject *
//
// "&d" is `double *`. A pointer to a pointer made with "&" is refused; write "P". Nothing else may
// be in the text, so every signature has exactly one spelling: what parses is canonical.

#ifndef TYPEDCALL_SIGNATURE_H_
#define TYPEDCALL_SIGNATURE_H_

#include <stddef.h>

#include "typedcall/type_codes.h"

/// One argument or result: an `enum PyNativeType_Code`, and 1 if it is a pointer to that.
/// Source: the grammar above.
typedef struct {
  unsigned char code;
  unsigned char is_pointer;
} PyNativeType;

/// The largest number of arguments; C guarantees 127 parameters (C99, 5.2.4.1).
#define PyNativeSignature_MAX_ARGS 127

/// The longest signature in bytes, without a NUL: 127 times "&Zd", "->" and "&Zd".
#define PyNativeSignature_MAX_LENGTH (PyNativeSignature_MAX_ARGS * 3 + 2 + 3)

/// A parsed signature. Only the first `nargs` of `args` mean anything.
/// Source: the grammar above.
typedef struct {
  int nargs;
  PyNativeType result;
  PyNativeType args[PyNativeSignature_MAX_ARGS];
} PyNativeSignature;

/// Why a text is no signature: the offset in bytes of the first byte that no signature with the
/// same beginning has there (the text's length if it ends too early), and static text in plain
/// words.
typedef struct {
  size_t position;
  const char *reason;
} PyNativeSignature_Fault;

// What to say of a byte that fits nowhere, or of `otherwise` if it is an innocent one.
PyNative_INLINE const char *PyNativeSignature_Internal_Unexpected(char byte,
                                                                  const char *otherwise) {
  if (byte == ' ' || (byte >= '\t' && byte <= '\r')) {
    return "spaces are not allowed";
  }
  return byte == '\0' ? "a NUL byte is not allowed" : otherwise;
}

// Reads one type, or "v", and moves *position behind it. Returns a null pointer, or the reason
// with *position at the byte at fault.
PyNative_INLINE const char *PyNativeSignature_Internal_ReadType(const char *text, size_t length,
                                                                size_t *position,
                                                                PyNativeType *type) {
  size_t at = *position;
  int is_pointer = 0;
  int code = -1;
  if (at < length && text[at] == '&') {
    is_pointer = 1;
    ++at;
  }
  *position = at;
  if (at >= length) {
    return "unexpected end";
  }
  if (is_pointer && text[at] == '&') {
    return "'&' cannot point to '&'; write 'P'";
  }
  if (is_pointer && text[at] == 'v') {
    return "'&' cannot point to 'v'";
  }
  if (text[at] == 'Z') {
    *position = ++at;
    if (at >= length) {
      return "unexpected end";
    }
    code = PyNativeCode_FromLetters('Z', text[at]);
    if (code < 0) {
      return PyNativeSignature_Internal_Unexpected(text[at], "'Z' must be followed by f, d or g");
    }
  } else {
    code = PyNativeCode_FromLetters(text[at], '\0');
    if (code < 0) {
      return PyNativeSignature_Internal_Unexpected(text[at], "unknown type code");
    }
  }
  *position = at + 1;
  type->code = (unsigned char)code;
  type->is_pointer = (unsigned char)is_pointer;
  return NULL;
}

// Reads the whole text. Returns a null pointer, or the reason with *position at the fault.
PyNative_INLINE const char *PyNativeSignature_Internal_Read(const char *text, size_t length,
                                                            PyNativeSignature *out,
                                                            size_t *position) {
  PyNativeType type = {0, 0};
  const char *reason = NULL;
  const char *arrow = "->";
  int nargs = 0;
  while (*position < length && text[*position] != '-' && text[*position] != '>') {
    const size_t start = *position;
    reason = PyNativeSignature_Internal_ReadType(text, length, position, &type);
    if (nargs == PyNativeSignature_MAX_ARGS && *position > start) {
      reason = "more than 127 arguments";
      *position = start;
    } else if (!reason && type.code == PyNativeType_VOID) {
      reason = "'v' is only a result";
      *position = start;
    }
    if (reason) {
      return reason;
    }
    if (out) {
      out->args[nargs] = type;
    }
    ++nargs;
  }
  for (; *arrow != '\0'; ++arrow, ++*position) {
    if (*position >= length || text[*position] != *arrow) {
      return "expected '->'";
    }
  }
  reason = PyNativeSignature_Internal_ReadType(text, length, position, &type);
  if (reason) {
    return reason;
  }
  if (*position < length) {
    return PyNativeSignature_Internal_Unexpected(text[*position], "text after the result");
  }
  if (out) {
    out->nargs = nargs;
    out->result = type;
  }
  return NULL;
}

/// Parses the `length` bytes at `text`; reads none behind them, and of a text that is too long
/// only as much as shows it. `out` may be NULL to check only, `fault` may be NULL.
/// Returns 0. Returns -1 if the text is no signature: then `*fault` says where and why, and
/// `*out` takes no arguments and returns nothing. Without a fault `*fault` stays as it was, and so
/// do the elements of `out->args` from `nargs` on. Sets no Python error.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: the grammar above; docs/ABI.md, section 3.
PyNative_INLINE int PyNativeSignature_Parse(const char *text, size_t length, PyNativeSignature *out,
                                            PyNativeSignature_Fault *fault) {
  size_t position = 0;
  const char *reason = PyNativeSignature_Internal_Read(text, length, out, &position);
  if (!reason) {
    return 0;
  }
  if (out) {
    out->nargs = 0;
    out->result.code = PyNativeType_VOID;
    out->result.is_pointer = 0;
  }
  if (fault) {
    fault->position = position;
    fault->reason = reason;
  }
  return -1;
}

/// PyNativeSignature_Parse for NUL-terminated text; NULL counts as "". Reads up to the NUL, but at
/// most PyNativeSignature_MAX_LENGTH + 1 bytes, so text without a NUL is a fault and no overrun as
/// long as that much is readable.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: the grammar above.
PyNative_INLINE int PyNativeSignature_ParseString(const char *text, PyNativeSignature *out,
                                                  PyNativeSignature_Fault *fault) {
  // No signature is longer than MAX_LENGTH, and none can still be incomplete there: one byte more
  // is enough for the parser to find the same fault at the same place as in the whole text.
  size_t length = 0;
  while (text && length <= PyNativeSignature_MAX_LENGTH && text[length] != '\0') {
    ++length;
  }
  return PyNativeSignature_Parse(text, length, out, fault);
}

// Puts `byte` where the buffer still has room for it and a NUL; returns the next offset.
PyNative_INLINE size_t PyNativeSignature_Internal_Put(char *buffer, size_t size, size_t at,
                                                      char byte) {
  if (at + 1 < size) {
    buffer[at] = byte;
  }
  return at + 1;
}

PyNative_INLINE size_t PyNativeSignature_Internal_PutType(char *buffer, size_t size, size_t at,
                                                          PyNativeType type) {
  const char *letters = PyNativeCode_Letters(type.code);
  if (type.is_pointer) {
    at = PyNativeSignature_Internal_Put(buffer, size, at, '&');
  }
  for (; *letters != '\0'; ++letters) {
    at = PyNativeSignature_Internal_Put(buffer, size, at, *letters);
  }
  return at;
}

// Can the grammar say this type as an argument?
PyNative_INLINE int PyNativeType_Internal_IsValue(PyNativeType type) {
  return type.code != PyNativeType_VOID && type.code < PyNativeType_COUNT;
}

/// Writes the canonical text of `signature` and a NUL to `buffer`, which holds `size` bytes;
/// cuts it off if it does not fit. `buffer` may be NULL if `size` is 0.
/// Returns the length in bytes that the whole text has, without the NUL, like snprintf: it was cut
/// off if that is >= `size`. PyNativeSignature_MAX_LENGTH + 1 bytes always suffice. Returns 0 and
/// writes "" if the grammar cannot say it (`nargs` out of range, no such code, "v" where a value
/// must be there).
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: the grammar above.
PyNative_INLINE size_t PyNativeSignature_Print(const PyNativeSignature *signature, char *buffer,
                                               size_t size) {
  const int is_void =
      signature->result.code == PyNativeType_VOID && signature->result.is_pointer == 0;
  int valid = signature->nargs >= 0 && signature->nargs <= PyNativeSignature_MAX_ARGS &&
              (is_void || PyNativeType_Internal_IsValue(signature->result));
  size_t at = 0;
  int i = 0;
  for (i = 0; valid && i < signature->nargs; ++i) {
    valid = PyNativeType_Internal_IsValue(signature->args[i]);
  }
  if (valid) {
    for (i = 0; i < signature->nargs; ++i) {
      at = PyNativeSignature_Internal_PutType(buffer, size, at, signature->args[i]);
    }
    at = PyNativeSignature_Internal_Put(buffer, size, at, '-');
    at = PyNativeSignature_Internal_Put(buffer, size, at, '>');
    at = PyNativeSignature_Internal_PutType(buffer, size, at, signature->result);
  }
  if (size > 0) {
    buffer[at < size ? at : size - 1] = '\0';
  }
  return at;
}

/// The size of an argument or result of this type, in bytes; a pointer's own for "&". 0 for "v".
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: PyNativeType_LIST.
PyNative_INLINE size_t PyNativeType_Size(PyNativeType type) {
  return type.is_pointer ? sizeof(void *) : PyNativeCode_Size(type.code);
}

/// The alignment of an argument or result of this type, in bytes; a pointer's own for "&". 1 for
/// "v".
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: PyNativeType_LIST.
PyNative_INLINE size_t PyNativeType_Alignment(PyNativeType type) {
  return PyNativeCode_Alignment(type.is_pointer ? (int)PyNativeType_POINTER : (int)type.code);
}

/// The kind of an argument or result of this type; PyNativeKind_POINTER for "&".
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: PyNativeType_LIST.
PyNative_INLINE enum PyNativeKind PyNativeType_Kind(PyNativeType type) {
  return type.is_pointer ? PyNativeKind_POINTER : PyNativeCode_Kind(type.code);
}

/// 1 if the two are the same to whoever makes the call, else 0: equal codes; integers of the same
/// width and signedness ("l", "q" and "n" on LP64, "i" and "l" on Windows); pointers to such.
/// Everything else only with itself: bool is no integer, "d" is never "g" even where they have one
/// width, and "P" is not "&d", since it says nothing about what it points to.
/// A code outside the list is equivalent to nothing.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeType_Equivalent(PyNativeType a, PyNativeType b) {
  const enum PyNativeKind kind = PyNativeCode_Kind(a.code);
  if (a.code >= PyNativeType_COUNT || !a.is_pointer != !b.is_pointer) {
    return 0;
  }
  if (a.code == b.code) {
    return 1;
  }
  return (kind == PyNativeKind_SIGNED || kind == PyNativeKind_UNSIGNED) &&
         PyNativeCode_Kind(b.code) == kind &&
         PyNativeCode_Size(a.code) == PyNativeCode_Size(b.code);
}

/// 1 if the two parsed signatures have as many arguments and their types are pairwise equivalent,
/// the results' too; else 0. Both must come from a successful parse.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeSignature_EquivalentParsed(const PyNativeSignature *a,
                                                       const PyNativeSignature *b) {
  int same = a->nargs == b->nargs && PyNativeType_Equivalent(a->result, b->result);
  int i = 0;
  for (i = 0; same && i < a->nargs; ++i) {
    same = PyNativeType_Equivalent(a->args[i], b->args[i]);
  }
  return same;
}

/// 1 if the two NUL-terminated texts are signatures and equivalent, else 0. A text that is no
/// signature is equivalent to nothing, not even to itself: a caller can act on 1 without asking
/// whether it may. Equal bytes skip the comparison, not that check; whoever knows that one side is
/// a signature need only compare bytes first.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeSignature_Equivalent(const char *a, const char *b) {
  size_t i = 0;
  if (!a || !b) {
    return 0;
  }
  while (i <= PyNativeSignature_MAX_LENGTH && a[i] == b[i] && a[i] != '\0') {
    ++i;
  }
  if (i > PyNativeSignature_MAX_LENGTH || a[i] == b[i]) {
    return PyNativeSignature_Parse(a, i, NULL, NULL) == 0;
  }
  PyNativeSignature parsed_a = {0, {0, 0}, {{0, 0}}};
  PyNativeSignature parsed_b = {0, {0, 0}, {{0, 0}}};
  return PyNativeSignature_ParseString(a, &parsed_a, NULL) == 0 &&
         PyNativeSignature_ParseString(b, &parsed_b, NULL) == 0 &&
         PyNativeSignature_EquivalentParsed(&parsed_a, &parsed_b);
}

#endif  // TYPEDCALL_SIGNATURE_H_
