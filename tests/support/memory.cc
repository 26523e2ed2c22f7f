// Implements tests/support/memory.h.
#include "tests/support/memory.h"

#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_map>

#include "gtest/gtest.h"
#include "tests/support/embedded.h"

namespace typedcall_test {

namespace {

// The refusals of this thread.
thread_local bool refuses = false, has_refused = false;
thread_local std::size_t left_before = 0, left_to_refuse = 0;

bool IsRefused() {
  if (!refuses) return false;
  if (left_before > 0) {
    --left_before;
    return false;
  }
  if (left_to_refuse == 0) return false;
  --left_to_refuse;
  has_refused = true;
  return true;
}

// Allocates with malloc. Can be used inside the other allocators.
template <class T>
struct PlainAllocator {
  using value_type = T;
  PlainAllocator() = default;
  template <class Other>
  PlainAllocator(const PlainAllocator<Other> &) {}
  T *allocate(std::size_t count) { return static_cast<T *>(std::malloc(count * sizeof(T))); }
  void deallocate(T *block, std::size_t) { std::free(block); }
  template <class Other>
  bool operator==(const PlainAllocator<Other> &) const {
    return true;
  }
  template <class Other>
  bool operator!=(const PlainAllocator<Other> &) const {
    return false;
  }
};

struct Counted {
  PyMemAllocatorEx real;
  std::unordered_map<void *, std::size_t, std::hash<void *>, std::equal_to<void *>,
                     PlainAllocator<std::pair<void *const, std::size_t>>>
      living;
  mutable std::mutex mutex;

  void *Took(void *block, std::size_t size) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (block != nullptr) living[block] = size;
    return block;
  }
  void Gave(void *block) {
    const std::lock_guard<std::mutex> lock(mutex);
    living.erase(block);
  }
};

Counted *of_new = nullptr;  // not null while a Memory exists

Counted *In(void *context) { return static_cast<Counted *>(context); }
void *Malloc(void *context, std::size_t size) {
  Counted *in = In(context);
  return IsRefused() ? nullptr : in->Took(in->real.malloc(in->real.ctx, size), size);
}
void *Calloc(void *context, std::size_t count, std::size_t size) {
  Counted *in = In(context);
  if (IsRefused()) return nullptr;
  return in->Took(in->real.calloc(in->real.ctx, count, size), count * size);
}
void *Realloc(void *context, void *block, std::size_t size) {
  Counted *in = In(context);
  if (IsRefused()) return nullptr;
  void *grown = in->real.realloc(in->real.ctx, block, size);
  if (grown == nullptr) return nullptr;
  in->Gave(block);
  return in->Took(grown, size);
}
void Free(void *context, void *block) {
  Counted *in = In(context);
  in->Gave(block);
  in->real.free(in->real.ctx, block);
}

constexpr PyMemAllocatorDomain kDomainOf[] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};

}  // namespace

struct Memory::Internal {
  Counted blocks[kDomains];
  std::vector<Ref> drained;  // see Drain()
};

// Makes and keeps objects of one kind until CPython's free list for that kind is empty. Otherwise a
// new list, dictionary or tuple would often need no memory, so nothing could be refused.
template <class Make>
void Memory::Drain(std::size_t blocks, Make make) {
  constexpr int kMost = 3000;  // CPython's longest free list has 2000 objects
  for (int i = 0; i < kMost; ++i) {
    const std::size_t before = PythonBlocks();
    internal_->drained.push_back(Ref::Steal(make()));
    if (PythonBlocks() >= before + blocks) return;
  }
}

Memory::Memory() : internal_(new Internal) {
  for (int i = 0; i < kNew; ++i) {
    Counted &in = internal_->blocks[i];
    PyMem_GetAllocator(kDomainOf[i], &in.real);
    PyMemAllocatorEx ours = {&in, Malloc, Calloc, Realloc, Free};
    PyMem_SetAllocator(kDomainOf[i], &ours);
  }
  of_new = &internal_->blocks[kNew];
}

Memory::~Memory() {
  Stop();
  of_new = nullptr;
  for (int i = 0; i < kNew; ++i) PyMem_SetAllocator(kDomainOf[i], &internal_->blocks[i].real);
}

std::size_t Memory::Blocks(Domain domain) const { return internal_->blocks[domain].living.size(); }

std::size_t Memory::Bytes(Domain domain) const {
  std::size_t bytes = 0;
  for (const auto &[block, size] : internal_->blocks[domain].living) bytes += size;
  return bytes;
}

