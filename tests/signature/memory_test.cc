// Tests that the parser accesses nothing outside its arguments.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

#include "typedcall/signature.h"

namespace {

// Texts that end after and inside every kind of token.
const char *const texts[] = {
    "",           "d",   "&",     "Z",     "&Z",   "dd-",    "dd->",   "->&",    "->Z", "->&Z",
    "->v",        "->d", "->&Zd", "dd->d", "->dd", "dd->d ", "&Zd&Zd", "x",      "v",   "&v",
    "ZfZdZg->Zg", "*",   "*k",    "&k",    "*kZ",  "*d",     "*kd->v", "->&kZd", "->*"};

// A readable page followed by an unreadable one.
class GuardedPage {
 public:
  GuardedPage() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    void *memory =
        mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    start_ = static_cast<char *>(memory);
    if (mprotect(start_ + page_, page_, PROT_NONE) != 0) ADD_FAILURE() << "mprotect";
  }
  ~GuardedPage() {
    if (start_) munmap(start_, 2 * page_);
  }
  GuardedPage(const GuardedPage &) = delete;
  GuardedPage &operator=(const GuardedPage &) = delete;

  // Returns `size` bytes that end where the unreadable page begins.
  char *last(size_t size) { return start_ ? start_ + page_ - size : nullptr; }

 private:
  size_t page_;
  char *start_ = nullptr;
};

TEST(Memory, ExactHeapBlocks) {
  for (const char *text : texts) {
    SCOPED_TRACE(text);
    const size_t length = std::strlen(text);
    const std::unique_ptr<char[]> bytes(new char[length]);
    std::memcpy(bytes.get(), text, length);
    PyNativeSignature signature = {};
    const int result = PyNativeSignature_Parse(bytes.get(), length, &signature, nullptr);

    const std::unique_ptr<char[]> terminated(new char[length + 1]);
    std::memcpy(terminated.get(), text, length + 1);
    EXPECT_EQ(PyNativeSignature_ParseString(terminated.get(), nullptr, nullptr), result);
    EXPECT_EQ(PyNativeSignature_Equivalent(terminated.get(), text), result == 0);
    EXPECT_FALSE(PyNativeSignature_Equivalent(terminated.get(), "dddd->d"));

    const size_t needed = PyNativeSignature_Print(&signature, nullptr, 0);
    for (size_t size = 1; size <= needed + 1; ++size) {
      const std::unique_ptr<char[]> printed(new char[size]);
      EXPECT_EQ(PyNativeSignature_Print(&signature, printed.get(), size), needed);
    }
  }
}

TEST(Memory, GuardPage) {
  GuardedPage page;
  ASSERT_NE(page.last(0), nullptr);
  for (const char *text : texts) {
    SCOPED_TRACE(text);
    const size_t length = std::strlen(text);
    char *bytes = page.last(length);
    std::memcpy(bytes, text, length);
    const int result = PyNativeSignature_Parse(bytes, length, nullptr, nullptr);
    char *terminated = page.last(length + 1);
    std::memcpy(terminated, text, length + 1);
    EXPECT_EQ(PyNativeSignature_ParseString(terminated, nullptr, nullptr), result);
    EXPECT_EQ(PyNativeSignature_Equivalent(terminated, text), result == 0);
    EXPECT_FALSE(PyNativeSignature_Equivalent(terminated, "dddd->d"));
  }
}

TEST(Memory, TextWithoutNulIsReadNoFurtherThanASignatureCanReach) {
  GuardedPage page;
  const size_t enough = PyNativeSignature_MAX_LENGTH + 1;
  char *bytes = page.last(enough);
  ASSERT_NE(bytes, nullptr);
  const std::string longest = [] {
    std::string text;
    for (int i = 0; i < PyNativeSignature_MAX_ARGS; ++i) text += "&kZd";
    return text + "->&kZd";
  }();
  ASSERT_EQ(longest.size() + 1, enough);
  std::memcpy(bytes, longest.data(), longest.size());
  bytes[longest.size()] = 'd';
  PyNativeSignature_Fault fault = {};
  EXPECT_EQ(PyNativeSignature_ParseString(bytes, nullptr, &fault), -1);
  EXPECT_EQ(fault.position, longest.size());
  EXPECT_STREQ(fault.reason, "text after the result");
  EXPECT_EQ(PyNativeSignature_Equivalent(bytes, bytes), 0);
}

TEST(Memory, NullTextIsEmpty) {
  PyNativeSignature_Fault fault = {9, nullptr};
  EXPECT_EQ(PyNativeSignature_ParseString(nullptr, nullptr, &fault), -1);
  EXPECT_EQ(fault.position, 0u);
  EXPECT_EQ(PyNativeSignature_Parse(nullptr, 0, nullptr, nullptr), -1);
}

}  // namespace
