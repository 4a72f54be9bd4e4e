// LIBSVM's text format, read by many threads and written.
//
//   line   = [ number{leading} [ "qid:" digits ] ( index ":" number )* ] [ "#" comment ] end
//   end    = "\n" | "\r\n" | end of the text
//
// Indices rise within a line and start at `first_index`. A line without tokens is no row. A data
// file has one leading number (the label); the support vectors of a model file have one for each
// of its other classes (the coefficients).
//
// A block of whole lines is read in two passes: `plan` counts rows and entries, so that the caller
// can make arrays of the right size, and `fill` parses into them. Both cut the block into pieces
// at line ends and hand them to threads; the counts say where in the arrays a piece belongs. Of
// several broken lines the first in the file is reported.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "number_text.hpp"

namespace softmargin::text {

struct Grammar {
  std::int64_t leading = 1;
  std::int64_t first_index = 1;
};

struct Problem {
  std::int64_t line = 0, column = 0;  // both from 1; the column in bytes
  std::string found, expected;
};

struct Counts {
  std::int64_t lines = 0, rows = 0, entries = 0, queries = 0;
};

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline const char* skip_blanks(const char* p, const char* end) {
  while (p != end && is_blank(*p)) ++p;
  return p;
}

inline const char* token_end(const char* p, const char* end) {
  while (p != end && !is_blank(*p)) ++p;
  return p;
}

// Calls use(first, last) for each line, without its end and its comment.
template <class Use>
void for_each_line(std::string_view text, Use use) {
  const bool comments = text.find('#') != text.npos;
  const char *p = text.data(), *end = p + text.size();
  while (p != end) {
    const char* stop = static_cast<const char*>(std::memchr(p, '\n', end - p));
    const char* next = stop ? stop + 1 : end;
    const char* last = stop ? stop : end;
    if (last != p && last[-1] == '\r') --last;
    if (comments)
      if (const void* hash = std::memchr(p, '#', last - p)) last = static_cast<const char*>(hash);
    if (!use(p, last)) return;
    p = next;
  }
}

// The end of "qid:digits" at p, or p where there is none.
inline const char* skip_query(const char* p, const char* end) {
  if (end - p < 5 || std::memcmp(p, "qid:", 4) != 0) return p;
  const char* q = p + 4;
  while (q != end && is_digit(*q)) ++q;
  return q != p + 4 && (q == end || is_blank(*q)) ? q : p;
}

inline Counts count(std::string_view text, const Grammar& grammar) {
  Counts counts;
  for_each_line(text, [&](const char* p, const char* end) {
    ++counts.lines;
    p = skip_blanks(p, end);
    if (p == end) return true;
    ++counts.rows;
    for (std::int64_t l = 0; l < grammar.leading; ++l) p = skip_blanks(token_end(p, end), end);
    if (p != end && *p == 'q' && skip_query(p, end) != p) {
      ++counts.queries;
      p = skip_query(p, end);
    }
    counts.entries += std::count(p, end, ':');
    return true;
  });
  return counts;
}

// Where a row's numbers go.
template <class Value, class Offset>
struct Arrays {
  double* leading = nullptr;  // rows x grammar.leading
  Value* values = nullptr;
  Offset* indices = nullptr;   // from 0
  Offset* row_ends = nullptr;  // counted from entry_base
  std::int64_t entry_base = 0;
};

// Parses one line at a time; the member functions return false at a problem and note it.
template <class Value, class Offset>
class LineParser {
 public:
  LineParser(const Grammar& grammar, Arrays<Value, Offset> out, std::int64_t row,
             std::int64_t entry, std::int64_t row_limit, std::int64_t entry_limit)
      : grammar_(grammar),
        out_(out),
        row(row),
        entry(entry),
        row_limit_(row_limit),
        entry_limit_(entry_limit) {}

