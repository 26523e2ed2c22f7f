// Parses, prints and compares signature strings of native functions, at run time or compile time.
// Does not need Python.h, memory allocation or stdio. C99, C11 and C++11 to C++20 (constexpr from
// C++14). All functions may be called from any thread and interpreter without the GIL. They call no
// Python function.
//
// The grammar in EBNF, with the letters of PEP 3118:
//
//     signature = { argument } , "->" , result ;   at most 127 arguments in C
//     argument  = type | buffer ;
//     result    = type | "v" ;
//     type      = code | "&" , [ "k" ] , code ;
//     buffer    = "*" , [ "k" ] , element | "*s" ; two arguments in C, one in Python
//     element   = code, but none of "P", "s", "O" ;
//     code      = letters of PyNativeType_VALUE_LIST in typedcall/signature/type_codes.h ;
//
// "&d" is `double *`, and "&kd" is `const double *`. A pointer to a pointer is "P".
//
// "*d" is `double *, Py_ssize_t`, a pointer to the first element and the number of elements. "*kd"
// is `const double *, Py_ssize_t`. "*s" is `const char *, Py_ssize_t`, a text in UTF-8 and its
// length in bytes. The memory may be used only during the call.
//
// Every signature has exactly one spelling, so any text that can be parsed is canonical.

#include "core/version.h"

#ifndef TYPEDCALL_SIGNATURE_H_
#define TYPEDCALL_SIGNATURE_H_

#include <stddef.h>

#include "core/compiler.h"
#include "typedcall/signature/native_type.h"

/// The largest number of C arguments. A buffer counts as two. C guarantees 127 parameters (C99,
/// 5.2.4.1).
#define PyNativeSignature_MAX_ARGS 127

/// The length of the longest signature in bytes, without the NUL.
#define PyNativeSignature_MAX_LENGTH (PyNativeSignature_MAX_ARGS * 4 + 2 + 4)

/// A parsed signature. The first `nargs` elements of `args` are the arguments that Python passes. A
/// buffer counts as one. The other elements are not valid.
typedef struct {
  int nargs;
  PyNativeType result;
  PyNativeType args[PyNativeSignature_MAX_ARGS];
} PyNativeSignature;

/// The reason why a text is not a signature. `position` is the offset of the first wrong byte, or
/// the length of a text that ends too early. `reason` is a static string.
typedef struct {
  size_t position;
  const char *reason;
} PyNativeSignature_Fault;

// Returns the message for a byte that no signature can contain, or `otherwise`.
PyNative_INLINE const char *PyNativeSignature_Internal_Unexpected(char byte,
                                                                  const char *otherwise) {
  if (byte == ' ' || (byte >= '\t' && byte <= '\r')) {
    return "spaces are not allowed";
  }
  return byte == '\0' ? "a NUL byte is not allowed" : otherwise;
}

/// Returns the number of C arguments, excluding self. A buffer counts as two.
PyNative_INLINE int PyNativeSignature_CArgCount(const PyNativeSignature *signature) {
  int count = signature->nargs;
  int i = 0;
  for (i = 0; i < signature->nargs; ++i) {
    count += PyNativeType_IsBuffer(signature->args[i]);
  }
  return count;
}

// Reads "&" or "*" and an optional "k", and moves *position past them. Returns a null pointer, or
// the reason for a failure with *position at the wrong byte. Sets *pointer_flags to 0 if there is
// no "&" or "*".
PyNative_INLINE const char *PyNativeSignature_Internal_ReadPointer(const char *text, size_t length,
                                                                   size_t *position,
                                                                   int *pointer_flags) {
  const char mark = *position < length ? text[*position] : '\0';
  *pointer_flags = 0;
  if (mark == 'k') {
    return "'k' must follow '&' or '*'";
  }
  if (mark != '&' && mark != '*') {
    return NULL;
  }
  *pointer_flags = PyNativePointer_TO | (mark == '*' ? PyNativePointer_BUFFER : 0);
  ++*position;
  if (*position < length && text[*position] == 'k') {
    *pointer_flags |= PyNativePointer_CONST;
    ++*position;
  }
  if (*position >= length) {
    return NULL;
  }
  switch (text[*position]) {
    case '&':
      return mark == '&' ? "'&' cannot point to '&'; write 'P'" : "'*' cannot point to '&'";
    case '*':
      return mark == '&' ? "'&' cannot point to '*'" : "'*' cannot point to '*'";
    case 'v':
      return mark == '&' ? "'&' cannot point to 'v'" : "'*' cannot point to 'v'; write '*B'";
    case 'k':
      return "'k' cannot be there twice";
    default:
      return NULL;
  }
}

