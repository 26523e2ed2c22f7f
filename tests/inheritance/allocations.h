// Counts what goes through CPython's allocators while an object of this class lives: how many
// blocks and bytes were taken in between and not given back. GIL: held by whoever makes and ends
// it; the allocators themselves may be used by any thread.
#ifndef TYPEDCALL_TESTS_INHERITANCE_ALLOCATIONS_H_
#define TYPEDCALL_TESTS_INHERITANCE_ALLOCATIONS_H_

#include <Python.h>

#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace typedcall_test {

/// Both the `mem` and the `object` domain (types are made in the latter, slot tables in the
/// former).
class Allocations {
 public:
  Allocations() {
    Hook(PYMEM_DOMAIN_MEM, &mem_);
    Hook(PYMEM_DOMAIN_OBJ, &object_);
  }
  ~Allocations() {
    PyMem_SetAllocator(PYMEM_DOMAIN_MEM, &mem_.real);
    PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &object_.real);
  }
  Allocations(const Allocations &) = delete;
  Allocations &operator=(const Allocations &) = delete;

  /// Taken since the beginning and still there, in the domain of slot tables.
  std::size_t MemBlocks() const { return mem_.living.size(); }
  std::size_t MemBytes() const { return Bytes(mem_); }
  /// The same in both domains.
  std::size_t Blocks() const { return mem_.living.size() + object_.living.size(); }
  std::size_t Bytes() const { return Bytes(mem_) + Bytes(object_); }

 private:
  struct Domain {
    PyMemAllocatorEx real;
    std::unordered_map<void *, std::size_t> living;
    std::mutex mutex;
  };

  static void *Took(Domain *domain, void *block, std::size_t size) {
    const std::lock_guard<std::mutex> lock(domain->mutex);
    if (block != nullptr) domain->living[block] = size;
    return block;
  }
  static void Gave(Domain *domain, void *block) {
    const std::lock_guard<std::mutex> lock(domain->mutex);
    domain->living.erase(block);
  }
  static std::size_t Bytes(const Domain &domain) {
    std::size_t bytes = 0;
    for (const auto &[block, size] : domain.living) bytes += size;
    return bytes;
  }

  static void Hook(PyMemAllocatorDomain which, Domain *domain) {
    PyMem_GetAllocator(which, &domain->real);
    PyMemAllocatorEx counting = {
        domain,
        [](void *context, std::size_t size) {
          auto *at = static_cast<Domain *>(context);
          return Took(at, at->real.malloc(at->real.ctx, size), size);
        },
        [](void *context, std::size_t count, std::size_t size) {
          auto *at = static_cast<Domain *>(context);
          return Took(at, at->real.calloc(at->real.ctx, count, size), count * size);
        },
        [](void *context, void *block, std::size_t size) {
          auto *at = static_cast<Domain *>(context);
          Gave(at, block);
          return Took(at, at->real.realloc(at->real.ctx, block, size), size);
        },
        [](void *context, void *block) {
          auto *at = static_cast<Domain *>(context);
          Gave(at, block);
          at->real.free(at->real.ctx, block);
        }};
    PyMem_SetAllocator(which, &counting);
  }

  Domain mem_, object_;
};

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_INHERITANCE_ALLOCATIONS_H_
