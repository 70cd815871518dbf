#include <utility>

#include "engine/sale/admission/admission.h"
#include "engine/sale/ids/order_ids.h"
#include "engine/sale/sale_impl.h"
#include "engine/sale/vouchers/keyspace_run.h"
#include <rushgate/ids.h>
#include <rushgate/sale.h>

namespace rushgate {
namespace {

absl::Status check(const SaleOptions& options) {
  const IdOptions ids = order_id_options(options.keys, options.id_block_size, options.client);
  if (absl::Status checked = ids.check(); !checked.ok()) return checked;
  if (options.request_ttl_ms <= 0)
    return absl::InvalidArgumentError("request_ttl_ms must be positive");
  if (options.client.protocol != ClientOptions{}.protocol)
    return absl::InvalidArgumentError("client.protocol must be 2");
  if (options.client.on_message)
    return absl::InvalidArgumentError("client.on_message must be empty");
  return options.admission ? options.admission->check() : absl::OkStatus();
}

}  // namespace

Sale::Sale(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Sale::~Sale() = default;

absl::StatusOr<std::unique_ptr<Sale>> Sale::open(Backend& backend, const SaleStores& stores,
                                                 SaleOptions options) {
  if (absl::Status checked = check(options); !checked.ok()) return checked;
  backend.add_native_scripts(native_sale_scripts());
  auto impl = std::make_unique<Impl>(backend, stores, std::move(options));
  if (absl::Status opened = impl->open(backend); !opened.ok()) return opened;
  return std::unique_ptr<Sale>(new Sale(std::move(impl)));
}

absl::Status Sale::publish(const Voucher& voucher, std::optional<std::int64_t> expected_version) {
  return impl_->publish(voucher, expected_version);
}
absl::Status Sale::add_stock(VoucherId voucher, std::int64_t delta) {
  return impl_->add_stock(voucher, delta);
}
absl::Status Sale::close(VoucherId voucher) { return impl_->close(voucher); }
absl::StatusOr<std::optional<VoucherVersion>> Sale::voucher(VoucherId voucher) {
  return impl_->voucher(voucher);
}
absl::StatusOr<std::optional<VoucherSummary>> Sale::summary(VoucherId voucher) {
  return impl_->summary(voucher);
}
absl::StatusOr<std::vector<VoucherSummary>> Sale::summaries() { return impl_->summaries(); }

BuyResult Sale::buy(VoucherId voucher, UserId user, std::string_view idempotency_key) {
  return impl_->buy(voucher, user, idempotency_key);
}
std::vector<BuyResult> Sale::buy_all(std::span<const BuyRequest> requests) {
  return impl_->buy_all(requests);
}

absl::StatusOr<OrderState> Sale::status(OrderId order) { return impl_->status(order); }
absl::StatusOr<std::vector<OrderState>> Sale::orders_of(UserId user) {
  return impl_->orders_of(user);
}
absl::StatusOr<std::vector<DeadLetter>> Sale::dead_letters() { return impl_->dead_letters(); }
absl::StatusOr<bool> Sale::retry_dead_letter(const std::string& id) {
  return impl_->retry_dead_letter(id);
}
absl::StatusOr<bool> Sale::discard_dead_letter(const std::string& id, const std::string& why) {
  return impl_->discard_dead_letter(id, why);
}
absl::StatusOr<std::vector<DiscardedLetter>> Sale::discarded_letters() {
  return impl_->discarded_letters();
}
absl::StatusOr<AuditReport> Sale::audit() { return impl_->audit(); }

const SaleOptions& Sale::options() const { return impl_->options(); }

std::string_view order_state_name(OrderState::Kind kind) {
  switch (kind) {
    case OrderState::Kind::kUnknown:
      return "unknown";
    case OrderState::Kind::kQueued:
      return "queued";
    case OrderState::Kind::kCreated:
      return "created";
    case OrderState::Kind::kFailed:
      return "failed";
  }
  return "?";
}

std::vector<NamedScript> native_sale_scripts() {
  return {{std::string(kNativeAdmission), native_admission()},
          {std::string(kNativeKeyspaceRun), native_keyspace_run()}};
}

}  // namespace rushgate