  bool parse(const char* first, const char* last) {
    line_ = first;
    end_ = last;
    const char* p = skip_blanks(first, last);
    if (p == last) return true;
    if (row == row_limit_) return changed();
    for (std::int64_t l = 0; l < grammar_.leading; ++l) {
      double value;
      p = number(skip_blanks(p, last), value,
                 l == 0 ? "a number (the label, or a coefficient)" : "a number (a coefficient)");
      if (!p) return false;
      if (out_.leading) out_.leading[row * grammar_.leading + l] = value;
    }
    p = skip_blanks(skip_query(skip_blanks(p, last), last), last);
    for (std::int64_t previous = grammar_.first_index - 1; p != last; p = skip_blanks(p, last)) {
      p = pair(p, previous);
      if (!p) return false;
    }
    if (out_.row_ends) out_.row_ends[row] = static_cast<Offset>(out_.entry_base + entry);
    ++row;
    return true;
  }

  Problem problem(std::int64_t line) const {
    const char* stop = std::min(token_end(where_, end_), where_ + 40);
    return {line, where_ - line_ + 1, std::string(where_, stop), expected_};
  }

 private:
  const char* pair(const char* p, std::int64_t& previous) {
    const char* start = p;
    std::int64_t index = 0;
    while (p != end_ && is_digit(*p) && index < index_limit / 10 - 1)
      index = 10 * index + (*p++ - '0');
    if (p == start || p == end_ || *p != ':') return fail(start, pair_expectation(p, start));
    if (index < grammar_.first_index) return fail(start, "an index of 1 or more");
    if (index <= previous)
      return fail(start, "an index above " + std::to_string(previous) + " (they rise in a line)");
    if (index - grammar_.first_index > std::numeric_limits<Offset>::max()) too_wide = true;
    double value;
    const char* next = number(p + 1, value, "a number after the colon");
    if (!next) return nullptr;
    if (!std::isfinite(static_cast<Value>(value)))
      return fail(p + 1, "a number that fits single precision");
    if (entry == entry_limit_) return changed(), nullptr;
    if (out_.values) {
      out_.values[entry] = static_cast<Value>(value);
      out_.indices[entry] = static_cast<Offset>(index - grammar_.first_index);
    }
    ++entry;
    previous = index;
    return next;
  }

  std::string pair_expectation(const char* p, const char* start) const {
    if (p != start && p != end_ && is_digit(*p)) return "an index below 10^18";
    return "index:value, such as 3:0.5";
  }

  // A finite number that ends with its token.
  const char* number(const char* p, double& value, const char* expected) {
    const char* next = read_double(p, end_, value);
    if (!next || (next != end_ && !is_blank(*next))) return fail(p, expected);
    if (!std::isfinite(value)) return fail(p, "a finite number");
    return next;
  }

  const char* fail(const char* where, std::string expected) {
    where_ = where;
    expected_ = std::move(expected);
    return nullptr;
  }

  bool changed() { return fail(line_, "the same text as a moment ago (the file has changed)"); }

  static constexpr std::int64_t index_limit = std::numeric_limits<std::int64_t>::max();

  const Grammar& grammar_;
  Arrays<Value, Offset> out_;
  const char *line_ = nullptr, *end_ = nullptr, *where_ = nullptr;
  std::string expected_;

 public:
  std::int64_t row, entry;
  bool too_wide = false;  // an index does not fit Offset: fill again with a wider one

 private:
  std::int64_t row_limit_, entry_limit_;
};

// Runs work(0), ..., work(count - 1), each once, on up to `threads` threads.
template <class Work>
void in_parallel(std::size_t count, int threads, Work work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t k = next++; k < count; k = next++) work(k);
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < std::min<std::size_t>(threads, count); ++t) others.emplace_back(run);
  run();
  for (std::thread& other : others) other.join();
}

struct Plan {
  Grammar grammar;
  std::vector<std::size_t> starts;  // of the pieces, and the end of the block
  std::vector<Counts> before;       // what comes before each piece, and in all
  int threads = 1;

