#include "tests/support/failing_memory.h"

#include <cstdlib>
#include <new>

namespace arborfs::testing {

namespace {

struct Plan {
  bool is_on = false;
  bool has_failed = false;
  std::size_t skipped = 0;
  std::size_t least = 0;
};
thread_local Plan plan;

bool fails(std::size_t size) {
  if (!plan.is_on || plan.has_failed || size < plan.least) {
    return false;
  }
  plan.has_failed = plan.skipped == 0;
  plan.skipped -= plan.has_failed ? 0 : 1;
  return plan.has_failed;
}

}  // namespace

FailingMemory::FailingMemory(std::size_t skipped, std::size_t least) {
  plan = {true, false, skipped, least};
}

FailingMemory::~FailingMemory() {
  plan = {};
}

bool FailingMemory::has_failed() const {  // NOLINT(readability-convert-member-functions-to-static)
  return plan.has_failed;
}

}  // namespace arborfs::testing

void* operator new(std::size_t size) {
  void* const made = arborfs::testing::fails(size) ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (made == nullptr) {
    throw std::bad_alloc();
  }
  return made;
}

// Overridden too. The standard library's version would call the operator above, but a sanitizer's version does not, and
// its memory must not reach the operators delete below.
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return arborfs::testing::fails(size) ? nullptr : std::malloc(size == 0 ? 1 : size);
}

void operator delete(void* made) noexcept {
  std::free(made);
}

void operator delete(void* made, std::size_t /*size*/) noexcept {
  std::free(made);
}

void operator delete(void* made, const std::nothrow_t& /*tag*/) noexcept {
  std::free(made);
}
