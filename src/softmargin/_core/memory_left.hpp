// Whether this many bytes can still be allocated. Code that can do with less memory checks this, so
// that enough is left for other code.
#pragma once

#include <cstddef>
#include <new>

namespace softmargin {

inline bool is_memory_left(std::size_t bytes) {
  // Volatile, because compilers may leave out an allocation that nothing is written to.
  void* volatile block = ::operator new(bytes, std::nothrow);
  ::operator delete(block);
  return block != nullptr;
}

}  // namespace softmargin
