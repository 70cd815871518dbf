#include "engine/sale/admission/admission.h"

#include <algorithm>

namespace rushgate {

AdmissionCall::AdmissionCall(const SaleKeys& keys, VoucherId voucher, UserId user, OrderId order,
                             std::string_view request_key, std::int64_t request_ttl_ms)
    : names_{keys.voucher(voucher),
             keys.stock(voucher),
             keys.buyers(voucher),
             keys.days(voucher),
             keys.order_stream,
             request_key.empty() ? std::string() : keys.request(request_key)},
      user_(user),
      voucher_(voucher),
      order_(order),
      ttl_(request_ttl_ms) {
  std::copy(names_.begin(), names_.end(), keys_.begin());
  arguments_ = {user_, voucher_, order_, ttl_};
}

std::span<const std::string_view> AdmissionCall::keys() const {
  return std::span(keys_).first(names_.back().empty() ? keys_.size() - 1 : keys_.size());
}

Request AdmissionCall::request(const Client& client) const {
  return client.script_request(admission_script(), keys(), arguments_);
}

Reply AdmissionCall::run(Client& client) const {
  return client.run(admission_script(), keys(), arguments_);
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
