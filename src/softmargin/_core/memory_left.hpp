// Whether memory is left for others; asked by code that can manage with less.
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
