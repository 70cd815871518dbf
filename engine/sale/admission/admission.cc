#include "engine/sale/admission/admission.h"

#include <memory>
#include <string>

namespace rushgate {

AdmissionRequests::AdmissionRequests(const Client& client, const SaleKeys& keys,
                                     std::int64_t request_ttl_ms)
    : client_(client), keys_(keys), request_ttl_ms_(request_ttl_ms) {}

AdmissionRequests::~AdmissionRequests() {
  for (const auto& known : known_) delete known.load();
}

Request AdmissionRequests::make(VoucherId voucher, UserId user, OrderId order,
                                std::string_view request_key) const {
  const DecimalText user_text(user);
  const DecimalText order_text(order);
  const Known* const known = request_key.empty() ? find_known(voucher) : nullptr;
  Request request;
  if (known != nullptr) {
    request.reserve(known->beginning.size() + 2,
                    known->beginning.bytes() + user_text.view().size() + order_text.view().size());
    request.add_all(known->beginning);
  } else {
    request = beginning(voucher, request_key);
  }
  request.add(user_text.view());
  request.add(order_text.view());
  return request;
}

const AdmissionRequests::Known* AdmissionRequests::find_known(VoucherId voucher) const {
  std::atomic<const Known*>& place = known_[static_cast<std::uint64_t>(voucher) % kKnown];
  const Known* known = place.load(std::memory_order_acquire);
  if (known == nullptr) {
    auto made = std::make_unique<const Known>(Known{voucher, beginning(voucher, {})});
    if (place.compare_exchange_strong(known, made.get())) known = made.release();
  }
  return known->voucher == voucher ? known : nullptr;
}

Request AdmissionRequests::beginning(VoucherId voucher, std::string_view request_key) const {
  const std::array<std::string, 6> names = {keys_.voucher(voucher), keys_.stock(voucher),
                                            keys_.buyers(voucher),  keys_.days(voucher),
                                            keys_.order_stream,     keys_.request(request_key)};
  const std::array<std::string_view, 6> views = {names[0], names[1], names[2],
                                                 names[3], names[4], names[5]};
  const DecimalText voucher_text(voucher);
  const DecimalText ttl_text(request_ttl_ms_);
  const std::array<std::string_view, 2> arguments = {voucher_text, ttl_text};
  return client_.script_request(admission_script(),
                                std::span(views).first(request_key.empty() ? 5 : 6), arguments);
}

std::optional<AdmissionAnswer> AdmissionAnswer::read(const Reply& reply, OrderId order) {
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
  return AdmissionAnswer{static_cast<AdmissionCode>(code.integer()), order};
}

}  // namespace rushgate
