#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "adapters/flash_sale/utc_time.h"
#include "engine/sale/vouchers/voucher_terms.h"
#include <rushgate/flash_sale.h>

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

/// Reads the fields of one object. Keeps the first fault, and does nothing after it.
class FieldReader {
 public:
  FieldReader(const Json& object, std::string path, std::string& fault)
      : object_(object), path_(std::move(path)), fault_(fault) {
    if (!object_.is_object()) note("", "must be an object");
  }

  const Json* find(const std::string& name) {
    known_.push_back(name);
    if (!fault_.empty()) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  /// Reads an integer field. Returns false if it is missing.
  bool read(const std::string& name, std::int64_t& to) {
    const Json* const value = find(name);
    if (value == nullptr) return false;
    const bool too_large = value->is_number_unsigned() &&
                           value->get<std::uint64_t>() >
                               static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!value->is_number_integer() || too_large) {
      note(name, "must be a whole number, not " + value->dump());
    } else {
      to = value->get<std::int64_t>();
    }
    return true;
  }

  bool read(const std::string& name, std::string& to) {
    const Json* const value = find(name);
    if (value == nullptr) return false;
    if (!value->is_string()) {
      note(name, "must be a string, not " + value->dump());
    } else {
      to = value->get<std::string>();
    }
    return true;
  }

  /// Reads a time: ms since 1970, or a string in ISO 8601.
  bool read_time(const std::string& name, std::int64_t& to) {
    const Json* const value = find(name);
    if (value == nullptr) return false;
    if (!value->is_string()) {
      constexpr std::int64_t kSecondsFrom = 1'000'000'000;  // 2001 in seconds, January 1970 in ms
      constexpr std::int64_t kSecondsTo = 10'000'000'000;
      const bool is_there = read(name, to);
      if (to >= kSecondsFrom && to < kSecondsTo) {
        note(name, fmt::format("must be in milliseconds since 1970; {} would be seconds", to));
      }
      return is_there;
    }
    const auto time = parse_utc(value->get<std::string>());
    if (!time) {
      note(name, "must be a time in UTC, such as \"2024-11-11T00:00:00Z\", not " + value->dump());
    }
    to = time.value_or(0);
    return true;
  }

  bool read_flag(const std::string& name, std::int64_t& to) {
    const Json* const value = find(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) {
      note(name, "must be true or false, not " + value->dump());
    } else {
      to = value->get<bool>() ? 1 : 0;
    }
    return true;
  }

  /// Reads a term. find_fault() compares it with its range later.
  void read_term(const VoucherTerm& term, Voucher& voucher) {
    const std::string name(term.json);
    std::int64_t value = term.get(voucher);
    const bool is_there = term.is_time   ? read_time(name, value)
                          : term.is_flag ? read_flag(name, value)
                                         : read(name, value);
    if (term.is_required) require(name, is_there);
    if (!fault_.empty()) return;
    term.set(voucher, value);
    if (term.get(voucher) != value) note(name, term.find_fault(value));  // the member is smaller
  }

  void require(const std::string& name, bool is_there) {
    if (!is_there) note(name, "is missing");
  }

  /// Reports unknown fields. Call it after all fields are read.
  void finish() {
    if (!fault_.empty()) return;
    for (const auto& [name, value] : object_.items()) {
      bool is_known = false;
      for (const std::string& known : known_) is_known = is_known || known == name;
      if (!is_known) {
        note(name, fmt::format("is not a field here; there are {}", fmt::join(known_, ", ")));
      }
    }
  }

  void note(const std::string& name, const std::string& what) {
    if (!fault_.empty()) return;
    fault_ = fmt::format("{}{}{}: {}", path_, name.empty() ? "" : ".", name, what);
  }

 private:
  const Json& object_;
  const std::string path_;
  std::string& fault_;
  std::vector<std::string> known_;
};

/// Reads the terms of the object: the limits, or all others.
void read_terms(FieldReader& fields, bool are_limits, Voucher& voucher) {
  for (const VoucherTerm& term : kVoucherTerms) {
    if (term.is_limit == are_limits) fields.read_term(term, voucher);
  }
}

Voucher read_voucher(const Json& object, const std::string& path, std::string& fault) {
  Voucher voucher;
  FieldReader fields(object, path, fault);
  fields.require("id", fields.read("id", voucher.id));
  fields.read("title", voucher.title);
  read_terms(fields, false, voucher);
  if (const Json* const object_of_limits = fields.find("limits")) {
    FieldReader limits(*object_of_limits, path + ".limits", fault);
    read_terms(limits, true, voucher);
    limits.finish();
  }
  fields.finish();
  if (fault.empty()) {
    if (const std::string senseless = find_fault(voucher); !senseless.empty()) {
      fields.note("", senseless);
    }
  }
  return voucher;
}

/// Returns nlohmann's message without its code in brackets.
std::string_view readable(std::string_view message) {
  const std::size_t bracket = message.find("] ");
  return bracket == std::string_view::npos ? message : message.substr(bracket + 2);
}

}  // namespace

absl::StatusOr<std::vector<Voucher>> read_vouchers(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return absl::NotFoundError(fmt::format("{}: there is no such file", file.string()));
  }
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (in.bad() || !in.is_open() || !text) {
    return absl::UnavailableError(fmt::format("{}: it cannot be read", file.string()));
  }
  return parse_vouchers(text.str(), file.string());
}

absl::StatusOr<std::vector<Voucher>> parse_vouchers(std::string_view text, std::string_view name) {
  const auto wrong = [&](std::string_view what) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", name, what));
  };
  Json array;
  try {
    array = Json::parse(text);
  } catch (const Json::exception& error) {
    return wrong(readable(error.what()));
  }
  if (!array.is_array()) return wrong("must be an array of vouchers");
  if (array.empty()) return wrong("there is no voucher in it");

  std::vector<Voucher> vouchers;
  std::set<VoucherId> ids;
  std::string fault;
  for (std::size_t i = 0; i < array.size(); ++i) {
    const std::string path = fmt::format("[{}]", i);
    vouchers.push_back(read_voucher(array[i], path, fault));
    if (!fault.empty()) return wrong(fault);
    if (!ids.insert(vouchers.back().id).second) {
      return wrong(fmt::format("{}.id: {} is there twice", path, vouchers.back().id));
    }
  }
  return vouchers;
}

std::string format_vouchers(const std::vector<Voucher>& vouchers) {
  Json array = Json::array();
  for (const Voucher& voucher : vouchers) {
    Json object = {{"id", voucher.id}, {"title", voucher.title}};
    Json limits = Json::object();
    for (const VoucherTerm& term : kVoucherTerms) {
      Json& value = (term.is_limit ? limits : object)[std::string(term.json)];
      if (term.is_flag) {
        value = term.get(voucher) != 0;
      } else {
        value = term.get(voucher);
      }
    }
    object["limits"] = std::move(limits);
    array.push_back(std::move(object));
  }
  // A title may have any bytes.
  return array.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rushgate
