// GCC's coverage for libFuzzer, and the entry into it.
//
// GCC calls a function at every edge of the control flow; libFuzzer looks at counters. So a table
// of counters is announced to it, and an edge raises the one that its address falls on.
#include <cstddef>
#include <cstdint>

extern "C" {
int LLVMFuzzerRunDriver(int* argc, char*** argv, int (*target)(const std::uint8_t*, std::size_t));
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
void __sanitizer_cov_8bit_counters_init(std::uint8_t* start, std::uint8_t* stop);
void __sanitizer_cov_pcs_init(const std::uintptr_t* start, const std::uintptr_t* stop);
}

namespace {
constexpr std::size_t size = 1 << 14;
std::uint8_t counters[size];
std::uintptr_t places[2 * size];  // address and flags of each, which are not known
}  // namespace

// Under this name because of --wrap (fuzz/run): libFuzzer has one of GCC's name that does nothing.
extern "C" void __wrap___sanitizer_cov_trace_pc() {
  const auto address = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  ++counters[address * 0x9E3779B97F4A7C15 >> 50];
}

// Comparisons of floating-point numbers, which libFuzzer does not ask for.
extern "C" void __sanitizer_cov_trace_cmpd(double, double) {}
extern "C" void __sanitizer_cov_trace_cmpf(float, float) {}

int main(int argc, char** argv) {
  __sanitizer_cov_8bit_counters_init(counters, counters + size);
  __sanitizer_cov_pcs_init(places, places + 2 * size);
  return LLVMFuzzerRunDriver(&argc, &argv, LLVMFuzzerTestOneInput);
}
