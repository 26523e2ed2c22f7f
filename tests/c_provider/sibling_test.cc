// Tests which sibling symbols the reader uses. The test is not linked with libpython, so a call to
// a Python function is a link error.
#include "typedcall/sibling_symbol.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/c_provider/sibling_plugin.h"

namespace {

long Twice(long x) { return 2 * x; }

PyTypedMethod_DEFINE(in_program_typed, "in_program", {"l->l", 0, reinterpret_cast<void *>(Twice)});
PyMethodDef program_defs[] = {{"in_program", nullptr, METH_O, nullptr},
                              {"also_in_program", nullptr, METH_O, nullptr}};

PyNativeCallableTable outside;
const char outside_signature[] = "l->l";

// This text is outside the plugin.
std::string &NameOutside() {
  static std::string name = "name_outside";
  return name;
}

class Plugin {
 public:
  Plugin() : handle_(dlopen(std::getenv("SIBLING_PLUGIN"), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) ADD_FAILURE() << dlerror();
    if (handle_ == nullptr) std::exit(1);
    defs_ = Function<decltype(&sibling_plugin_prepare)>("sibling_plugin_prepare")(
        &outside, NameOutside().c_str(), outside_signature);
  }
  ~Plugin() { Close(); }
  void Close() {
    if (handle_ != nullptr) dlclose(handle_);
    handle_ = nullptr;
  }
  template <class F>
  F Function(const char *name) {
    return reinterpret_cast<F>(dlsym(handle_, name));
  }
  const PyMethodDef *defs() const { return defs_; }
  const PyMethodDef *Def(const std::string &name) const {
    const PyMethodDef *def = defs_;
    while (def->ml_name != nullptr && name != def->ml_name) ++def;
    EXPECT_NE(def->ml_name, nullptr) << name;
    return def;
  }

 private:
  void *handle_;
  const PyMethodDef *defs_ = nullptr;
};

std::string Signatures(const PyNativeCallableTable *table) {
  if (table == nullptr) return "none";
  std::string text;
  const PyNativeCallableEntry *entry = table->entries;
  for (Py_ssize_t i = 0; i < table->count; ++i) text += std::string(entry[i].signature) + " ";
  return text;
}

}  // namespace

PyTypedMethod_SIBLING(in_program, program_defs[0], in_program_typed);

