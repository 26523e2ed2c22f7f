// Installs the interface from code that is compiled for abi3t.
#include "gtest/gtest.h"
#include "tests/abi3/installer.h"

namespace {

class Abi3tFirst : public testing::Environment {
 public:
  void SetUp() override { ASSERT_EQ(LimitedInstall(), 1); }
};

testing::Environment *const environment = testing::AddGlobalTestEnvironment(new Abi3tFirst);

}  // namespace