  const Counts& total() const { return before.back(); }
};

inline Plan plan(std::string_view block, const Grammar& grammar, int threads) {
  constexpr std::size_t piece = 1 << 20;
  Plan plan{grammar, {0}, {}, threads};
  while (plan.starts.back() < block.size()) {
    const std::size_t stop = block.find('\n', std::min(plan.starts.back() + piece, block.size()));
    plan.starts.push_back(stop == block.npos ? block.size() : stop + 1);
  }
  std::vector<Counts> counts(plan.starts.size() - 1);
  in_parallel(counts.size(), threads, [&](std::size_t k) {
    counts[k] = count(block.substr(plan.starts[k], plan.starts[k + 1] - plan.starts[k]), grammar);
  });
  Counts sum;
  plan.before.push_back(sum);
  for (const Counts& c : counts) {
    sum = {sum.lines + c.lines, sum.rows + c.rows, sum.entries + c.entries,
           sum.queries + c.queries};
    plan.before.push_back(sum);
  }
  return plan;
}

struct Filled {
  std::optional<Problem> problem;
  bool too_wide = false;
};

// Parses the block that `plan` was made of into `out`; lines are numbered from `first_line`.
template <class Value, class Offset>
Filled fill(std::string_view block, const Plan& plan, Arrays<Value, Offset> out,
            std::int64_t first_line) {
  if (block.size() != plan.starts.back())
    return {Problem{first_line, 1, "", "as many bytes as a moment ago (the file has changed)"}};
  const std::size_t pieces = plan.starts.size() - 1;
  std::vector<Filled> filled(pieces);
  in_parallel(pieces, plan.threads, [&](std::size_t k) {
    const Counts &from = plan.before[k], &to = plan.before[k + 1];
    LineParser<Value, Offset> parser(plan.grammar, out, from.rows, from.entries, to.rows,
                                     to.entries);
    std::int64_t line = first_line + from.lines;
    for_each_line(block.substr(plan.starts[k], plan.starts[k + 1] - plan.starts[k]),
                  [&](const char* first, const char* last) {
                    if (!parser.parse(first, last)) filled[k].problem = parser.problem(line);
                    ++line;
                    return !filled[k].problem;
                  });
    filled[k].too_wide = parser.too_wide;
    if (!filled[k].problem && (parser.row != to.rows || parser.entry != to.entries))
      filled[k].problem = Problem{line - 1, 1, "", "the same text as a moment ago"};
  });
  Filled all;
  for (const Filled& one : filled) {
    all.too_wide |= one.too_wide;
    if (!all.problem) all.problem = one.problem;
  }
  return all;
}

// The first `limit` broken lines of a block, each with its first problem.
inline std::vector<Problem> problems(std::string_view block, const Grammar& grammar,
                                     std::int64_t first_line, std::size_t limit) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::vector<Problem> found;
  LineParser<double, std::int64_t> parser(grammar, {}, 0, 0, most, most);
  std::int64_t line = first_line;
  for_each_line(block, [&](const char* first, const char* last) {
    if (!parser.parse(first, last)) found.push_back(parser.problem(line));
    ++line;
    return found.size() < limit;
  });
  return found;
}

// Rows as text, one line each.
template <class Value, class Offset>
std::string format(const double* leading, const Value* values, const Offset* indices,
                   const Offset* starts, std::int64_t rows, const Grammar& grammar) {
  std::string text;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t l = 0; l < grammar.leading; ++l) {
      if (l) text += ' ';
      append_number(text, leading[row * grammar.leading + l]);
    }
    for (Offset e = starts[row]; e < starts[row + 1]; ++e) {
      text += ' ';
      append_number(text, static_cast<std::int64_t>(indices[e]) + grammar.first_index);
      text += ':';
      append_number(text, values[e]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace softmargin::text