// Returns the reason why a buffer cannot contain this type, or a null pointer.
PyNative_INLINE const char *PyNativeSignature_Internal_NoElement(int code, int pointer_flags) {
  if ((pointer_flags & PyNativePointer_BUFFER) == 0) {
    return NULL;
  }
  switch (code) {
    case PyNativeType_POINTER:
      return "'*' cannot point to 'P': no number from Python becomes an address";
    case PyNativeType_OBJECT:
      return "'*' cannot point to 'O': a buffer owns no objects";
    case PyNativeType_STRING:
      return (pointer_flags & PyNativePointer_CONST) != 0 ? "'*s' is const without 'k'" : NULL;
    default:
      return NULL;
  }
}

#if TYPEDCALL_IS_SUPPORTED
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"  // noinline functions in a header must be `inline`
#endif

// Reads one type or "v" and moves *position past it. Returns a null pointer, or the reason for a
// failure with *position at the wrong byte. Out of line, because GCC 16 would inline both calls at
// -O3.
TYPEDCALL_OUT_OF_LINE PyNative_INLINE const char *PyNativeSignature_Internal_ReadType(
    const char *text, size_t length, size_t *position, PyNativeType *type) {
  int pointer_flags = 0;
  int code = -1;
  const char *reason =
      PyNativeSignature_Internal_ReadPointer(text, length, position, &pointer_flags);
  if (reason) {
    return reason;
  }
  if (*position >= length) {
    return "unexpected end";
  }
  if (text[*position] == 'Z') {
    ++*position;
    if (*position >= length) {
      return "unexpected end";
    }
    code = PyNativeCode_FromLetters('Z', text[*position]);
    reason = "'Z' must be followed by f, d or g";
  } else {
    code = PyNativeCode_FromLetters(text[*position], '\0');
    reason = "unknown type code";
  }
  if (code < 0) {
    return PyNativeSignature_Internal_Unexpected(text[*position], reason);
  }
  reason = PyNativeSignature_Internal_NoElement(code, pointer_flags);
  if (reason) {
    return reason;
  }
  ++*position;
  type->code = (unsigned char)code;
  type->pointer_flags = (unsigned char)pointer_flags;
  return NULL;
}

#if TYPEDCALL_IS_SUPPORTED
#pragma GCC diagnostic pop
#endif

// Reads the whole text. Returns a null pointer, or the reason for a failure with *position at the
// wrong byte.
PyNative_INLINE const char *PyNativeSignature_Internal_Read(const char *text, size_t length,
                                                            PyNativeSignature *out,
                                                            size_t *position) {
  PyNativeType type = {0, 0};
  const char *reason = NULL;
  const char *arrow = "->";
  int nargs = 0;
  int in_c = 0;
  while (*position < length && text[*position] != '-' && text[*position] != '>') {
    const size_t start = *position;
    // Too many arguments are reported even if the next type is incomplete.
    const int needed = text[start] == '*' ? 2 : 1;
    reason = PyNativeSignature_Internal_ReadType(text, length, position, &type);
    if (in_c + needed > PyNativeSignature_MAX_ARGS && *position > start) {
      reason = needed == 2 ? "more than 127 arguments; '*' is two in C" : "more than 127 arguments";
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
    in_c += needed;
  }
  for (; *arrow != '\0'; ++arrow, ++*position) {
    if (*position >= length || text[*position] != *arrow) {
      return "expected '->'";
    }
  }
  if (*position < length && text[*position] == '*') {
    return "'*' is only an argument: a result has no count";
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

/// Parses the `length` bytes at `text`. `out` and `fault` may be NULL. Returns 0, or -1 if the text
/// is not a signature. On failure, `*fault` contains the position and the reason, and `*out` is a
/// function with no arguments and no result. On success, `*fault` is unchanged. Sets no Python
/// exception. Source: docs/ABI.md, section 3.
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
    out->result.pointer_flags = 0;
  }
  if (fault) {
    fault->position = position;
    fault->reason = reason;
  }
  return -1;
}

/// Like PyNativeSignature_Parse, for a NUL-terminated text. NULL is treated as "". Reads at most
/// PyNativeSignature_MAX_LENGTH + 1 bytes, even if there is no NUL.
PyNative_INLINE int PyNativeSignature_ParseString(const char *text, PyNativeSignature *out,
                                                  PyNativeSignature_Fault *fault) {
  // One byte more than MAX_LENGTH is enough to find the fault in a text that is too long.
  size_t length = 0;
  while (text && length <= PyNativeSignature_MAX_LENGTH && text[length] != '\0') {
    ++length;
  }
  return PyNativeSignature_Parse(text, length, out, fault);
}

// Writes `byte` if the buffer has room for it and a NUL. Returns the next offset.
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
  if (type.pointer_flags) {
    at = PyNativeSignature_Internal_Put(buffer, size, at, PyNativeType_IsBuffer(type) ? '*' : '&');
  }
  if ((type.pointer_flags & PyNativePointer_CONST) != 0) {
    at = PyNativeSignature_Internal_Put(buffer, size, at, 'k');
  }
  for (; *letters != '\0'; ++letters) {
    at = PyNativeSignature_Internal_Put(buffer, size, at, *letters);
  }
  return at;
}

