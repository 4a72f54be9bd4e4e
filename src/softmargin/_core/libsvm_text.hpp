// LIBSVM's text format: reading, with several threads, and writing.
//
//   line   = [ number{leading} [ "qid:" digits ] ( index ":" number )* ] [ "#" comment ] end
//   end    = "\n" | "\r\n" | end of the text
//
// Indices increase within a line and start at `first_index`. A line without tokens is not a row. A
// data file has one leading number (the label); a support vector in a model file has one
// coefficient for each class except its own.
//
// A block of whole lines is read in two passes: `plan` counts rows and entries, so that the caller
// can allocate arrays of the right size, and `fill` parses into them. Both split the block at line
// ends into pieces for the threads; the counts give each piece its place in the arrays. If several
// lines are broken, the first one in the block is reported.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "number_text.hpp"
#include "parallel.hpp"

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

// The end of "qid:digits" at p, or p if there is none.
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

// The arrays to fill.
template <class Value, class Offset>
struct Arrays {
  double* leading = nullptr;  // rows x grammar.leading
  Value* values = nullptr;
  Offset* indices = nullptr;   // from 0
  Offset* row_ends = nullptr;  // entry_base is added to them
  std::int64_t entry_base = 0;
};

// Parses one line at a time; parse() returns false for a broken line, which problem() describes.
template <class Value, class Offset>
class LineParser {
 public:
  std::int64_t row, entry;
  std::int64_t width = 0;  // the number of columns: the largest index, counted from 0, plus 1

  // Fills rows and entries of the arrays from `from` up to, not including, `limit`. The lines are
  // part of `block`.
  LineParser(const Grammar& grammar, std::string_view block, Arrays<Value, Offset> out,
             const Counts& from, const Counts& limit)
      : row(from.rows),
        entry(from.entries),
        grammar_(grammar),
        out_(out),
        limit_(limit),
        block_end_(block.data() + block.size()) {}

  bool parse(const char* first, const char* last) {
    line_ = first;
    end_ = last;
    const char* p = skip_blanks(first, last);
    if (p == last) return true;
    if (row == limit_.rows) return changed();
    for (std::int64_t l = 0; l < grammar_.leading; ++l) {
      double value;
      p = number(skip_blanks(p, last), value,
                 l == 0 ? "a number (the label, or a coefficient)" : "a number (a coefficient)");
      if (!p) return false;
      if (out_.leading) out_.leading[row * grammar_.leading + l] = value;
    }
    p = skip_blanks(skip_query(skip_blanks(p, last), last), last);
    p = pairs(p);
    if (!p) return false;
    if (out_.row_ends) out_.row_ends[row] = static_cast<Offset>(out_.entry_base + entry);
    ++row;
    return true;
  }

  Problem problem(std::int64_t line) const {
    const char* stop = std::min(token_end(where_, end_), where_ + 40);
    return {line, where_ - line_ + 1, std::string(where_, stop), expected_};
  }

 private:
  // Reads index:value up to the end of the line. Most of the time is spent here, so the loop uses
  // local variables.
  const char* pairs(const char* p) {
    const std::int64_t first_index = grammar_.first_index;
    std::int64_t previous = first_index - 1, e = entry;
    while (p != end_) {
      const char* start = p;
      std::uint64_t index = 0;
      p = read_digits(p, block_end_, index);
      if (p == start || p - start > 18 || p == end_ || *p != ':' ||
          static_cast<std::int64_t>(index) <= previous)
        return fail_at_index(start, p, previous);
      double value;
      const char* next = read_double(p + 1, block_end_, value);
      if (!ends_token(next) || !std::isfinite(static_cast<Value>(value)))
        return fail_at_value(p + 1, next, value);
      if (e == limit_.entries) return changed(), nullptr;
      previous = static_cast<std::int64_t>(index);
      if (out_.values) {
        out_.values[e] = static_cast<Value>(value);
        out_.indices[e] = static_cast<Offset>(previous - first_index);
      }
      ++e;
      p = skip_blanks(next, end_);
    }
    entry = e;
    width = std::max(width, previous - first_index + 1);
    return p;
  }

  const char* fail_at_index(const char* start, const char* stop, std::int64_t previous) {
    if (stop == start || stop == end_ || *stop != ':')
      return fail(start, "index:value, such as 3:0.5");
    if (stop - start > 18) return fail(start, "an index below 10^18");
    if (previous < grammar_.first_index) return fail(start, "an index of 1 or more");
    return fail(start,
                "an index above " + std::to_string(previous) + " (indices increase within a line)");
  }