std::size_t Memory::Blocks() const {
  std::size_t blocks = 0;
  for (int i = 0; i < kDomains; ++i) blocks += Blocks(static_cast<Domain>(i));
  return blocks;
}

void Memory::EmptyFreeLists() {
  const Ref key = Ref::Steal(PyUnicode_InternFromString("key"));
  Drain(1, [] { return PyList_New(0); });
  Drain(1, PyDict_New);
  Drain(2, [&] {  // a dictionary and its table
    PyObject *dict = PyDict_New();
    EXPECT_EQ(PyDict_SetItem(dict, key.get(), key.get()), 0);
    return dict;
  });
  for (Py_ssize_t size = 1; size <= 4; ++size) Drain(1, [=] { return PyTuple_New(size); });
}

void Memory::Refuse(std::size_t first, std::size_t times) {
  left_before = first;
  left_to_refuse = times;
  has_refused = false;
  refuses = true;
}

bool Memory::Stop() {
  refuses = false;
  internal_->drained.clear();
  return has_refused;
}

namespace {

// Makes one call. Returns true if an allocation was refused.
bool Turn(Memory *memory, const Swept &swept, std::size_t first, std::size_t times) {
  swept.before();
  if (!swept.keeps_free_lists) memory->EmptyFreeLists();
  memory->Refuse(first, times);
  const bool succeeded = swept.call();
  const bool was_refused = memory->Stop();
  const std::string error = TakeError();
  if (succeeded) {
    EXPECT_EQ(error, "") << "it succeeded";
  } else if (swept.is_silent) {
    EXPECT_EQ(error, "");
  } else {
    EXPECT_EQ(error.substr(0, 11), "MemoryError") << error;
  }
  EXPECT_TRUE(succeeded || was_refused) << error;
  if (swept.after) swept.after(succeeded);
  return was_refused;
}

// Returns the number of blocks after a call without refusals.
std::size_t Settled(Memory *memory, const Swept &swept) {
  Turn(memory, swept, 0, 0);
  if (swept.cpython_leaks) return 0;
  Collect();
  swept.settle();
  PyType_ClearCache();  // the type cache keeps names
  return memory->Blocks();
}

}  // namespace

bool IsRefusal() {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
  PyErr_Clear();
  return true;
}

std::size_t Sweep(const Swept &swept) {
  constexpr std::size_t kEnough = 5000;
  constexpr int kTurns = 16;
  const testing::ScopedTrace trace(__FILE__, __LINE__, swept.name);
  Memory memory;
  const int turns = swept.cpython_leaks ? 1 : kTurns;
  std::size_t first = 0;
  for (const std::size_t times : {std::size_t{1}, std::numeric_limits<std::size_t>::max()}) {
    bool was_refused = true;
    for (first = 0; was_refused && first < kEnough; ++first) {
      const testing::ScopedTrace at(
          __FILE__, __LINE__,
          "allocation " + std::to_string(first) + (times == 1 ? "" : " and all after it"));
      std::vector<Py_ssize_t> references;
      std::size_t blocks = 0;
      // The first turns fill caches.
      for (int turn = -2; turn < turns; ++turn) {
        if (turn == 0) {
          blocks = Settled(&memory, swept);
          for (PyObject *object : swept.counted) references.push_back(Py_REFCNT(object));
        }
        was_refused = Turn(&memory, swept, first, times);
      }
      EXPECT_LT(Settled(&memory, swept), blocks + kTurns) << "something leaks";
      for (std::size_t i = 0; i < references.size(); ++i) {
        EXPECT_EQ(Py_REFCNT(swept.counted[i]), references[i]) << "of object " << i;
      }
      if (testing::Test::HasFailure()) return first;
    }
  }
  EXPECT_LT(first, kEnough) << "it never succeeds";
  return first - 1;
}

}  // namespace typedcall_test

void *operator new(std::size_t size) {
  using namespace typedcall_test;
  void *block = IsRefused() ? nullptr : std::malloc(size != 0 ? size : 1);
  if (block == nullptr) throw std::bad_alloc();
  return of_new != nullptr ? of_new->Took(block, size) : block;
}

void operator delete(void *block) noexcept {
  if (block != nullptr && typedcall_test::of_new != nullptr) typedcall_test::of_new->Gave(block);
  std::free(block);
}

void operator delete(void *block, std::size_t) noexcept { operator delete(block); }