// True if the grammar allows this type as an argument.
PyNative_INLINE int PyNativeType_Internal_IsValue(PyNativeType type) {
  return type.code != PyNativeType_VOID && type.code < PyNativeType_COUNT &&
         !PyNativeSignature_Internal_NoElement(type.code, type.pointer_flags);
}

/// Writes the text of `signature` and a NUL to `buffer`, which has room for `size` bytes. `buffer`
/// may be NULL if `size` is 0. Like snprintf, truncates the text if necessary, and returns the
/// length of the whole text without the NUL. PyNativeSignature_MAX_LENGTH + 1 bytes are always
/// enough. Writes "" and returns 0 if the signature is invalid.
PyNative_INLINE size_t PyNativeSignature_Print(const PyNativeSignature *signature, char *buffer,
                                               size_t size) {
  const int is_void =
      signature->result.code == PyNativeType_VOID && signature->result.pointer_flags == 0;
  int valid = signature->nargs >= 0 && signature->nargs <= PyNativeSignature_MAX_ARGS &&
              PyNativeSignature_CArgCount(signature) <= PyNativeSignature_MAX_ARGS &&
              (is_void || (PyNativeType_Internal_IsValue(signature->result) &&
                           !PyNativeType_IsBuffer(signature->result)));
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

/// Returns 1 if two parsed signatures have the same number of arguments and all their types are
/// equivalent, else 0. Both must come from a successful parse. Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeSignature_EquivalentParsed(const PyNativeSignature *a,
                                                       const PyNativeSignature *b) {
  int same = a->nargs == b->nargs && PyNativeType_Equivalent(a->result, b->result);
  int i = 0;
  for (i = 0; same && i < a->nargs; ++i) {
    same = PyNativeType_Equivalent(a->args[i], b->args[i]);
  }
  return same;
}

/// Returns 1 if a function with the signature `offered` may be called through the signature
/// `requested` without conversions, else 0. The signatures must be equivalent, except that
/// `offered` may add the const mark "k" to arguments and omit it from the result. Both must come
/// from a successful parse. Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeSignature_SatisfiesParsed(const PyNativeSignature *offered,
                                                      const PyNativeSignature *requested) {
  int answers = offered->nargs == requested->nargs &&
                PyNativeType_PassesAs(offered->result, requested->result);
  int i = 0;
  for (i = 0; answers && i < requested->nargs; ++i) {
    answers = PyNativeType_PassesAs(requested->args[i], offered->args[i]);
  }
  return answers;
}

// Compares two texts with PyNativeSignature_SatisfiesParsed if `is_ordered` is true, otherwise with
// PyNativeSignature_EquivalentParsed.
PyNative_INLINE int PyNativeSignature_Internal_Compare(const char *a, const char *b,
                                                       int is_ordered) {
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
         (is_ordered ? PyNativeSignature_SatisfiesParsed(&parsed_a, &parsed_b)
                     : PyNativeSignature_EquivalentParsed(&parsed_a, &parsed_b));
}

/// Returns 1 if two NUL-terminated texts are equivalent signatures, else 0. A text that is not a
/// signature is not equivalent to any text, not even itself. Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeSignature_Equivalent(const char *a, const char *b) {
  return PyNativeSignature_Internal_Compare(a, b, 0);
}

/// Like PyNativeSignature_SatisfiesParsed, for NUL-terminated texts. Returns 0 if a text is not a
/// signature. Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeSignature_Satisfies(const char *offered, const char *requested) {
  return PyNativeSignature_Internal_Compare(offered, requested, 1);
}

#endif  // TYPEDCALL_SIGNATURE_H_
