// Generates the first part of `ml_doc`. This is the text signature for inspect.signature and
// help(), or a list of overloads.
#ifndef TYPEDCALL_PROVIDER_DOCUMENTATION_H_
#define TYPEDCALL_PROVIDER_DOCUMENTATION_H_

#include "typedcall/base/namespace.h"
#include "typedcall/convert/text.h"
#include "typedcall/provider/parameter.h"

// These headers must come after Python.h.
#if !TYPEDCALL_INTERNAL_IS_DECLARED
#include <charconv>
#endif
#include <cmath>
#include <cstring>

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

TYPEDCALL_COLD TYPEDCALL_HIDDEN void spell_float(text *to, double value);
TYPEDCALL_COLD TYPEDCALL_HIDDEN void spell_string(text *to, const char *words);
TYPEDCALL_COLD TYPEDCALL_HIDDEN void spell_complex(text *to, double real, double imag);

/// Adds a default as a Python expression.
template <class T>
void spell_default(text *to, T value) {
  if constexpr (std::is_same_v<T, const char *>) {
    spell_string(to, value);
  } else if constexpr (std::is_same_v<T, span<const char>>) {
    spell_string(to, value.data());  // a NUL-terminated literal
  } else if constexpr (std::is_pointer_v<T>) {
    to->add("None");
  } else if constexpr (std::is_same_v<T, bool>) {
    to->add(value ? "True" : "False");
  } else if constexpr (is_floating_type<T>) {
    spell_float(to, static_cast<double>(value));
  } else if constexpr (is_complex_type<T>) {
    spell_complex(to, static_cast<double>(PyNativeType_REAL(value)),
                  static_cast<double>(PyNativeType_IMAG(value)));
  } else if constexpr (std::is_signed_v<T>) {
    if (value < 0) to->add("-");
    const auto bits = static_cast<unsigned long long>(static_cast<long long>(value));
    to->add_number(value < 0 ? 0 - bits : bits);
  } else {
    to->add_number(value);
  }
}

/// The parameters of a def's text signature.
struct parameter_text {
  text positional;    ///< "x, y=2.0"
  text either;        ///< "z=None"
  text keyword_only;  ///< "tolerance=1e-09"
};

template <class Parameter, class T>
void spell_parameter(parameter_text *to, const char *name,
                     [[maybe_unused]] const T &default_value) {
  text &list = Parameter::how == passing::by_position ? to->positional
               : Parameter::how == passing::either    ? to->either
                                                      : to->keyword_only;
  list.add_behind(", ", name);
  if constexpr (Parameter::has_default) {
    list.add("=");
    spell_default(&list, default_value);
  }
}

template <class... Parameters, class Arguments, std::size_t... I>
void spell_parameters(parameter_text *to, std::index_sequence<I...>, const char *const *names,
                      const Arguments &defaults) {
  (void)to, (void)names, (void)defaults;
  (spell_parameter<Parameters>(to, names[I], std::get<I>(defaults)), ...);
}

#if !TYPEDCALL_INTERNAL_IS_DECLARED

/// Adds a floating-point number in Python's notation. Python has no literal for nan, so nan becomes
/// "...".
TYPEDCALL_RARE TYPEDCALL_INTERNAL_DEFINE void spell_float(text *to, double value) {
  if (std::isnan(value)) {
    to->add("...");
  } else if (std::isinf(value)) {
    to->add(value < 0 ? "-1e999" : "1e999");
  } else {
#if TYPEDCALL_IS_SUPPORTED
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value);
    *end.ptr = '\0';
    to->add(digits);
    if (std::strpbrk(digits, ".e") == nullptr) to->add(".0");
#else  // before 13.3, macOS does not support to_chars() for double
    char *const digits = PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, nullptr);
    to->add(digits != nullptr ? digits : "...");
    if (digits == nullptr) PyErr_Clear();
    PyMem_Free(digits);
#endif
  }
}

/// True if the text is ASCII. inspect cannot read other text signatures.
inline bool is_ascii(const char *words) {
  for (; *words != '\0'; ++words) {
    if (static_cast<unsigned char>(*words) > 0x7f) return false;
  }
  return true;
}

