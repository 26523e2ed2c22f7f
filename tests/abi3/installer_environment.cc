// Linked into a GoogleTest program made of full-API code, this makes all of its tests run on an
// interface that limited-API code has installed.
#include "gtest/gtest.h"
#include "tests/abi3/installer.h"

namespace {

class InstallFirst : public testing::Environment {
 public:
  void SetUp() override { ASSERT_EQ(InstallLimited(), 1); }
};

testing::Environment *const environment = testing::AddGlobalTestEnvironment(new InstallFirst);

}  // namespace
