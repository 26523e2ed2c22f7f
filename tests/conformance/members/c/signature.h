// The part of the reader that does not use Python objects (docs/ABI.md, section 3, 8.2, 8.3).
#ifndef MEMBER_C_SIGNATURE_H
#define MEMBER_C_SIGNATURE_H

#include <string.h>

#include "abi.h"

// A parsed type. `kind` is i or u for integers, F, D or G for complex numbers, and otherwise the
// code.
typedef struct {
  char form;  // '&', '*', or 0 for a plain value
  char is_const;
  char kind;
  unsigned char size;
} Type;
typedef struct {
  int count;
  Type arguments[MAX_ARGUMENTS], result;
} Signature;

static const char *parse_code(const char *text, Type *type) {
  static const char letters[] = "?bhilqBHILQnNfdgPsO";
  static const char kinds[] = "?iiiiiuuuuuiufdgPsO";
  static const size_t sizes[] = {
      sizeof(char),        sizeof(char),   sizeof(short),  sizeof(int),   sizeof(long),
      sizeof(long long),   sizeof(char),   sizeof(short),  sizeof(int),   sizeof(long),
      sizeof(long long),   sizeof(void *), sizeof(void *), sizeof(float), sizeof(double),
      sizeof(long double), sizeof(void *), sizeof(void *), sizeof(void *)};
  int is_complex = *text == 'Z';
  if (is_complex) text++;
  const char *found = *text ? strchr(letters, *text) : NULL;
  if (!found) return NULL;
  type->kind = kinds[found - letters];
  type->size = (unsigned char)sizes[found - letters];
  if (is_complex) {
    if (!strchr("fdg", type->kind)) return NULL;
    type->kind = (char)(type->kind - 'a' + 'A');
    type->size = (unsigned char)(2 * type->size);
  }
  return text + 1;
}

// Parses any type except v. Returns the end of the type, or NULL if it is invalid.
static const char *parse_type(const char *text, Type *type) {
  memset(type, 0, sizeof *type);
  if (*text == '&' || *text == '*') {
    type->form = *text++;
    if (*text == 'k') {
      type->is_const = 1;
      text++;
    }
  }
  text = parse_code(text, type);
  if (!text || type->form != '*') return text;
  return type->kind == 'P' || type->kind == 'O' || (type->kind == 's' && type->is_const) ? NULL
                                                                                         : text;
}

static int parse(const char *text, Signature *signature) {
  int in_c = 0;  // 3.4
  for (signature->count = 0; *text != '-'; signature->count++) {
    Type type;
    text = parse_type(text, &type);
    if (!text || (in_c += type.form == '*' ? 2 : 1) > MAX_ARGUMENTS) return 0;
    signature->arguments[signature->count] = type;
  }
  if (text[1] != '>') return 0;
  text += 2;
  if (*text == 'v') {
    memset(&signature->result, 0, sizeof signature->result);
    signature->result.kind = *text++;
  } else {
    text = parse_type(text, &signature->result);
    if (!text || signature->result.form == '*') return 0;
  }
  return *text == 0;
}

// Returns nonzero if the last argument is a place and the C result is a status (3.14).
static int has_place(const Signature *signature) {
  if (signature->count == 0) return 0;
  Type last = signature->arguments[signature->count - 1];
  return last.form == '&' && !last.is_const;
}

static int well_formed(uintptr_t flags, Type result) {  // 3.8, 3.11 to 3.13
  uintptr_t raises = flags & (MAY_RAISE | RETURNS_STATUS);
  if (flags > 0xffffff || (flags & MUST_UNDERSTAND & ~(uintptr_t)KNOWN_FLAGS)) return 0;
  if (raises && !(flags & NEEDS_THREAD)) return 0;
  if ((flags & FALLS_BACK) && (raises || (flags & ERROR_IS_NEG_ZERO))) return 0;
  if (flags & ERROR_IS_NEG_ZERO &&
      (raises != MAY_RAISE || result.form != 0 || result.kind != 'd')) {
    return 0;
  }
  if (flags & (RETURNS_STATUS | FALLS_BACK)) {
    return result.form == 0 && result.kind == 'i' && result.size == sizeof(int);
  }
  return raises == 0 || result.form != 0 || !strchr("?vFDG", result.kind);
}

static int same_type(Type one, Type other) {
  return one.form == other.form && one.kind == other.kind && one.size == other.size;
}

static int answers(const Signature *entry, uintptr_t flags, const Signature *request) {  // 8.2, 8.3
  if (entry->count != request->count || !same_type(entry->result, request->result)) return 0;
  if (entry->result.is_const && !request->result.is_const) return 0;
  for (int i = 0; i < entry->count; i++) {
    if (!same_type(entry->arguments[i], request->arguments[i])) return 0;
    if (request->arguments[i].is_const && !entry->arguments[i].is_const) return 0;
  }
  return !(flags & (RETURNS_STATUS | FALLS_BACK)) || has_place(entry) == has_place(request);
}

#endif
