#include <cstddef>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "adapters/flash_sale/json_text.h"
#include "adapters/flash_sale/sale_json.h"
#include <rushgate/flash_sale.h>

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

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
  const auto array = parse_json(text);
  if (!array.ok()) return wrong(std::string(array.status().message()));
  if (!array->is_array()) return wrong("must be an array of vouchers");
  if (array->empty()) return wrong("there is no voucher in it");

  std::vector<Voucher> vouchers;
  std::set<VoucherId> ids;
  std::string fault;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const std::string path = fmt::format("[{}]", i);
    vouchers.push_back(read_voucher((*array)[i], path, fault));
    if (!fault.empty()) return wrong(fault);
    if (!ids.insert(vouchers.back().id).second) {
      return wrong(fmt::format("{}.id: {} is there twice", path, vouchers.back().id));
    }
  }
  return vouchers;
}

std::string format_vouchers(const std::vector<Voucher>& vouchers) {
  Json array = Json::array();
  for (const Voucher& voucher : vouchers) array.push_back(to_json(voucher));
  // A title may have any bytes.
  return array.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rushgate
