// For programs that embed interpreters and import this tree's extension modules.
#ifndef TYPEDCALL_TESTS_RENDEZVOUS_MODULES_ON_PATH_H_
#define TYPEDCALL_TESTS_RENDEZVOUS_MODULES_ON_PATH_H_

#include <Python.h>

#include <cstdlib>
#include <string>

#include "tests/support/embedded.h"

namespace typedcall_test {

/// Puts the folders of the files that TYPEDCALL_MODULES names (space-separated) on sys.path, and
/// imports `names` into the scope. Returns false if that raises.
inline bool ImportInto(Scope &scope, const std::string &names) {
  const char *files = std::getenv("TYPEDCALL_MODULES");
  scope.Set("files", Ref::Steal(PyUnicode_FromString(files != nullptr ? files : "")).get());
  return scope.Run(
             "import os, sys\n"
             "sys.path += {os.path.dirname(os.path.abspath(f)) for f in files.split()}\n") &&
         scope.Run("import " + names + "\n");
}

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_RENDEZVOUS_MODULES_ON_PATH_H_