TYPEDCALL_RARE TYPEDCALL_INTERNAL_DEFINE void spell_string(text *to, const char *words) {
  for (const char *each = words; *each != '\0'; ++each) {
    if (static_cast<unsigned char>(*each) > 0x7e) {
      to->add("...");
      return;
    }
  }
  to->add("'");
  for (; *words != '\0'; ++words) {
    const auto byte = static_cast<unsigned char>(*words);
    if (byte < 0x20) {
      static constexpr char digits[] = "0123456789abcdef";
      const char escaped[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
      to->add(escaped, sizeof(escaped));
    } else {
      if (*words == '\'' || *words == '\\') to->add("\\");
      to->add(words, 1);
    }
  }
  to->add("'");
}

TYPEDCALL_RARE TYPEDCALL_INTERNAL_DEFINE void spell_complex(text *to, double real, double imag) {
  // inspect can only add constants. With a minus sign, the real part would not be a constant.
  if (!std::isfinite(real) || !std::isfinite(imag) || std::signbit(real)) {
    to->add("...");
    return;
  }
  spell_float(to, real);
  if (!std::signbit(imag)) to->add("+");
  spell_float(to, imag);
  to->add("j");
}

TYPEDCALL_RARE inline void spell_unnamed(parameter_text *to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to->positional.add_behind(", ", "arg").add_number(i);
}

/// Adds a signature such as "name($module, x, /, y, *, z)". `self` is "$module", "$self", "$type"
/// or, for static methods, "".
TYPEDCALL_RARE inline void spell_signature(text *to, const char *name, const char *self,
                                           const parameter_text &parameters) {
  text list;
  list.add(self);
  for (const text *each : {&parameters.positional, &parameters.either, &parameters.keyword_only}) {
    if (each == &parameters.keyword_only && each->length() != 0) list.add_behind(", ", "*");
    if (each->length() != 0) list.add_behind(", ", "").add(*each);
    if (each == &parameters.positional && list.length() != 0) list.add(", /");
  }
  to->add(name).add("(").add(list).add(")");
}

/// Returns the Python name of an argument or result type.
TYPEDCALL_RARE inline const char *spell_type(PyNativeType type) {
  switch (PyNativeCode_Kind(type.code)) {
    case PyNativeKind_VOID:
      return "None";
    case PyNativeKind_BOOL:
      return "bool";
    case PyNativeKind_SIGNED:
    case PyNativeKind_UNSIGNED:
      return "int";
    case PyNativeKind_FLOATING:
      return "float";
    case PyNativeKind_COMPLEX:
      return "complex";
    case PyNativeKind_POINTER:
      return "pointer";
    case PyNativeKind_STRING:
      return "str";
    case PyNativeKind_OBJECT:
      return "object";
  }
  return "";
}

/// Adds a line like "name(int, float) -> float" for each overload.
TYPEDCALL_RARE inline void spell_overloads(text *to, const char *name,
                                           const char *const *signatures, std::size_t count) {
  const auto add_type = [to](PyNativeType type) {
    if (PyNativeType_IsBuffer(type) && type.code != PyNativeType_STRING) {
      // The type of the elements may be the only difference between two overloads.
      to->add("buffer of '").add(PyNativeCode_Letters(type.code)).add("' items");
      return;
    }
    if (type.pointer_flags && !PyNativeType_IsBuffer(type)) to->add("pointer to ");
    to->add(spell_type(type));
  };
  for (std::size_t i = 0; i < count; ++i) {
    PyNativeSignature parsed;
    if (PyNativeSignature_ParseString(signatures[i], &parsed, nullptr) < 0) continue;
    to->add_behind("\n", name).add("(");
    for (int at = 0; at < parsed.nargs; ++at) {
      if (at > 0) to->add(", ");
      add_type(parsed.args[at]);
    }
    to->add(") -> ");
    add_type(parsed.result);
  }
}

/// True if the documentation starts with a text signature. Uses the same rule as CPython.
inline bool has_text_signature(const char *name, const char *doc) {
  const std::size_t length = std::strlen(name);
  if (doc == nullptr || std::strncmp(doc, name, length) != 0 || doc[length] != '(') return false;
  const char *end = std::strstr(doc, ")\n--\n\n");
  const char *blank = std::strstr(doc, "\n\n");
  return end != nullptr && blank > end;
}

#endif  // TYPEDCALL_INTERNAL_IS_DECLARED

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_DOCUMENTATION_H_
