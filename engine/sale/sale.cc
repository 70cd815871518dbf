#include <utility>

#include "engine/core/base/concat.h"
#include "engine/sale/keyspace/server_check.h"
#include "engine/sale/sale_impl.h"
#include "engine/sale/scripts/admission.h"
#include "engine/sale/scripts/keyspace_run.h"
#include "engine/sale/scripts/payment_scripts.h"
#include "engine/sale/stores/order_ids.h"
#include "engine/sale/stream/queued_entries.h"
#include <rushgate/ids.h>
#include <rushgate/sale.h>

namespace rushgate {
namespace {

absl::Status check(const SaleOptions& options) {
  const IdOptions ids = order_id_options(options.keys, options.id_block_size, options.client);
  if (absl::Status checked = ids.check(); !checked.ok()) return checked;
  if (options.request_ttl_ms <= 0 || options.request_ttl_ms > SaleOptions::kRequestTtlMsMax) {
    return absl::InvalidArgumentError(concat("request_ttl_ms must be from 1 to ",
                                             SaleOptions::kRequestTtlMsMax, ", not ",
                                             options.request_ttl_ms));
  }
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
  if (!backend.capabilities().runs_native_scripts) {
    const std::unique_ptr<Client> client = backend.open_client(options.client);
    absl::Status checked = check_server(*client, options.keys, options.logger.get());
    if (!checked.ok()) return checked;
  }
  backend.add_native_scripts(native_sale_scripts());
  auto impl = std::make_unique<Impl>(backend, stores, std::move(options));
  if (absl::Status opened = impl->open(backend); !opened.ok()) return opened;
  return std::unique_ptr<Sale>(new Sale(std::move(impl)));
}

absl::Status Sale::publish(const Voucher& voucher, std::optional<std::int64_t> expected_version) {
  return impl_->publish(voucher, expected_version);
}
absl::StatusOr<bool> Sale::publish_if_new(const Voucher& voucher) {
  return impl_->publish_if_new(voucher);
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

BuyResult Sale::buy(VoucherId voucher, const UserId& user, std::string_view idempotency_key) {
  BuyRequest request{.voucher = voucher, .user = user};
  if (!idempotency_key.empty()) request.idempotency_key = idempotency_key;
  return impl_->buy(request);
}
BuyResult Sale::buy(const BuyRequest& request) { return impl_->buy(request); }
std::vector<BuyResult> Sale::buy_all(std::span<const BuyRequest> requests) {
  return impl_->buy_all(requests);
}
std::vector<BuyResult> Sale::decide_all(std::span<const BuyRequest> requests) {
  return impl_->decide_all(requests);
}
void Sale::complete(const BuyRequest& request, BuyResult& result) {
  impl_->complete(request, result);
}

WaitResult Sale::wait_for(VoucherId voucher, const UserId& user) {
  return impl_->wait_for(voucher, user);
}
absl::StatusOr<bool> Sale::leave_waiting_list(VoucherId voucher, const UserId& user) {
  return impl_->leave_waiting_list(voucher, user);
}
absl::StatusOr<std::vector<UserId>> Sale::waiting_list(VoucherId voucher) {
  return impl_->waiting_list(voucher);
}

ChangeResult Sale::pay(const PayRequest& request) { return pay_all({&request, 1}).front(); }
std::vector<ChangeResult> Sale::pay_all(std::span<const PayRequest> requests) {
  return impl_->changes().pay_all(requests);
}
ChangeResult Sale::cancel(OrderId order, const std::string& reason, const std::string& actor) {
  return impl_->changes().cancel(order, reason, actor);
}
ChangeResult Sale::use(OrderId order, const std::string& actor) {
  return impl_->changes().use(order, actor);
}
ChangeResult Sale::refund(OrderId order, const std::string& reason, const std::string& actor) {
  return impl_->changes().refund(order, reason, actor);
}
absl::StatusOr<std::size_t> Sale::refund_all(VoucherId voucher, const std::string& reason,
                                             const std::string& actor) {
  return impl_->changes().refund_all(voucher, reason, actor);
}
ChangeResult Sale::confirm_refund(const std::string& payment) {
  return impl_->changes().confirm_refund(payment);
}

absl::Status Sale::archive(VoucherId voucher, const ArchiveOptions& options) {
  return impl_->archive(voucher, options);
}
absl::StatusOr<std::size_t> Sale::delete_archived(VoucherId voucher) {
  return impl_->delete_archived(voucher);
}

absl::StatusOr<OrderState> Sale::status(OrderId order) { return impl_->status(order); }
absl::StatusOr<std::vector<OrderState>> Sale::orders_of(const UserId& user) {
  return impl_->orders_of(user);
}
absl::StatusOr<std::vector<OrderChange>> Sale::changes(std::int64_t after, std::size_t count_max) {
  return impl_->changes().list(after, count_max);
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
absl::StatusOr<AuditReport> Sale::audit(const OnAuditProgress& on_progress) {
  return impl_->audit(on_progress);
}
absl::StatusOr<AuditReport> Sale::repair(const OnAuditProgress& on_progress) {
  return impl_->repair(on_progress);
}

const SaleOptions& Sale::options() const { return impl_->options(); }

std::string_view wait_outcome_name(WaitOutcome outcome) {
  switch (outcome) {
    case WaitOutcome::kWaiting:
      return "waiting";
    case WaitOutcome::kFree:
      return "free";
    case WaitOutcome::kFull:
      return "full";
    case WaitOutcome::kLimitReached:
      return "limit reached";
    case WaitOutcome::kNotOnSale:
      return "not on sale";
    case WaitOutcome::kNoWaitingList:
      return "no waiting list";
    case WaitOutcome::kUnknownVoucher:
      return "unknown voucher";
    case WaitOutcome::kOverloaded:
      return "overloaded";
    case WaitOutcome::kUnavailable:
      return "unavailable";
    case WaitOutcome::kFailed:
      return "failed";
  }
  return "?";
}

std::string_view change_outcome_name(ChangeOutcome outcome) {
  switch (outcome) {
    case ChangeOutcome::kDone:
      return "done";
    case ChangeOutcome::kTooLate:
      return "too late";
    case ChangeOutcome::kRefused:
      return "refused";
    case ChangeOutcome::kUnknownOrder:
      return "unknown order";
    case ChangeOutcome::kOverloaded:
      return "overloaded";
    case ChangeOutcome::kUnavailable:
      return "unavailable";
    case ChangeOutcome::kOutcomeUnknown:
      return "outcome unknown";
    case ChangeOutcome::kFailed:
      return "failed";
  }
  return "?";
}

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
  std::vector<NamedScript> scripts = payment_scripts::native();
  scripts.push_back({std::string(kNativeAdmission), native_admission()});
  scripts.push_back({std::string(kNativeKeyspaceRun), native_keyspace_run()});
  scripts.push_back({std::string(kNativeQueuedEntries), native_queued_entries()});
  return scripts;
}

}  // namespace rushgate
