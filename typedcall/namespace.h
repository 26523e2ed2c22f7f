// The namespace of the C++ layer's classes and inline functions. Every layout of them has a name of
// its own, so that modules of different versions share no symbol, however they are loaded.
#ifndef TYPEDCALL_NAMESPACE_H_
#define TYPEDCALL_NAMESPACE_H_

// Without it a module that was loaded with RTLD_GLOBAL, in which the compiler has put an inline
// function that another one has as well, gives the other one its own: made for other members. To be
// changed in each release that changes a class or an inline function. Counters are members, too.
#if defined(TYPEDCALL_STATS) && TYPEDCALL_STATS
#define TYPEDCALL_LAYOUT v1_2_stats
#else
#define TYPEDCALL_LAYOUT v1_2
#endif

#endif  // TYPEDCALL_NAMESPACE_H_
