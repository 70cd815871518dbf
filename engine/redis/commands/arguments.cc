#include "engine/redis/commands/arguments.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "engine/core/base/numbers.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/keyspace/keyspace.h"

namespace rushgate {
namespace {

char lower(char c) { return absl::ascii_tolower(static_cast<unsigned char>(c)); }

}  // namespace

bool is_keyword(std::string_view text, std::string_view keyword) {
  return equal_in_any_case(errors::as_c_string(text), keyword);
}

Reply Arguments::take_error() { return *std::exchange(error_, std::nullopt); }

void Arguments::fail(Reply error) {
  if (!error_) error_ = std::move(error);
}

std::string_view Arguments::next() {
  if (at_end()) {
    fail(errors::syntax());
    return {};
  }
  return request_[at_++];
}

std::int64_t Arguments::next_integer(std::int64_t min, std::int64_t max) {
  const std::int64_t value = next_integer();
  if (!ok()) return 0;
  if (value >= min && value <= max) return value;
  fail(errors::out_of_range(min, max));
  return 0;
}

std::int64_t Arguments::next_at_least(std::int64_t min, Reply error) {
  const std::optional<std::int64_t> value = parse_int64(next());
  if (value && *value >= min) return *value;
  fail(std::move(error));
  return 0;
}

std::uint8_t Arguments::next_database() {
  const std::int64_t index =
      next_integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
  if (index < 0 || index >= static_cast<std::int64_t>(Keyspace::kDatabases))
    fail(errors::no_such_database());
  return ok() ? static_cast<std::uint8_t>(index) : std::uint8_t{0};
}

std::uint64_t Arguments::rest_as_limit() {
  std::int64_t limit = 0;
  while (!at_end()) {
    if (left() < 2 || !accept("LIMIT")) fail(errors::syntax());
    if (ok()) limit = next_at_least(0, errors::negative_option("LIMIT"));
  }
  return static_cast<std::uint64_t>(limit);
}

bool Arguments::accept(std::string_view keyword) {
  if (at_end() || request_[at_].size() < keyword.size()) return false;
  if (!is_keyword(request_[at_], keyword)) return false;
  ++at_;
  return true;
}

void Arguments::expect_pairs() {
  if (left() % 2 == 0) return;
  std::string command(request_[0]);
  std::ranges::transform(command, command.begin(), lower);
  fail(errors::wrong_arity(command));
}

std::int64_t Arguments::to_integer(std::string_view text) {
  const auto value = parse_int64(text);
  if (!value) fail(errors::not_an_integer());
  return value.value_or(0);
}

}  // namespace rushgate
