"""The part of rules_cc that Bazel's own packages load: the native rules under their names."""

cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_proto_library = native.cc_proto_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
fdo_prefetch_hints = native.fdo_prefetch_hints
fdo_profile = native.fdo_profile
objc_import = native.objc_import
objc_library = native.objc_library

def _unused(name, **_kwargs):
    native.filegroup(name = name)

# Bazel's packages load these rules, but none of our targets uses them.
cc_flags_supplier = _unused
compiler_flag = _unused
