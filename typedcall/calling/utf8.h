// Texts that others hand to C functions: are they what Python would decode?
// Used by typedcall/calling/value_type.h.
#ifndef TYPEDCALL_CALLING_UTF8_H_
#define TYPEDCALL_CALLING_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "typedcall/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

/// Is it what Python decodes as UTF-8?
inline bool is_utf8(const unsigned char *text, std::size_t size) {
  std::size_t at = 0;
  while (at < size) {
    std::uint64_t eight;
    if (size - at >= sizeof(eight)) {
      std::memcpy(&eight, text + at, sizeof(eight));
      if ((eight & UINT64_C(0x8080808080808080)) == 0) {
        at += sizeof(eight);
        continue;
      }
    }
    const unsigned first = text[at++];
    if (first < 0x80) continue;
    const std::size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4 || size - at < more) return false;
    // Too long, a surrogate, or behind U+10FFFF.
    const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (text[at] < low || text[at] > high) return false;
    for (std::size_t i = 1; i < more; ++i) {
      if ((text[at + i] & 0xC0) != 0x80) return false;
    }
    at += more;
  }
  return true;
}

}  // namespace calling
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_UTF8_H_
