// A module of the time of interface version 1.1.
#include "tests/old_interfaces/typedcall_1_1.h"
#define MEMBER member_1_1
#define MEMBER_TIMES 11
#include "tests/old_interfaces/member.h"
