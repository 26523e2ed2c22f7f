# find_package(typedcall CONFIG) for the headers that the Python package installs. Targets:
#   typedcall::typedcall  the include path, and C++17 for C++ sources; the consumer finds Python.h
#   typedcall::ffi        the same plus libffi, which typedcall/invoker.h and loop.h need
# typedcall_compile_once(<name> <library>...) makes <name>, a static library of the functions that are
# the same for all files. Targets that link <name> compile only the declarations of these functions.
# The <library> arguments provide Python.h. A C-only project needs CMake 3.20 for this function.
cmake_policy(PUSH)
cmake_policy(VERSION 3.8...3.20)
if(NOT TARGET typedcall::typedcall)
  get_filename_component(typedcall_PACKAGE_DIR "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
  set(typedcall_INCLUDE_DIR "${typedcall_PACKAGE_DIR}/include")
  # An editable installation: the headers are in the repository.
  if(NOT EXISTS "${typedcall_INCLUDE_DIR}/typedcall/typed_method.h")
    get_filename_component(typedcall_INCLUDE_DIR "${typedcall_PACKAGE_DIR}/../../.." ABSOLUTE)
  endif()
  if(NOT EXISTS "${typedcall_INCLUDE_DIR}/typedcall/typed_method.h")
    set(typedcall_FOUND FALSE)
    set(typedcall_NOT_FOUND_MESSAGE "the headers are not in ${typedcall_INCLUDE_DIR}")
    cmake_policy(POP)
    return()
  endif()

  add_library(typedcall::typedcall INTERFACE IMPORTED)
  set_target_properties(typedcall::typedcall PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                                                        "${typedcall_INCLUDE_DIR}")
  # A C-only project has no C++ features, and needs only the C headers. The expression is evaluated
  # when the build files are generated, because C++ may be enabled after find_package().
  set_target_properties(typedcall::typedcall PROPERTIES
                        INTERFACE_COMPILE_FEATURES "$<$<BOOL:$<CXX_COMPILER_ID>>:cxx_std_17>")

  add_library(typedcall::ffi INTERFACE IMPORTED)
  set_target_properties(typedcall::ffi PROPERTIES INTERFACE_LINK_LIBRARIES
                                                  "typedcall::typedcall;ffi")

  function(typedcall_compile_once name)
    get_target_property(folder typedcall::typedcall INTERFACE_INCLUDE_DIRECTORIES)
    set(source "${folder}/typedcall/separate.cc")
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    if(NOT "CXX" IN_LIST languages)
      set_source_files_properties("${source}" PROPERTIES LANGUAGE C)
    endif()
    add_library(${name} STATIC "${source}")
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden
                                             CXX_VISIBILITY_PRESET hidden)
    target_compile_definitions(${name} PUBLIC TYPEDCALL_SEPARATE)
    target_link_libraries(${name} PUBLIC typedcall::typedcall ${ARGN})
  endfunction()
endif()
cmake_policy(POP)
