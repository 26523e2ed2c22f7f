// What a row's `ml_doc` says by itself: the text signature that inspect.signature and help() read,
// or the list of overloads, which have no signature in common.
#ifndef TYPEDCALL_PROVIDER_DOCUMENTATION_H_
#define TYPEDCALL_PROVIDER_DOCUMENTATION_H_

#include "typedcall/namespace.h"
#include "typedcall/provider/parameter.h"

// Behind Python.h.
#include <charconv>
#include <string>

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// A floating number as Python spells it. Python has no literal for nan, and "..." is what its own
/// signatures show where a default cannot be spelt.
__attribute__((noinline, cold)) inline std::string spell_float(double value) {
  if (__builtin_isnan(value)) return "...";
  if (__builtin_isinf(value)) return value < 0 ? "-1e999" : "1e999";
  char text[40];
  const auto end = std::to_chars(text, text + sizeof(text), value);
  std::string spelt(text, end.ptr);
  if (spelt.find_first_of(".e") == std::string::npos) spelt += ".0";
  return spelt;
}

/// inspect wants ASCII.
inline bool is_ascii(const std::string &text) {
  for (const char byte : text) {
    if (static_cast<unsigned char>(byte) > 0x7f) return false;
  }
  return true;
}

__attribute__((noinline, cold)) inline std::string spell_string(const char *text) {
  std::string spelt = "'";
  for (; *text != '\0'; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    if (*text == '\'' || *text == '\\') {
      spelt += '\\';
      spelt += *text;
    } else if (byte > 0x7e) {
      return "...";
    } else if (byte < 0x20) {
      static constexpr char digits[] = "0123456789abcdef";
      spelt += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    } else {
      spelt += *text;
    }
  }
  return spelt + "'";
}

/// A default as a Python expression.
template <class T>
std::string spell_default(T value) {
  if constexpr (std::is_same_v<T, const char *>) {
    return spell_string(value);
  } else if constexpr (std::is_pointer_v<T>) {
    return "None";
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "True" : "False";
  } else if constexpr (std::is_floating_point_v<T>) {
    return spell_float(static_cast<double>(value));
  } else if constexpr (is_complex_type<T>) {
    const double real = static_cast<double>(__real__ value);
    const double imag = static_cast<double>(__imag__ value);
    if (!__builtin_isfinite(real) || !__builtin_isfinite(imag)) return "...";
    // inspect adds constants, and a sign in front makes an expression of one.
    if (__builtin_signbit(real)) return "...";
    return spell_float(real) + (__builtin_signbit(imag) ? "" : "+") + spell_float(imag) + "j";
  } else {
    return std::to_string(value);
  }
}

/// The parameters of a row in a text signature.
struct parameter_text {
  std::string positional;  ///< "x, y=2.0"
  std::string by_name;     ///< "z=None"

  __attribute__((noinline, cold)) void add(bool is_by_name, const std::string &parameter) {
    std::string &list = is_by_name ? by_name : positional;
    list += (list.empty() ? "" : ", ") + parameter;
  }
};

__attribute__((noinline, cold)) inline parameter_text unnamed_parameters(std::size_t count) {
  parameter_text text;
  for (std::size_t i = 0; i < count; ++i) text.add(false, "arg" + std::to_string(i));
  return text;
}

template <class Parameter, class T>
std::string spell_parameter(const char *name, const T &default_value) {
  if constexpr (Parameter::has_default) {
    return name + ("=" + spell_default(default_value));
  } else {
    (void)default_value;
    return name;
  }
}

template <class... Parameters, class Arguments, std::size_t... I>
parameter_text spell_parameters(std::index_sequence<I...>, const char *const *names,
                                const Arguments &defaults) {
  parameter_text text;
  (void)names, (void)defaults;
  (text.add(Parameters::by_name, spell_parameter<Parameters>(names[I], std::get<I>(defaults))),
   ...);
  return text;
}

/// "name($module, x, /, y)". `self` is "$module", "$self", "$type" or "" for static methods.
__attribute__((noinline, cold)) inline std::string spell_signature(const char *name,
                                                                   const char *self,
                                                                   const parameter_text &text) {
  std::string list = self;
  const auto add = [&list](const std::string &more) {
    if (!more.empty()) list += (list.empty() ? "" : ", ") + more;
  };
  add(text.positional);
  if (!list.empty()) add("/");
  add(text.by_name);
  return name + ("(" + list + ")");
}

/// What Python programmers call the type of an argument or result.
__attribute__((noinline, cold)) inline std::string spell_type(PyNativeType type) {
  if (type.is_pointer) return "pointer to " + spell_type({type.code, 0});
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

/// "name(int, float) -> float" for each overload, one a line.
__attribute__((noinline, cold)) inline std::string spell_overloads(const char *name,
                                                                   const char *const *signatures,
                                                                   std::size_t count) {
  std::string lines;
  for (std::size_t i = 0; i < count; ++i) {
    PyNativeSignature parsed;
    if (PyNativeSignature_ParseString(signatures[i], &parsed, nullptr) < 0) continue;
    lines += (lines.empty() ? "" : "\n") + std::string(name) + "(";
    for (int at = 0; at < parsed.nargs; ++at) {
      lines += (at == 0 ? "" : ", ") + spell_type(parsed.args[at]);
    }
    lines += ") -> " + spell_type(parsed.result);
  }
  return lines;
}

/// Does the documentation bring a text signature of its own? As CPython looks for it.
inline bool has_text_signature(const char *name, const char *doc) {
  const std::size_t length = std::strlen(name);
  if (doc == nullptr || std::strncmp(doc, name, length) != 0 || doc[length] != '(') return false;
  const char *end = std::strstr(doc, ")\n--\n\n");
  const char *blank = std::strstr(doc, "\n\n");
  return end != nullptr && blank > end;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_DOCUMENTATION_H_
