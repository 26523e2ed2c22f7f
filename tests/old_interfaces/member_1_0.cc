// A module of the time of interface version 1.0.
#include "tests/old_interfaces/typedcall_1_0.h"
#define MEMBER member_1_0
#define MEMBER_TIMES 10
#include "tests/old_interfaces/member.h"
