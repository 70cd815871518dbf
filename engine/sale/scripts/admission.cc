#include "engine/sale/scripts/admission.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/sale/scripts/admission.lua.h"
#include <rushgate/limits.h>

namespace rushgate {

const Script& admission_script() {
  static const Script* const kScript = new Script(lua::kAdmission, std::string(kNativeAdmission));
  return *kScript;
}

AdmissionRequests::AdmissionRequests(const Client& client, const SaleKeys& keys,
                                     std::int64_t request_ttl_ms)
    : client_(client),
      keys_(keys),
      request_ttl_ms_(request_ttl_ms),
      request_prefix_bytes_(keys.request("").size()) {}

AdmissionRequests::~AdmissionRequests() {
  for (const auto& known : known_) delete known.load();
}

namespace {

/// Adds the users and their order ids, most of which follow one another.
void add_buyers(std::span<const AdmissionRequests::Buyer> buyers, Request& request) {
  std::optional<DecimalText> order;
  OrderId last = 0;
  for (const AdmissionRequests::Buyer& buyer : buyers) {
    if (buyer.user->is_number()) {
      request.add(buyer.user->number());
    } else {
      request.add(buyer.user->name());
    }
    const bool follows = order && buyer.order > 0 && buyer.order - 1 == last;
    if (!follows || !order->increment()) order.emplace(buyer.order);
    request.add(order->view());
    last = buyer.order;
  }
}

}  // namespace

Request AdmissionRequests::make(const Purchase& purchase, std::span<const Buyer> buyers) const {
  constexpr std::size_t kBytesPerBuyer = 40;  // two numbers
  const bool with_keys = !buyers.front().idempotency_key.empty();
  const bool is_usual = !with_keys && is_plain(purchase);
  const Known* const known = is_usual ? find_known(purchase.voucher) : nullptr;
  if (known != nullptr) {
    Request request(known->beginning, 2 * buyers.size(), kBytesPerBuyer * buyers.size());
    add_buyers(buyers, request);
    return request;
  }
  std::vector<std::string> own;
  if (!purchase.token.empty()) {
    own.push_back(PurchaseTokens::key_of(keys_.purchase_tokens(), buyers.front().user->text(),
                                         purchase.voucher));
  }
  for (const Buyer& buyer : buyers) {
    if (with_keys) own.push_back(keys_.request(buyer.idempotency_key));
  }
  Request request = beginning(purchase, own);
  add_buyers(buyers, request);
  return request;
}

const AdmissionRequests::Known* AdmissionRequests::find_known(VoucherId voucher) const {
  std::atomic<const Known*>& place = known_[static_cast<std::uint64_t>(voucher) % kKnown];
  const Known* known = place.load(std::memory_order_acquire);
  if (known == nullptr) {
    auto made = std::make_unique<const Known>(Known{voucher, beginning({.voucher = voucher}, {})});
    if (place.compare_exchange_strong(known, made.get())) known = made.release();
  }
  return known->voucher == voucher ? known : nullptr;
}

Request AdmissionRequests::beginning(const Purchase& purchase,
                                     std::span<const std::string> own) const {
  const VoucherId voucher = purchase.voucher;
  const lua::AdmissionKeys names = {.voucher = keys_.voucher(voucher),
                                    .stock = keys_.stock(voucher),
                                    .buyers = keys_.buyers(voucher),
                                    .days = keys_.days(voucher),
                                    .stream = keys_.order_stream,
                                    .deadlines = keys_.deadlines(),
                                    .held = keys_.held()};
  const auto shared = names.in_order();
  std::vector<std::string_view> keys(shared.begin(), shared.end());
  keys.insert(keys.end(), own.begin(), own.end());
  const DecimalText voucher_text(voucher);
  const bool is_usual = own.empty() && is_plain(purchase);
  const std::string_view token = purchase.token.empty() ? "-" : purchase.token;
  const std::string options =
      is_usual ? ""
               : concat(purchase.quantity, " ", request_ttl_ms_, " ", request_prefix_bytes_, " ",
                        token, " ", purchase.reference);
  const std::array<std::string_view, 2> arguments = {voucher_text, options};
  return client_.script_request(admission_script(), keys, arguments);
}

std::optional<AdmissionReply> AdmissionReply::read(const Reply& reply, OrderId order) {
  const bool is_repetition = reply.kind() == Reply::Kind::kArray && reply.elements().size() == 2;
  const auto code = code_of(is_repetition ? reply.elements()[0] : reply);
  if (!code) return std::nullopt;
  if (is_repetition) {
    const Reply& its_order = reply.elements()[1];
    const auto known = its_order.is_text() ? parse_int64(its_order.text()) : std::nullopt;
    if (!known) return std::nullopt;
    order = *known;
  }
  return AdmissionReply{*code, order, is_repetition};
}

std::string request_record(const Order& order) {
  std::string record = concat(order.user.text(), " ", order.voucher);
  if (order.quantity != 1) record += concat("x", order.quantity);
  return record + concat(" ", static_cast<int>(AdmissionCode::kAccepted), " ", order.id);
}

std::optional<VoucherId> voucher_of_record(std::string_view record) {
  const std::size_t user_end = record.find(' ');
  if (user_end == record.npos) return std::nullopt;
  record.remove_prefix(user_end + 1);
  return parse_int64(record.substr(0, record.find_first_of("x ")));
}

std::string_view admission_code_name(AdmissionCode code) {
  switch (code) {
    case AdmissionCode::kAccepted:
      return "accepted";
    case AdmissionCode::kSoldOut:
      return "sold out";
    case AdmissionCode::kLimitReached:
      return "limit reached";
    case AdmissionCode::kDayLimitReached:
      return "day limit reached";
    case AdmissionCode::kNotStarted:
      return "not started";
    case AdmissionCode::kEnded:
      return "ended";
    case AdmissionCode::kUnknownVoucher:
      return "unknown voucher";
    case AdmissionCode::kKeyReused:
      return "request key reused";
    case AdmissionCode::kStockMissing:
      return "stock missing";
    case AdmissionCode::kRebuilding:
      return "rebuilding";
    case AdmissionCode::kServesFirst:
      return "serves waiting users first";
    case AdmissionCode::kTokenRefused:
      return "token refused";
  }
  return "?";
}

}  // namespace rushgate
