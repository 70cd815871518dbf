#include "tests/conformance/random/words.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string_view>

namespace rushgate::testing {
namespace {

using std::string_view;

constexpr string_view kIntegerLimits[] = {
    "9223372036854775807",  "9223372036854775806", "-9223372036854775808",
    "-9223372036854775807", "2147483647",          "2147483648",
    "-2147483648",          "4294967295",          "4294967296"};

constexpr string_view kNoIntegers[] = {"9223372036854775808",
                                       "-9223372036854775809",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "+1",
                                       " 1",
                                       "1 ",
                                       "01",
                                       "-0",
                                       "00",
                                       "0x10",
                                       "1.0",
                                       "1e2",
                                       "1.5",
                                       "",
                                       "-",
                                       "+",
                                       "a",
                                       "٣"};

constexpr string_view kFloats[] = {
    "inf",  "-inf", "+inf", "Infinity", "-0",     "0",      "1e17",   "0x1.8p3", "1e-320", ".5",
    "3.3",  "5.",   "+1",   "1e308",    "1.0e+2", "-1e-5",  "1e5",    "0.1",     "1e21",   "123e-1",
    "1e16", "-.0",  "007",  "1E3",      "2.50",   "3.0000", "1e4931", "1e-4940"};

constexpr string_view kNoFloats[] = {"nan", "-nan", "NaN",   "1e400", "-1e400", "1e5000", " 1",
                                     "1 ",  "",     "1,5",   "0x",    "1e",     "--1",    "one",
                                     "e5",  ".",    "1.5.5", "inff",  "(1",     "1f"};

constexpr string_view kOptions[] = {
    "NX",      "XX",         "GT",         "LT",      "CH",    "INCR",        "GET",
    "KEEPTTL", "EX",         "PX",         "EXAT",    "PXAT",  "PERSIST",     "LIMIT",
    "COUNT",   "WITHSCORES", "WITHVALUES", "MATCH",   "TYPE",  "BYSCORE",     "REV",
    "WEIGHTS", "AGGREGATE",  "STORE",      "REPLACE", "DB",    "LEFT",        "RIGHT",
    "BEFORE",  "AFTER",      "RANK",       "MAXLEN",  "MINID", "NOMKSTREAM",  "MKSTREAM",
    "BLOCK",   "STREAMS",    "GROUP",      "NOACK",   "IDLE",  "TIME",        "RETRYCOUNT",
    "FORCE",   "JUSTID",     "LASTID",     "LEN",     "IDX",   "MINMATCHLEN", "WITHMATCHLEN",
    "ASYNC",   "SYNC",       "$",          ">",       "=",     "~",           "-",
    "+",       "[a",         "(1",         "1-1",     "5-*",   "0-0",         "0"};

std::string text_of(string_view text) { return std::string(text); }

/// Returns a number that is not a moment in the near future, neither in seconds nor in
/// milliseconds, and not the beginning of one.
std::string far_or_wrong(Random& random) {
  constexpr string_view kWords[] = {"0",  "-1",  "9223372036854775807", "-9223372036854775808",
                                    "",   "a",   "9223372036854775808", "1.5",
                                    " 9", "1e3", "9223372036854775",    "9223372036854776"};
  return random.chance(50) ? text_of(random.pick(kWords)) : text_of(random.pick(kOptions));
}

}  // namespace

std::string random_integer(Random& random) {
  const std::size_t kind = random.below(20);
  if (kind < 14) return std::to_string(random.between(-6, 14));
  if (kind < 16) return std::to_string(random.between(-2'000, 2'000));
  if (kind == 16) return std::to_string(static_cast<std::int64_t>(random.bits()));
  if (kind < 19) return text_of(random.pick(kIntegerLimits));
  return text_of(random.pick(kNoIntegers));
}

std::string random_float(Random& random) {
  double value = std::bit_cast<double>(random.bits());
  switch (random.below(9)) {
    case 0:
    case 1:
      return std::to_string(random.between(-10, 10));
    case 2:
      value = static_cast<double>(random.below(1'000'000)) / 1'000;
      break;
    case 3:
      value = std::ldexp(static_cast<double>(random.bits()), -static_cast<int>(random.below(128)));
      break;
    case 4:
      return text_of(random.pick(kFloats));
    case 5:
      return std::to_string(random.bits());
    case 6:
      return random.chance(25) ? text_of(random.pick(kNoFloats)) : text_of(random.pick(kFloats));
    default:
      break;
  }
  if (std::isnan(value)) return "1";
  char text[64];
  std::snprintf(text, sizeof(text), random.chance(50) ? "%.17g" : "%.6g", value);
  return text;
}

std::string random_bytes(Random& random) {
  constexpr string_view kLikely(
      "\0\r\n \"'\\*?[]^-\x7f\x80\xff"
      "aZ09",
      20);
  std::string bytes;
  for (std::size_t left = random.below(13); left > 0; --left) {
    bytes += random.chance(60) ? random.pick(kLikely) : static_cast<char>(random.below(256));
    // In a script, "[[" within "[[" is a difference listed in docs/differences.md.
    if (bytes.ends_with("[[")) bytes.back() = ' ';
  }
  return bytes;
}

std::string unexpected_word(Random& random) {
  switch (random.below(6)) {
    case 0:
      return random_integer(random);
    case 1:
      return text_of(random.pick(kNoIntegers));
    case 2:
      return random_float(random);
    case 3:
      return random_bytes(random);
    default:
      return text_of(random.pick(kOptions));
  }
}

void make_mistakes(std::vector<std::string>& command, Mistakes allowed, Random& random) {
  if (allowed == Mistakes::kNone) return;
  const auto word = [&] {
    return allowed == Mistakes::kAny ? unexpected_word(random) : far_or_wrong(random);
  };
  for (std::size_t left = 1 + random.below(2); left > 0 && command.size() > 1; --left) {
    const std::size_t at = 1 + random.below(command.size() - 1);
    const auto place = command.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random.below(5)) {
      case 0:
        command.erase(place);
        break;
      case 1:
        command.insert(place, command[at]);
        break;
      case 2:
        command.push_back(word());
        break;
      default:
        *place = word();
        break;
    }
  }
}

}  // namespace rushgate::testing
