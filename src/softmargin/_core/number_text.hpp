// Decimal numbers as text: read to the nearest double, as by strtod, and written with the fewest
// digits that read back as the same number. Nothing depends on the locale.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
// Apple's standard library has from_chars and to_chars for integers only.
#if defined(__cpp_lib_to_chars) && !defined(SOFTMARGIN_WITHOUT_TO_CHARS)
#define SOFTMARGIN_TO_CHARS 1
#else
#define SOFTMARGIN_TO_CHARS 0
#include <locale>
#include <sstream>
#endif

namespace softmargin::text {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Appends the digits at p to `number` (modulo 2^64) and returns where they end. It reads eight
// bytes at a time without a branch on how many are digits, because the processor would often
// mispredict the length of a number.
inline const char* read_digits(const char* p, const char* last, std::uint64_t& number) {
  static constexpr std::uint64_t powers[] = {1,      10,      100,      1000,     10000,
                                             100000, 1000000, 10000000, 100000000};
  if constexpr (std::endian::native == std::endian::little) {
    while (last - p >= 8) {
      std::uint64_t bytes;
      std::memcpy(&bytes, p, 8);
      // A byte is '0' to '9' if its upper half is 3, both before and after adding 6.
      constexpr std::uint64_t upper = 0xF0F0F0F0F0F0F0F0, threes = 0x3030303030303030;
      const std::uint64_t others =
          ((bytes & upper) ^ threes) | (((bytes + 0x0606060606060606) & upper) ^ threes);
      const int count = std::countr_zero(others) / 8;  // 8 if all bytes are digits
      if (count == 0) return p;
      // Shifts the digits to the end of the word, with zeros before them; then combines pairs,
      // fours and all eight.
      bytes = (bytes & 0x0F0F0F0F0F0F0F0F) << (64 - 8 * count);
      bytes = (bytes * 10 + (bytes >> 8)) & 0x00FF00FF00FF00FF;
      bytes = (bytes * 100 + (bytes >> 16)) & 0x0000FFFF0000FFFF;
      bytes = (bytes * 10000 + (bytes >> 32)) & 0xFFFFFFFF;
      number = number * powers[count] + bytes;
      p += count;
      if (count < 8) return p;
    }
  }
  while (p != last && is_digit(*p)) number = 10 * number + static_cast<std::uint64_t>(*p++ - '0');
  return p;
}

// Reads a number that the fast path below does not handle: many digits, an exponent, inf, nan.
// Returns the end of what was read, or nullptr if there is no number.
inline const char* read_rare_double(const char* first, const char* last, double& value) {
#if SOFTMARGIN_TO_CHARS
  const auto [end, error] = std::from_chars(first, last, value);
  if (error == std::errc::invalid_argument) return nullptr;
  if (error == std::errc::result_out_of_range) {
    // Too large or too small: strtod tells which. Both are rare, so a copy does not matter; and the
    // answer is the same in every locale.
    const double limit = std::strtod(std::string(first, end).c_str(), nullptr);
    value = std::abs(limit) > 1 ? std::copysign(HUGE_VAL, limit) : limit;
  }
  return end;
#else
  const char* end = first;  // the end of the token: only the token is copied
  while (end != last && !std::strchr(" \t\r\n#", *end)) ++end;
  std::istringstream stream(std::string(first, end));
  stream.imbue(std::locale::classic());
  value = 0;
  if (stream >> std::noskipws >> value) return stream.eof() ? end : first + stream.tellg();
  if (value == 0) return nullptr;  // not a number; if it is too large, value is the largest double
  value = std::copysign(HUGE_VAL, value);
  return end;
#endif
}

// Reads [+-]digits[.digits][e[+-]digits] at `first`; returns where it ends, or nullptr if there is
// none. If up to 19 digits form an integer of at most 2^53, then dividing it by a power of ten up
// to 10^22 is one correctly rounded operation on two exact numbers (Clinger 1990). Other numbers
// are rare.
inline const char* read_double(const char* first, const char* last, double& value) {
  static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* p = first;
  if (p != last && *p == '+') {
    first = ++p;
    if (p != last && *p == '-') return nullptr;
  }
  const bool negative = p != last && *p == '-';
  p += negative;
  std::uint64_t digits = 0;
  const char* start = p;
  // There is usually one digit before the point, so these branches are predicted well.
  if (p != last && is_digit(*p)) digits = static_cast<std::uint64_t>(*p++ - '0');
  if (p != last && is_digit(*p)) p = read_digits(p, last, digits);
  std::ptrdiff_t count = p - start, exponent = 0;
  if (p != last && *p == '.') {
    const char* fraction = ++p;
    p = read_digits(p, last, digits);
    exponent = fraction - p;
    count -= exponent;
  }
  const bool simple = count > 0 && count <= 19 && digits <= (std::uint64_t{1} << 53) &&
                      exponent >= -22 && !(p != last && (*p == 'e' || *p == 'E'));
  if (!simple) return read_rare_double(first, last, value);
  // The sign without a branch, which the processor would mispredict every other time.
  const auto magnitude =
      std::bit_cast<std::uint64_t>(static_cast<double>(digits) / powers[-exponent]);
  value = std::bit_cast<double>(magnitude | static_cast<std::uint64_t>(negative) << 63);
  return p;
}

inline void append_number(std::string& text, double value) {
  char buffer[40];
#if SOFTMARGIN_TO_CHARS
  const char* end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
#else
  int length = 0;
  for (int precision : {15, 16, 17}) {
    std::ostringstream stream;
    stream.imbue(std::locale::classic());
    stream.precision(precision);
    stream << value;
    length = std::snprintf(buffer, sizeof buffer, "%s", stream.str().c_str());
    double again = 0;
    if (read_double(buffer, buffer + length, again) && again == value) break;
  }
  const char* end = buffer + length;
#endif
  text.append(buffer, static_cast<std::size_t>(end - buffer));
}

inline void append_number(std::string& text, std::int64_t value) {
  char buffer[24];
  const char* end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  text.append(buffer, static_cast<std::size_t>(end - buffer));
}

}  // namespace softmargin::text
