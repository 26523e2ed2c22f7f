// Tests tables that are refused. The table must stay unchanged.
#include "tests/instance_table/instance.h"

namespace typedcall_test {
namespace {

const PyNativeCallableEntry kGood = {"d->d", 0, Address(1)};

class Refusals : public InstanceTable {
 protected:
  void SetUp() override {
    ASSERT_EQ(Set(tables, {kGood}), 0);
    before_ = Read();
  }
  void TearDown() override { EXPECT_EQ(Read(), before_); }

  // Set() must fail. Returns the text of the exception.
  std::string SetFails(const Entries &entries) {
    EXPECT_EQ(Set(tables, entries), -1);
    return TakeError();
  }
  std::string AppendFails(const PyNativeCallableEntry &entry) {
    EXPECT_EQ(PyNativeCallableTables_Append(tables, &entry), -1);
    return TakeError();
  }

 private:
  const PyNativeCallableTable *before_ = nullptr;
};

TEST_F(Refusals, Counts) {
  EXPECT_EQ(PyNativeCallableTables_Set(tables, &kGood, -1), -1);
  EXPECT_EQ(TakeError(), "ValueError: native callable: -1 entries");
  EXPECT_EQ(PyNativeCallableTables_Set(tables, nullptr, 2), -1);
  EXPECT_EQ(TakeError(), "ValueError: native callable: 2 entries, but no array");
  EXPECT_EQ(PyNativeCallableTables_Append(tables, nullptr), -1);
  EXPECT_EQ(TakeError(), "ValueError: native callable: no entry");
}

TEST_F(Refusals, Signatures) {
  EXPECT_EQ(SetFails({kGood, {nullptr, 0, Address(1)}}),
            "ValueError: native callable: entry 1 has no signature");
  EXPECT_EQ(SetFails({{"dx->d", 0, Address(1)}}),
            "ValueError: native callable: entry 0: signature 'dx->d' at position 1: "
            "unknown type code");
  EXPECT_EQ(SetFails({kGood, kGood, {"d->d ", 0, Address(1)}}),
            "ValueError: native callable: entry 2: signature 'd->d ' at position 4: "
            "spaces are not allowed");
  EXPECT_EQ(SetFails({{"", 0, Address(1)}}),
            "ValueError: native callable: entry 0: signature '' at position 0: expected '->'");
}

TEST_F(Refusals, SignatureWithoutAnEndIsReadNoFurtherThanTheLongestOne) {
  const std::string endless(PyNativeSignature_MAX_LENGTH + 1, 'd');
  const std::string error = SetFails({{endless.c_str(), 0, Address(1)}});
  EXPECT_EQ(error.substr(0, 60), "ValueError: native callable: entry 0: signature 'ddddddddddd");
  EXPECT_NE(error.find("at position 127: more than 127 arguments"), std::string::npos) << error;
}

TEST_F(Refusals, Functions) {
  EXPECT_EQ(SetFails({kGood, {"f->f", 0, nullptr}}),
            "ValueError: native callable: entry 1, 'f->f', has no function");
}

TEST_F(Refusals, Flags) {
  const char *const meaningless =
      "ValueError: native callable: entry 0, 'd->d', has flags %s, which contain bits without a "
      "meaning";
  const std::pair<std::uintptr_t, const char *> cases[] = {
      {0x01000000u, "0x1000000"},   // another ABI
      {0xff000000u, "0xff000000"},  //
      {0x0200u, "0x200"},           // a reserved bit that consumers must understand
      {0x8000u, "0x8000"},          //
      {std::uintptr_t{1} << 32, "0x100000000"},
      {0x0200u | PyNativeCallable_MAY_RAISE, "MAY_RAISE|0x200"},
  };
  for (const auto &[flags, digits] : cases) {
    std::string expected = meaningless;
    expected.replace(expected.find("%s"), 2, digits);
    EXPECT_EQ(SetFails({{"d->d", flags, Address(1)}}), expected);
  }
}

TEST_F(Refusals, ExceptionWithoutAThread) {
  for (const std::uintptr_t flag : {PyNativeCallable_MAY_RAISE, PyNativeCallable_RETURNS_STATUS}) {
    const std::string error = SetFails({{"d->d", flag, Address(1)}});
    EXPECT_NE(error.find("entry 0, 'd->d', has flags "), std::string::npos) << error;
    EXPECT_NE(error.find(flag == PyNativeCallable_MAY_RAISE ? "MAY_RAISE, which"
                                                            : "RETURNS_STATUS, which"),
              std::string::npos)
        << error;
    EXPECT_NE(error.find("which may set an exception without NEEDS_THREAD"), std::string::npos)
        << error;
  }
}

TEST_F(Refusals, AppendCountsOnFromWhatIsOffered) {
  EXPECT_EQ(AppendFails({"d-d", 0, Address(1)}),
            "ValueError: native callable: entry 1: signature 'd-d' at position 2: expected '->'");
  EXPECT_EQ(AppendFails({nullptr, 0, Address(1)}),
            "ValueError: native callable: entry 1 has no signature");
  EXPECT_EQ(AppendFails({"d->d", 0, nullptr}),
            "ValueError: native callable: entry 1, 'd->d', has no function");
  EXPECT_EQ(AppendFails({"d->d", 0x0200, Address(1)}),
            "ValueError: native callable: entry 1, 'd->d', has flags 0x200, which contain bits "
            "without a meaning");
}

TEST_F(InstanceTable, EveryKnownFlag) {
  for (int bit = 0; bit < 24; ++bit) {
    const std::uintptr_t flag = std::uintptr_t{1} << bit;
    const bool known = bit < 9 || bit >= 16;
    // Some flags need an int result or MAY_RAISE.
    const bool is_error_value = flag == PyNativeCallable_ERROR_IS_NEG_ZERO;
    const std::uintptr_t flags =
        flag | PyNativeCallable_NEEDS_THREAD | (is_error_value ? PyNativeCallable_MAY_RAISE : 0);
    const PyNativeCallableEntry entry = {is_error_value ? "d->d" : "d->i", flags, Address(1)};
    EXPECT_EQ(PyNativeCallableTables_Set(tables, &entry, 1), known ? 0 : -1) << bit;
    EXPECT_EQ(TakeError().empty(), known) << bit;
  }
}

}  // namespace
}  // namespace typedcall_test
