#include "engine/sale/vouchers/voucher_buyers.h"

#include <optional>
#include <string>
#include <string_view>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/client/redis_error_code.h"
#include "engine/core/client/reply_status.h"

namespace rushgate {
namespace {

constexpr int kBuyersPerScan = 1'000;

/// Visits the users of a portion. Returns the fault of an element that is no user, or has no count.
std::string visit_portion(const Reply& portion, bool is_counted,
                          absl::FunctionRef<void(const UserId&, std::int64_t)> visit) {
  if (!portion.is_aggregate()) return "the reply is no list";
  const std::size_t step = is_counted ? 2 : 1;
  const auto& elements = portion.elements();
  for (std::size_t i = 0; i + step <= elements.size(); i += step) {
    if (!elements[i].is_text()) return "a buyer is no string";
    const UserId user(elements[i].text());
    std::optional<std::int64_t> count = 1;
    if (is_counted) {
      const Reply& counted = elements[i + 1];
      count = counted.is_text() ? parse_int64(counted.text()) : std::nullopt;
    }
    if (std::string fault = user.find_fault(); !fault.empty()) {
      return "\"" + user.text() + "\": " + fault;
    }
    if (!count) return "\"" + user.text() + "\" has no count";
    visit(user, *count);
  }
  return {};
}

}  // namespace

absl::Status for_each_buyer(Client& client, const SaleKeys& keys, VoucherId voucher,
                            absl::FunctionRef<void(const UserId& user, std::int64_t count)> visit) {
  const std::string doing = concat("reading the buyers of voucher ", voucher);
  const std::string buyers = keys.buyers(voucher);
  const Reply type = client("TYPE", buyers);
  if (!type.is_text()) return to_status(type, doing);
  const bool is_counted = type.text() == "hash";
  std::string cursor = "0";
  do {
    const Reply scanned =
        client(is_counted ? "HSCAN" : "SSCAN", buyers, cursor, "COUNT", kBuyersPerScan);
    if (has_code(scanned, redis_error_code::kWrongType)) return absl::AbortedError(doing);
    const bool is_scan =
        scanned.is_aggregate() && scanned.elements().size() == 2 && scanned.elements()[0].is_text();
    if (!is_scan) return to_status(scanned, doing);
    const std::string fault = visit_portion(scanned.elements()[1], is_counted, visit);
    if (!fault.empty()) return absl::DataLossError(doing + " in " + buyers + ": " + fault);
    cursor = scanned.elements()[0].text();
  } while (cursor != "0");
  return absl::OkStatus();
}

}  // namespace rushgate
