#include "adapters/flash_sale/field_reader.h"

#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "adapters/flash_sale/utc_time.h"
#include <rushgate/maybe_integer.h>

namespace rushgate {
namespace {

/// Returns the integer that a field has, as a number or in a string.
std::optional<std::int64_t> integer_in(const FieldReader::Json& value) {
  if (value.is_string()) return parse_int64(value.get_ref<const std::string&>());
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > kMax;
  if (!value.is_number_integer() || too_large) return std::nullopt;
  return value.get<std::int64_t>();
}

}  // namespace

FieldReader::FieldReader(const Json& object, std::string path, std::string& fault)
    : object_(object), path_(std::move(path)), fault_(fault) {
  if (!object_.is_object()) note("", "must be an object");
}

const FieldReader::Json* FieldReader::find(const std::string& name) {
  known_.push_back(name);
  if (!fault_.empty()) return nullptr;
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

bool FieldReader::read(const std::string& name, std::int64_t& to) {
  const Json* const value = find(name);
  if (value == nullptr) return false;
  const auto integer = integer_in(*value);
  if (!integer) note(name, "must be a whole number, not " + value->dump());
  to = integer.value_or(to);
  return true;
}

bool FieldReader::read(const std::string& name, std::string& to) {
  const Json* const value = find(name);
  if (value == nullptr) return false;
  if (!value->is_string()) {
    note(name, "must be a string, not " + value->dump());
  } else {
    to = value->get<std::string>();
  }
  return true;
}

bool FieldReader::read(const std::string& name, UserId& to) {
  const Json* const value = find(name);
  if (value == nullptr) return false;
  if (value->is_string()) {
    to = UserId(value->get_ref<const std::string&>());
    if (const std::string fault = to.find_fault(); !fault.empty()) note(name, fault);
  } else if (const auto integer = integer_in(*value)) {
    to = *integer;
  } else {
    note(name, "must be a whole number or a name, not " + value->dump());
  }
  return true;
}

bool FieldReader::read_time(const std::string& name, std::int64_t& to) {
  const Json* const value = find(name);
  if (value == nullptr) return false;
  if (const auto integer = integer_in(*value)) {
    constexpr std::int64_t kSecondsFrom = 1'000'000'000;  // 2001 in seconds, January 1970 in ms
    constexpr std::int64_t kSecondsTo = 10'000'000'000;
    if (*integer >= kSecondsFrom && *integer < kSecondsTo) {
      note(name, fmt::format("must be in milliseconds since 1970; {} would be seconds", *integer));
    }
    to = *integer;
    return true;
  }
  const auto time =
      value->is_string() ? parse_time(value->get_ref<const std::string&>()) : std::nullopt;
  if (!time) {
    note(name,
         "must be a time, such as \"2024-11-11T00:00:00Z\", or milliseconds since 1970, not " +
             value->dump());
  }
  to = time.value_or(0);
  return true;
}

bool FieldReader::read_flag(const std::string& name, std::int64_t& to) {
  const Json* const value = find(name);
  if (value == nullptr) return false;
  if (!value->is_boolean()) {
    note(name, "must be true or false, not " + value->dump());
  } else {
    to = value->get<bool>() ? 1 : 0;
  }
  return true;
}

void FieldReader::require(const std::string& name, bool is_there) {
  if (!is_there) note(name, "is missing");
}

void FieldReader::finish() {
  if (!fault_.empty()) return;
  for (const auto& [name, value] : object_.items()) {
    bool is_known = false;
    for (const std::string& known : known_) is_known = is_known || known == name;
    if (is_known) continue;
    return note(name, known_.empty()
                          ? std::string("is not a field here; there are none")
                          : fmt::format("is not a field here, only {}", fmt::join(known_, ", ")));
  }
}

void FieldReader::note(const std::string& name, const std::string& what) {
  if (!fault_.empty()) return;
  std::string where = path_;
  if (!name.empty()) where += path_.empty() ? name : '.' + name;
  fault_ = bounded_fault(where.empty() ? what : fmt::format("{}: {}", where, what));
}

std::string bounded_fault(std::string message) {
  if (message.size() <= FieldReader::kFaultBytesMax) return message;
  const auto is_within_character = [&](std::size_t at) {
    constexpr unsigned char kKind = 0xC0;
    constexpr unsigned char kFollows = 0x80;
    return (static_cast<unsigned char>(message[at]) & kKind) == kFollows;
  };
  std::size_t end = FieldReader::kFaultBytesMax;
  while (end > 0 && is_within_character(end)) --end;
  return message.substr(0, end);
}

std::string readable(const nlohmann::json::exception& error) {
  const std::string_view message = error.what();
  const std::size_t bracket = message.find("] ");
  return std::string(bracket == std::string_view::npos ? message : message.substr(bracket + 2));
}

}  // namespace rushgate
