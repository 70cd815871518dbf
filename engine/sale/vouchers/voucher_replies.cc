#include "engine/sale/vouchers/voucher_replies.h"

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"

namespace rushgate {

std::string voucher_name(VoucherId id) { return concat("voucher ", id); }

absl::Status being_rebuilt(VoucherId id) {
  return absl::AbortedError(voucher_name(id) + " is being rebuilt by another process");
}

absl::Status not_on_sale(VoucherId id) {
  return absl::NotFoundError("there is no voucher " + std::to_string(id));
}

std::string describe_lack_of_stock(const Voucher& voucher, std::int64_t missing) {
  const bool is_limited =
      voucher.lanes > 1 && voucher.limits.total > 0 && voucher.limits.total < voucher.stock;
  const std::string room = is_limited ? concat("a total limit of ", voucher.limits.total)
                                      : concat("a stock of ", voucher.stock);
  return concat(voucher_name(voucher.id), ": ", missing, " more are sold than ", room, " allows");
}

std::vector<std::string_view> as_views(const std::vector<std::string>& strings) {
  return {strings.begin(), strings.end()};
}

absl::StatusOr<std::vector<std::int64_t>> read_voucher_result(const Reply& reply,
                                                              std::string_view doing) {
  if (!reply.is_aggregate() || reply.elements().empty()) return to_status(reply, doing);
  std::vector<std::int64_t> result;
  for (const Reply& element : reply.elements()) {
    const auto number = element.is_integer() ? element.integer()
                        : element.is_text()  ? parse_int64(element.text())
                                             : std::nullopt;
    if (!number) return to_status(reply, doing);
    result.push_back(*number);
  }
  return result;
}

absl::StatusOr<std::int64_t> read_voucher_outcome(const Reply& reply, std::string_view doing) {
  ASSIGN_OR_RETURN(const auto result, read_voucher_result(reply, doing));
  return result.front();
}

}  // namespace rushgate
