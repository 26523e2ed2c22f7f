# Tags for Cython modules that also work without them.
#
#     from typedcall.tags cimport tag_pyx_capi
#
#     tag_pyx_capi(__name__)  # at the end of the module
#
# Add typedcall.get_include() to the include directories when you compile.
cdef extern from "typedcall/tag.h":
    int PyTypedcall_Internal_WarnUntagged(object owner, object why) except -1


cdef inline list tag_pyx_capi(str name, flags=None):
    """Calls typedcall.tag_pyx_capi(name, flags), and returns its result. If `typedcall` cannot be
    imported, because it is not installed or has another major version than the interface, issues
    one RuntimeWarning, and returns []. If the warning is an error, sys.unraisablehook gets it. A
    module whose purpose is typed calls uses `from typedcall import tag_pyx_capi` instead, which
    raises ImportError."""
    try:
        from typedcall import tag_pyx_capi as tag
    except ImportError as error:
        PyTypedcall_Internal_WarnUntagged(name, error)
        return []
    return tag(name, flags)
