// Imports the extension modules of this tree in an embedded interpreter.
#ifndef TYPEDCALL_TESTS_RENDEZVOUS_MODULES_ON_PATH_H_
#define TYPEDCALL_TESTS_RENDEZVOUS_MODULES_ON_PATH_H_

#include <Python.h>

#include <cstdlib>
#include <string>

#include "tests/support/embedded.h"

namespace typedcall_test {

/// Adds the folders of the files in TYPEDCALL_MODULES to sys.path, and imports `names` into the
/// scope. Returns false if an exception is raised.
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
