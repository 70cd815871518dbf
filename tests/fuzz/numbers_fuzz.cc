// Numbers and ids in strings: each parsed value can be formatted and parsed again. Where the C
// library accepts a string, the results are equal.
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>

#include "engine/core/base/numbers.h"
#include "tests/fuzz/fuzz.h"
#include <rushgate/stream_id.h>

namespace rushgate {
namespace {

void read_integers(const std::string& text) {
  const auto value = parse_int64(text);
  fuzz::expect(value == parse_long_int64(text), "both ways to read an integer");
  if (value) fuzz::expect(DecimalText(*value).view() == text, "integers are canonical");
  errno = 0;
  char* end = nullptr;
  const long long expected = std::strtoll(text.c_str(), &end, 10);
  const bool whole = end == text.c_str() + text.size() && errno == 0 && !text.empty();
  if (whole && std::to_string(expected) == text) fuzz::expect(value == expected, "strtoll's");
  if (value) fuzz::expect(whole, "what strtoll reads");
  const auto natural = parse_uint64(text);
  if (natural) fuzz::expect(parse_uint64(std::to_string(*natural)) == natural, "naturals");
  parse_wrapping_uint64(text);
}

void read_ids(const std::string& text) {
  const auto id = StreamId::parse(text, 7);
  if (!id) return;
  fuzz::expect(StreamId::parse(id->to_string()) == id, "ids are written as they are read");
  if (const auto next = id->next()) fuzz::expect(next->previous() == id && *next > *id, "next");
}

void read_reals(const std::string& text) {
  if (const auto value = parse_double(text)) {
    fuzz::expect(!std::isnan(*value), "no double is NaN");
    const std::string shown(DoubleText(*value).view());
    fuzz::expect(parse_double(shown) == value, "doubles come back");
    fuzz::expect(std::strtod(text.c_str(), nullptr) == *value, "strtod's");
  }
  if (const auto value = parse_double_bound(text)) fuzz::expect(!std::isnan(*value), "bounds");
  if (const auto value = parse_long_double(text)) {
    fuzz::expect(!std::isnan(*value), "no long double is NaN");
    if (!std::isfinite(*value)) return;
    const std::string shown = format_long_double(*value);
    fuzz::expect(parse_long_double(shown).has_value(), "long doubles can be read");
  }
}

}  // namespace
}  // namespace rushgate

RUSHGATE_FUZZER(numbers) {
  const std::string text(rushgate::fuzz::to_text(data, size));
  rushgate::read_integers(text);
  rushgate::read_ids(text);
  rushgate::read_reals(text);
  return 0;
}
