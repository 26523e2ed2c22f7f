// Builds text for documentation and messages. Does not use std::string, because each use would add
// inline clean-up code.
#ifndef TYPEDCALL_CONVERT_TEXT_H_
#define TYPEDCALL_CONVERT_TEXT_H_

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "typedcall/base/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Messages show at most so many bytes of each name, and so many items of each list.
inline constexpr std::size_t longest_name = 200, longest_list = 10;

/// A growing text. Never throws. If memory runs out, the text is incomplete and is_complete()
/// returns false.
class text {
 public:
  text() = default;
  text(const text &) = delete;
  text &operator=(const text &) = delete;
  TYPEDCALL_RARE ~text() { std::free(bytes_); }

  TYPEDCALL_RARE text &add(const char *bytes, std::size_t count) noexcept {
    if (length_ + count >= capacity_ && !grow(length_ + count + 1)) return *this;
    std::memcpy(bytes_ + length_, bytes, count);
    length_ += count;
    bytes_[length_] = '\0';
    return *this;
  }
  TYPEDCALL_RARE text &add(const char *words) noexcept { return add(words, std::strlen(words)); }
  /// If the other text is incomplete, this text becomes incomplete, too.
  TYPEDCALL_RARE text &add(const text &other) noexcept {
    is_cut_ = is_cut_ || other.is_cut_;
    return add(other.c_str(), other.length_);
  }
  /// Adds a name, cut to longest_name bytes of whole UTF-8 characters.
  TYPEDCALL_RARE text &add_cut(const char *name) noexcept {
    std::size_t length = std::strlen(name);
    if (length <= longest_name) return add(name, length);
    for (length = longest_name; (name[length] & 0xC0) == 0x80;) --length;
    return add(name, length).add("...");
  }
  /// Adds item `at` of a list, as "'item'". Adds nothing if the list already has longest_list
  /// items.
  TYPEDCALL_RARE text &add_item(std::size_t at, const char *item) noexcept {
    if (at >= longest_list) return *this;
    return add(at != 0 ? ", '" : "'").add_cut(item).add("'");
  }
  /// Ends a list of `count` items: says how many were left out.
  TYPEDCALL_RARE text &end_list(std::size_t count) noexcept {
    if (count <= longest_list) return *this;
    return add(" and ").add_number(count - longest_list).add(" more");
  }
  /// Adds `words`, preceded by `between` if the text is not empty.
  TYPEDCALL_RARE text &add_behind(const char *between, const char *words) noexcept {
    if (length_ != 0) add(between);
    return add(words);
  }
  TYPEDCALL_RARE text &add_number(unsigned long long number) noexcept {
    char digits[24];
    char *first = digits + sizeof(digits);
    do {
      *--first = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    return add(first, static_cast<std::size_t>(digits + sizeof(digits) - first));
  }

  const char *c_str() const { return bytes_ != nullptr ? bytes_ : ""; }
  std::size_t length() const { return length_; }
  bool is_complete() const { return !is_cut_; }
  /// Returns the text, which is never freed. Returns null if memory ran out or nothing was added.
  const char *keep() {
    const char *const kept = is_cut_ ? nullptr : bytes_;
    if (kept != nullptr) bytes_ = nullptr;
    return kept;
  }

 private:
  bool grow(std::size_t wanted) noexcept {
    const std::size_t capacity = wanted < 64 ? 64 : 2 * wanted;
    auto *const moved = is_cut_ ? nullptr : static_cast<char *>(std::realloc(bytes_, capacity));
    if (moved == nullptr) {
      is_cut_ = true;
      return false;
    }
    bytes_ = moved;
    capacity_ = capacity;
    return true;
  }

  char *bytes_ = nullptr;
  std::size_t length_ = 0, capacity_ = 0;
  bool is_cut_ = false;
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_TEXT_H_
