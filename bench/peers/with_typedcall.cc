// The module with typedcall.
#include <Python.h>

#include "bench/peers/native.h"
#include "typedcall/provider.h"

#define ROW(name, function) , typedcall::def<function>(name)
static typedcall::method_table methods{typedcall::def<inc>("inc"), typedcall::def<add>("add"),
                                       typedcall::def<mix>("mix") OTHER_FUNCTIONS(ROW)};

// TYPEDCALL_MODULE pastes the module's name, so the name must be expanded first.
#define MODULE(name) TYPEDCALL_MODULE(name, "", methods)
MODULE(MODULE_NAME);