namespace {

TEST(Sibling, TheOnesThatAreUsed) {
  const Plugin plugin;
#ifdef __GLIBC__
  const std::set<std::string> used = {"good", "future", "in_both"};
#else
  // musl does not report the size of a symbol.
  const std::set<std::string> used = {"good", "future", "in_both", "large"};
#endif
  for (const PyMethodDef *def = plugin.defs(); def->ml_name != nullptr; ++def) {
    const std::string name = def->ml_name;
    const bool longest = name.size() == 99;
    const auto *table = PyTypedMethod_SiblingTable(def);
    EXPECT_EQ(table != nullptr, longest || used.count(name) == 1) << name;
    EXPECT_EQ(dlerror(), nullptr) << name;
  }
  EXPECT_EQ(Signatures(PyTypedMethod_SiblingTable(plugin.Def("good"))), "l->l n->n ");
  // Readers return entries with unknown flags.
  EXPECT_EQ(Signatures(PyTypedMethod_SiblingTable(plugin.Def("future"))), "l->l ");
}

TEST(Sibling, WithSeveralObjectsEachHasItsOwn) {
  Plugin plugin;
  const PyMethodDef *decoy = plugin.Function<decltype(&sibling_decoy_defs)>("sibling_decoy_defs")();
  EXPECT_EQ(Signatures(PyTypedMethod_SiblingTable(&decoy[0])), "d->d ");
  EXPECT_EQ(Signatures(PyTypedMethod_SiblingTable(&decoy[1])), "d->d ");
  EXPECT_EQ(Signatures(PyTypedMethod_SiblingTable(plugin.Def("in_both"))), "l->l n->n ");
  // dlsym() also finds the symbols of the decoy.
  EXPECT_NE(plugin.Function<void *>("_PyPyTyped_in_decoy"), nullptr);
  EXPECT_EQ(PyTypedMethod_SiblingTable(plugin.Def("in_decoy")), nullptr);
  const auto *pointed_at = plugin.Function<const PyTypedMethod_Sibling *>("_PyPyTyped_pointed_at");
  ASSERT_EQ(pointed_at->def, plugin.Def("pointed_at"));
  EXPECT_EQ(PyTypedMethod_SiblingTable(plugin.Def("pointed_at")), nullptr);
}

TEST(Sibling, OfTheProgramItself) {
  // Like Python interpreters, this program is linked with -rdynamic.
  EXPECT_EQ(Signatures(PyTypedMethod_SiblingTable(&program_defs[0])), "l->l ");
  EXPECT_EQ(PyTypedMethod_SiblingTable(&program_defs[1]), nullptr);
}

TEST(Sibling, NotOfDefsThatAreCopied) {
  const Plugin plugin;
  const PyMethodDef on_stack = *plugin.Def("good");
  EXPECT_EQ(PyTypedMethod_SiblingTable(&on_stack), nullptr);
  const auto on_heap = std::make_unique<PyMethodDef>(*plugin.Def("good"));
  EXPECT_EQ(PyTypedMethod_SiblingTable(on_heap.get()), nullptr);
  static PyMethodDef in_program;
  in_program = *plugin.Def("good");
  EXPECT_EQ(PyTypedMethod_SiblingTable(&in_program), nullptr);
}

TEST(Sibling, AnyAddressMayBeAskedFor) {
  EXPECT_EQ(PyTypedMethod_SiblingTable(nullptr), nullptr);
  for (int bit = 0; bit < 64; ++bit) {
    for (std::uintptr_t address : {std::uintptr_t{1} << bit, ~(std::uintptr_t{1} << bit)}) {
      EXPECT_EQ(PyTypedMethod_SiblingTable(reinterpret_cast<PyMethodDef *>(address)), nullptr);
    }
  }
}

// ASan would report the reads between two variables.
#ifndef __SANITIZE_ADDRESS__
TEST(Sibling, AnyAddressInAnObjectMayBeAskedFor) {
  const Plugin plugin;
  const PyMethodDef *const middles[] = {plugin.Def("good"), &program_defs[0]};
  for (const PyMethodDef *middle : middles) {
    const auto at = reinterpret_cast<std::uintptr_t>(middle);
    for (std::uintptr_t address = at - 0x2000; address < at + 0x4000; address += 4) {
      const auto *def = reinterpret_cast<const PyMethodDef *>(address);
      if (PyTypedMethod_SiblingTable(def) == nullptr) continue;
      EXPECT_TRUE(def == &program_defs[0] || (def >= plugin.defs() && def < plugin.defs() + 40));
    }
  }
}
#endif

// musl never unloads a library.
#ifdef __GLIBC__
TEST(Sibling, OfALibraryThatIsGone) {
  Plugin plugin;
  const PyMethodDef *good = plugin.Def("good");
  for (int i = 0; i < 3; ++i) EXPECT_NE(PyTypedMethod_SiblingTable(good), nullptr);
  plugin.Close();
  Dl_info info;
  // The library is no longer loaded.
  ASSERT_EQ(dladdr(good, &info), 0);
  EXPECT_EQ(PyTypedMethod_SiblingTable(good), nullptr);
  EXPECT_EQ(dlerror(), nullptr);
}
#endif

// Shared objects that linkers do not make, but that a program may load.
TEST(Sibling, SegmentsOfUnusualObjects) {
  std::vector<ElfW(Phdr)> headers(PyTypedMethod_Internal_MOST_SEGMENTS + 3);
  for (std::size_t i = 0; i < headers.size(); ++i) {
    headers[i].p_type = PT_LOAD;
    headers[i].p_flags = PF_R;
    headers[i].p_vaddr = 0x1000 * (i + 1);
    headers[i].p_memsz = 0x100;
  }
  headers[0].p_flags = PF_X;  // not readable
  headers[1].p_type = PT_NOTE;
  dl_phdr_info info = {};
  info.dlpi_name = "unusual";
  info.dlpi_phdr = headers.data();
  info.dlpi_phnum = static_cast<ElfW(Half)>(headers.size());
  PyTypedMethod_Internal_Object object = {};
  const auto has = [&](std::uintptr_t address) {
    object.address = reinterpret_cast<const void *>(address);
    return PyTypedMethod_Internal_Note(&info, sizeof(info), &object) != 0;
  };
  EXPECT_FALSE(has(0x1000));
  EXPECT_FALSE(has(0x2000));
  EXPECT_TRUE(has(0x3000));
  EXPECT_STREQ(object.name, "unusual") << "the program, which has no name, comes first";
  EXPECT_EQ(object.segments, PyTypedMethod_Internal_MOST_SEGMENTS);
  EXPECT_TRUE(has(0x1000 * headers.size() - 0x1000));
  EXPECT_FALSE(has(0x1000 * headers.size())) << "one segment too many";
}

#ifdef __GLIBC__
int no_symbol() { return 0; }

TEST(Sibling, AddressesThatAreNoSymbols) {
  constexpr std::size_t size = sizeof(PyTypedMethod_Sibling);
  Plugin plugin;
  const auto on_heap = std::make_unique<PyTypedMethod_Sibling>();
  const auto is_symbol = [](const void *address, std::size_t bytes) {
    return PyTypedMethod_Internal_IsSymbol(address, bytes) != 0;
  };
  const auto *good = static_cast<const char *>(dlsym(RTLD_DEFAULT, "_PyPyTyped_in_program"));
  ASSERT_NE(good, nullptr);
  EXPECT_TRUE(is_symbol(good, size));
  EXPECT_FALSE(is_symbol(good, size + 1));
  EXPECT_FALSE(is_symbol(good + 8, size)) << "inside the symbol";
  EXPECT_FALSE(is_symbol(on_heap.get(), size)) << "in no object";
  EXPECT_FALSE(is_symbol(reinterpret_cast<const void *>(no_symbol), size)) << "not exported";
  void *function = plugin.Function<void *>("sibling_plugin_prepare");
  Dl_info info;
  void *extra = nullptr;
  ASSERT_NE(dladdr1(function, &info, &extra, RTLD_DL_SYMENT), 0);
  ASSERT_NE(extra, nullptr);
  const std::size_t length = static_cast<const ElfW(Sym) *>(extra)->st_size;
  EXPECT_FALSE(is_symbol(function, length)) << "a function";

  PyTypedMethod_Internal_Object object = {};
  object.name = "/nonexistent.so";
  EXPECT_EQ(PyTypedMethod_Internal_Symbol(&object, "good", 4), nullptr);
  EXPECT_EQ(dlerror(), nullptr);
}
#endif

TEST(Sibling, TablesMustEndInsideTheirObject) {
  struct {
    PyNativeCallableTable table;
    PyNativeCallableEntry second;
    char text[8];
  } memory = {{2, {{memory.text, 0, &memory}}}, {memory.text, 0, &memory}, "l->l"};
  PyTypedMethod_Internal_Object object = {};
  object.segments = 2;
  const auto start = reinterpret_cast<std::uintptr_t>(&memory);
  const auto text = reinterpret_cast<std::uintptr_t>(memory.text);
  const auto is_table = [&](std::uintptr_t table_end, std::uintptr_t text_end) {
    object.segment[0] = {start, table_end};
    object.segment[1] = {text, text_end};
    return PyTypedMethod_Internal_IsTable(&object, &memory.table);
  };
  EXPECT_TRUE(is_table(text, text + 5));
  EXPECT_FALSE(is_table(text, text + 4)) << "the NUL is outside";
  EXPECT_FALSE(is_table(text - 1, text + 5)) << "the second entry is not all inside";
  EXPECT_FALSE(is_table(start + 4, text + 5)) << "the count is not all inside";
  memory.table.count = PY_SSIZE_T_MAX;
  EXPECT_FALSE(is_table(text, text + 5));
}

TEST(Sibling, FromManyThreadsAtOnce) {
  const Plugin plugin;
  const PyMethodDef *good = plugin.Def("good"), *without = plugin.Def("without");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([=] {
      for (int round = 0; round < 500; ++round) {
        EXPECT_NE(PyTypedMethod_SiblingTable(good), nullptr);
        EXPECT_EQ(PyTypedMethod_SiblingTable(without), nullptr);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
}

}  // namespace
