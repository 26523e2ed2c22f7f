// Compares the list of flags with the table in docs/ABI.md, section 3.
#include "typedcall/native_callable.h"
// native_callable.h comes first because it includes Python.h.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace {

struct Flag {
  std::uintptr_t bit;
  std::string name;
  bool must_be_understood;

  bool operator==(const Flag &other) const {
    return bit == other.bit && name == other.name && must_be_understood == other.must_be_understood;
  }
};

void PrintTo(const Flag &flag, std::ostream *out) {
  *out << flag.name << " " << flag.bit << (flag.must_be_understood ? ", mandatory" : ", a hint");
}

std::vector<Flag> Listed() {
  return {
#define ROW(NAME, WORDS)               \
  Flag{PyNativeCallable_##NAME, #NAME, \
       (PyNativeCallable_##NAME & PyNativeCallable_MANDATORY_MASK) != 0},
      PyNativeCallable_FLAG_LIST(ROW)
#undef ROW
  };
}

// Returns the stripped cells of a table row. Returns no cells for any other line.
std::vector<std::string> Cells(const std::string &line) {
  std::vector<std::string> cells;
  for (size_t begin = line.find('|'); begin != std::string::npos;) {
    const size_t end = line.find('|', begin + 1);
    if (end == std::string::npos) break;
    const std::string cell = line.substr(begin + 1, end - begin - 1);
    const size_t first = cell.find_first_not_of(' ');
    cells.push_back(first == std::string::npos
                        ? ""
                        : cell.substr(first, cell.find_last_not_of(' ') + 1 - first));
    begin = end;
  }
  return cells;
}

std::vector<Flag> Documented() {
  std::ifstream file("docs/ABI.md");
  std::vector<Flag> flags;
  bool must = false;
  for (std::string line; std::getline(file, line);) {
    if (line.find("**must be understood") != std::string::npos) must = true;
    if (line.find("**hints, may be ignored**") != std::string::npos) must = false;
    if (line.rfind("| 0x", 0) != 0) continue;
    const std::vector<std::string> cells = Cells(line);
    flags.push_back({std::stoul(cells.at(0), nullptr, 16), cells.at(1), must});
  }
  return flags;
}

TEST(Flags, AreThoseOfTheDocument) { EXPECT_EQ(Documented(), Listed()); }

TEST(Flags, AreOneBitEachAndInTheirOrder) {
  std::uintptr_t before = 0;
  for (const Flag &flag : Listed()) {
    EXPECT_EQ(flag.bit & (flag.bit - 1), 0u) << flag.name;
    EXPECT_GT(flag.bit, before) << flag.name;
    before = flag.bit;
  }
}

TEST(Flags, AllHaveWords) {
#define ROW(NAME, WORDS) EXPECT_STRNE(WORDS, "") << #NAME;
  PyNativeCallable_FLAG_LIST(ROW)
#undef ROW
}

TEST(Flags, ThatAreNotListedAreNotUsable) {
  std::uintptr_t known = 0;
  for (const Flag &flag : Listed()) known |= flag.must_be_understood ? flag.bit : 0;
  for (std::uintptr_t bit = 1; bit <= PyNativeCallable_MANDATORY_MASK; bit <<= 1) {
    const bool goes_with_raising = bit == PyNativeCallable_ERROR_IS_NEG_ZERO;
    const std::uintptr_t flags =
        bit | PyNativeCallable_NEEDS_THREAD | (goes_with_raising ? PyNativeCallable_MAY_RAISE : 0);
    EXPECT_EQ(PyNativeCallable_FlagsAreUsable(flags), (bit & known) != 0) << bit;
  }
}

}  // namespace
