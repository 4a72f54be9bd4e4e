// Fuzzes the reader of LIBSVM's text: data files, and the support vectors of model files.
//
// The first two bytes choose the grammar and the number of threads. What was counted must be what
// is filled; what is written must read back the same. Build with libFuzzer and sanitizers
// (fuzz/run).
#include <cstdlib>

#include "libsvm_text.hpp"

using namespace softmargin::text;

namespace {

template <class Value, class Offset>
struct Result {
  std::vector<double> leading;
  std::vector<Value> values;
  std::vector<Offset> indices, ends;
  Filled filled;
};

void require(bool true_) {
  if (!true_) std::abort();
}

template <class Value, class Offset>
Result<Value, Offset> read(std::string_view text, const Plan& plan) {
  const Counts& total = plan.total();
  Result<Value, Offset> r;
  r.leading.resize(static_cast<std::size_t>(total.rows * plan.grammar.leading));
  r.values.resize(static_cast<std::size_t>(total.entries));
  r.indices.resize(static_cast<std::size_t>(total.entries));
  r.ends.resize(static_cast<std::size_t>(total.rows));
  r.filled = fill<Value, Offset>(
      text, plan, {r.leading.data(), r.values.data(), r.indices.data(), r.ends.data(), 0}, 1);
  return r;
}

void written_reads_back(const Result<double, std::int64_t>& r, const Plan& from) {
  std::vector<std::int64_t> starts(1, 0);
  starts.insert(starts.end(), r.ends.begin(), r.ends.end());
  const std::string text = format(r.leading.data(), r.values.data(), r.indices.data(),
                                  starts.data(), from.total().rows, from.grammar);
  const Plan again = plan(text, from.grammar, 1);
  const auto back = read<double, std::int64_t>(text, again);
  require(!back.filled.problem && back.leading == r.leading && back.values == r.values &&
          back.indices == r.indices && back.ends == r.ends);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Grammar grammar{1 + data[0] % 5, data[0] / 5 % 2};
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Plan counted = plan(text, grammar, 1 + data[1] % 3);
  if (counted.total().rows * grammar.leading > static_cast<std::int64_t>(8 * size)) return 0;
  const auto wide = read<double, std::int64_t>(text, counted);
  const auto narrow = read<float, std::int32_t>(text, counted);
  const std::vector<Problem> found = problems(text, grammar, 1, 100);
  require(wide.filled.problem.has_value() == !found.empty());
  if (!found.empty()) {
    require(wide.filled.problem->line == found[0].line &&
            wide.filled.problem->column == found[0].column && narrow.filled.problem);
  } else {
    written_reads_back(wide, counted);
  }
  return 0;
}