  const char* fail_at_value(const char* start, const char* stop, double value) {
    if (!ends_token(stop)) return fail(start, "a number after the colon");
    if (!std::isfinite(value)) return fail(start, "a finite number");
    return fail(start, "a number that fits single precision");
  }

  bool ends_token(const char* p) const { return p && (p == end_ || is_blank(*p)); }

  // A finite number that ends with its token. No number continues beyond the end of its line, so
  // it is safe to read up to the end of the block.
  const char* number(const char* p, double& value, const char* expected) {
    const char* next = read_double(p, block_end_, value);
    if (!ends_token(next)) return fail(p, expected);
    if (!std::isfinite(value)) return fail(p, "a finite number");
    return next;
  }

  const char* fail(const char* where, std::string expected) {
    where_ = where;
    expected_ = std::move(expected);
    return nullptr;
  }

  bool changed() { return fail(line_, "the same text as a moment ago (the file has changed)"); }

  const Grammar& grammar_;
  Arrays<Value, Offset> out_;
  Counts limit_;
  const char *block_end_, *line_ = nullptr, *end_ = nullptr, *where_ = nullptr;
  std::string expected_;
};

struct Plan {
  Grammar grammar;
  std::vector<std::size_t> starts;  // where the pieces begin, and the end of the block
  std::vector<Counts> before;       // counts before each piece, and the total
  int threads = 1;

  const Counts& total() const { return before.back(); }
  std::int64_t pieces() const { return static_cast<std::int64_t>(starts.size()) - 1; }
  std::string_view piece(std::string_view block, std::int64_t k) const {
    return block.substr(starts[k], starts[k + 1] - starts[k]);
  }
};

inline Plan plan(std::string_view block, const Grammar& grammar, int threads) {
  constexpr std::size_t piece = 1 << 20;
  Plan plan{grammar, {0}, {}, threads};
  while (plan.starts.back() < block.size()) {
    const std::size_t stop = block.find('\n', std::min(plan.starts.back() + piece, block.size()));
    plan.starts.push_back(stop == block.npos ? block.size() : stop + 1);
  }
  std::vector<Counts> counts(plan.pieces());
  parallel_ranges(plan.pieces(), 1, threads, [&](std::int64_t k, std::int64_t stop, int) {
    for (; k < stop; ++k) counts[k] = count(plan.piece(block, k), grammar);
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
  std::int64_t width = 0;  // columns; if Offset cannot hold it, fill again with a wider type
};

// Parses piece k of the planned block, whose first line has the number `first_line`.
template <class Value, class Offset>
Filled fill_piece(std::string_view block, const Plan& plan, std::int64_t k,
                  Arrays<Value, Offset> out, std::int64_t first_line) {
  const Counts &from = plan.before[k], &to = plan.before[k + 1];
  LineParser<Value, Offset> parser(plan.grammar, block, out, from, to);
  Filled filled;
  std::int64_t line = first_line + from.lines;
  for_each_line(plan.piece(block, k), [&](const char* first, const char* last) {
    if (!parser.parse(first, last)) filled.problem = parser.problem(line);
    ++line;
    return !filled.problem;
  });
  filled.width = parser.width;
  if (!filled.problem && (parser.row != to.rows || parser.entry != to.entries))
    filled.problem = Problem{line - 1, 1, "", "the same text as a moment ago"};
  return filled;
}

// Parses the whole block.
template <class Value, class Offset>
Filled fill(std::string_view block, const Plan& plan, Arrays<Value, Offset> out,
            std::int64_t first_line) {
  if (block.size() != plan.starts.back())
    return {Problem{first_line, 1, "", "as many bytes as a moment ago (the file has changed)"}};
  std::vector<Filled> filled(plan.pieces());
  parallel_ranges(plan.pieces(), 1, plan.threads, [&](std::int64_t k, std::int64_t stop, int) {
    for (; k < stop; ++k) filled[k] = fill_piece(block, plan, k, out, first_line);
  });
  Filled all;
  for (const Filled& one : filled) {
    all.width = std::max(all.width, one.width);
    if (!all.problem) all.problem = one.problem;
  }
  return all;
}

// The first `limit` broken lines of a block, each with its first problem.
inline std::vector<Problem> problems(std::string_view block, const Grammar& grammar,
                                     std::int64_t first_line, std::size_t limit) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::vector<Problem> found;
  LineParser<double, std::int64_t> parser(grammar, block, {}, {}, {most, most, most, most});
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
