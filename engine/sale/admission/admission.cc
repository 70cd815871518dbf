#include "engine/sale/admission/admission.h"

#include <array>
#include <span>

#include "engine/base/numbers.h"

namespace rushgate {

Request AdmissionCall::make(const Client& client, const SaleKeys& keys, VoucherId voucher,
                            UserId user, OrderId order, std::string_view request_key,
                            std::int64_t request_ttl_ms) {
  const std::string voucher_key = keys.voucher(voucher);
  const std::string stock_key = keys.stock(voucher);
  const std::string buyers_key = keys.buyers(voucher);
  const std::string days_key = keys.days(voucher);
  const std::string request_name =
      request_key.empty() ? std::string() : keys.request(voucher, request_key);
  const std::array<std::string_view, 6> names = {voucher_key, stock_key,         buyers_key,
                                                 days_key,    keys.order_stream, request_name};

  const DecimalText user_text(user);
  const DecimalText voucher_text(voucher);
  const DecimalText order_text(order);
  const DecimalText ttl_text(request_ttl_ms);
  const std::array<std::string_view, 4> arguments = {user_text, voucher_text, order_text, ttl_text};
  return client.script_request(admission_script(),
                               std::span(names).first(request_key.empty() ? 5 : 6), arguments);
}

std::optional<AdmissionCall::Answer> AdmissionCall::read(const Reply& reply, OrderId order) {
  const bool is_repetition = reply.kind() == Reply::Kind::kArray && reply.elements().size() == 2;
  const Reply& code = is_repetition ? reply.elements()[0] : reply;
  if (!code.is_integer() || code.integer() < 0 ||
      code.integer() > static_cast<std::int64_t>(AdmissionCode::kRebuilding)) {
    return std::nullopt;
  }
  if (is_repetition) {
    const Reply& its_order = reply.elements()[1];
    const auto known = its_order.is_text() ? parse_int64(its_order.text()) : std::nullopt;
    if (!known) return std::nullopt;
    order = *known;
  }
  return Answer{static_cast<AdmissionCode>(code.integer()), order};
}

}  // namespace rushgate
