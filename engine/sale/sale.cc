#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/audit/audit.h"
#include "engine/sale/audit/repair.h"
#include "engine/sale/holds/waiting_list.h"
#include "engine/sale/keyspace/keyspace_run.h"
#include "engine/sale/keyspace/server_check.h"
#include "engine/sale/sale_parts.h"
#include "engine/sale/scripts/admission.h"
#include "engine/sale/scripts/payment_scripts.h"
#include "engine/sale/stores/archived_vouchers.h"
#include "engine/sale/stores/order_ids.h"
#include "engine/sale/stream/dead_letters.h"
#include "engine/sale/stream/queued_entries.h"
#include "engine/sale/voucher_summary.h"
#include "engine/sale/vouchers/restored_letters.h"
#include <rushgate/ids.h>
#include <rushgate/purchase_statistics.h>
#include <rushgate/sale.h>

namespace rushgate {
namespace {

absl::Status check(const SaleOptions& options) {
  const IdOptions ids = order_id_options(options.keys, options.id_block_size, options.client);
  RETURN_IF_ERROR(ids.check());
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

Sale::Sale(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Sale::~Sale() = default;

absl::StatusOr<std::unique_ptr<Sale>> Sale::open(Backend& backend, const SaleStores& stores,
                                                 SaleOptions options) {
  RETURN_IF_ERROR(check(options));
  const Capabilities capabilities = backend.capabilities();
  if (!capabilities.runs_native_scripts) {
    const std::unique_ptr<Client> client = backend.open_client(options.client);
    RETURN_IF_ERROR(
        check_server(*client, options.keys, capabilities.has_slots, options.logger.get()));
  }
  backend.add_native_scripts(native_sale_scripts());
  auto parts = std::make_unique<Parts>(backend, stores, std::move(options));
  RETURN_IF_ERROR(parts->open(backend));
  return std::unique_ptr<Sale>(new Sale(std::move(parts)));
}

absl::Status Sale::publish(const Voucher& voucher, std::optional<std::int64_t> expected_version) {
  RETURN_IF_ERROR(parts_->purchases.check(voucher));
  if (voucher.payment_ms > 0 && parts_->stores.orders.payments() == nullptr) {
    return absl::InvalidArgumentError(concat("voucher ", voucher.id,
                                             ": the order store keeps no payments, so payment_ms "
                                             "must be 0"));
  }
  return parts_->vouchers.publish(voucher, expected_version);
}
absl::StatusOr<bool> Sale::publish_if_new(const Voucher& voucher) {
  absl::Status published = publish(voucher, 0);
  if (published.ok()) return true;
  if (absl::IsAlreadyExists(published)) return false;
  if (!absl::IsFailedPrecondition(published)) return published;
  ASSIGN_OR_RETURN(const auto archived, is_archived(parts_->stores, voucher.id));
  if (archived) return false;
  return published;
}
absl::Status Sale::add_stock(VoucherId voucher, std::int64_t delta) {
  return parts_->vouchers.add_stock(voucher, delta);
}
absl::Status Sale::close(VoucherId voucher) { return parts_->vouchers.close(voucher); }
absl::StatusOr<std::optional<VoucherVersion>> Sale::voucher(VoucherId voucher) {
  return parts_->voucher_cache ? parts_->voucher_cache->find(voucher)
                               : parts_->stores.vouchers.applied(voucher);
}
absl::StatusOr<std::optional<VoucherSummary>> Sale::summary(VoucherId voucher) {
  ASSIGN_OR_RETURN(auto version, this->voucher(voucher));
  if (!version.has_value()) return std::nullopt;
  ASSIGN_OR_RETURN(auto summary,
                   summarize(*parts_->client, parts_->options.keys, *std::move(version)));
  return summary;
}
absl::StatusOr<std::vector<VoucherSummary>> Sale::summaries() {
  return summarize_all(*parts_->client, parts_->stores.vouchers, parts_->options.keys);
}

BuyResult Sale::buy(VoucherId voucher, const UserId& user, std::string_view idempotency_key) {
  BuyRequest request{.voucher = voucher, .user = user};
  if (!idempotency_key.empty()) request.idempotency_key = idempotency_key;
  return parts_->purchases.buy(request);
}
BuyResult Sale::buy(const BuyRequest& request) { return parts_->purchases.buy(request); }
std::vector<BuyResult> Sale::buy_all(std::span<const BuyRequest> requests) {
  return parts_->purchases.buy_all(requests);
}
std::vector<BuyResult> Sale::decide_all(std::span<const BuyRequest> requests) {
  return parts_->purchases.decide_all(requests);
}
void Sale::complete(const BuyRequest& request, BuyResult& result) {
  parts_->purchases.complete(request, result);
}

WaitResult Sale::wait_for(VoucherId voucher, const UserId& user) {
  return parts_->purchases.wait_for(voucher, user);
}
absl::StatusOr<bool> Sale::leave_waiting_list(VoucherId voucher, const UserId& user) {
  return rushgate::leave_waiting_list(*parts_->client, parts_->options.keys, voucher, user);
}
absl::StatusOr<std::vector<UserId>> Sale::waiting_list(VoucherId voucher) {
  return read_waiting_list(*parts_->client, parts_->options.keys, voucher);
}
absl::StatusOr<std::vector<WaitingUser>> Sale::waiting_users(VoucherId voucher, std::int64_t after,
                                                             std::size_t count_max) {
  return read_waiting_users(*parts_->client, parts_->options.keys, voucher, after, count_max);
}

ChangeResult Sale::pay(const PayRequest& request) { return pay_all({&request, 1}).front(); }
std::vector<ChangeResult> Sale::pay_all(std::span<const PayRequest> requests) {
  return parts_->changes.pay_all(requests);
}
ChangeResult Sale::cancel(OrderId order, const std::string& reason, const std::string& actor) {
  return parts_->changes.cancel(order, reason, actor);
}
ChangeResult Sale::use(OrderId order, const std::string& actor) {
  return parts_->changes.use(order, actor);
}
ChangeResult Sale::refund(OrderId order, const std::string& reason, const std::string& actor) {
  return parts_->changes.refund(order, reason, actor);
}
absl::StatusOr<std::size_t> Sale::refund_all(VoucherId voucher, const std::string& reason,
                                             const std::string& actor) {
  return parts_->changes.refund_all(voucher, reason, actor);
}
ChangeResult Sale::confirm_refund(const std::string& payment) {
  return parts_->changes.confirm_refund(payment);
}

absl::Status Sale::archive(VoucherId voucher, const ArchiveOptions& options) {
  RETURN_IF_ERROR(parts_->changes.finish_refunds().status());
  absl::Status archived = parts_->archiving.archive(voucher, options.discard_dead_letters);
  return archived.ok() && parts_->voucher_cache ? parts_->voucher_cache->forget(voucher) : archived;
}
absl::StatusOr<std::size_t> Sale::delete_archived(VoucherId voucher) {
  auto deleted = parts_->archiving.delete_orders(voucher);
  parts_->queued.clear();  // it would report them as queued
  return deleted;
}

absl::StatusOr<OrderState> Sale::status(OrderId order) { return parts_->lookup.find(order); }
absl::StatusOr<std::vector<OrderState>> Sale::orders_of(const UserId& user) {
  return parts_->lookup.list(user);
}
absl::StatusOr<std::vector<OrderChange>> Sale::changes(std::int64_t after, std::size_t count_max) {
  return parts_->changes.list(after, count_max);
}
absl::StatusOr<std::vector<DeadLetter>> Sale::dead_letters(StreamId after, std::size_t count_max) {
  return list_dead_letters(*parts_->client, parts_->options.keys, after, count_max);
}
absl::StatusOr<bool> Sale::retry_dead_letter(const std::string& id) {
  return retry_or_restore_letter(*parts_->client, parts_->options.keys, parts_->vouchers, id);
}
absl::StatusOr<bool> Sale::discard_dead_letter(const std::string& id, const std::string& why) {
  return rushgate::discard_dead_letter(*parts_->client, parts_->options.keys, id, why);
}
absl::StatusOr<std::vector<DiscardedLetter>> Sale::discarded_letters(StreamId after,
                                                                     std::size_t count_max) {
  return list_discarded_letters(*parts_->client, parts_->options.keys, after, count_max);
}
absl::StatusOr<AuditReport> Sale::audit(const OnAuditProgress& on_progress) {
  return rushgate::audit(*parts_->client, parts_->stores, parts_->options.keys, on_progress);
}
absl::StatusOr<AuditReport> Sale::repair(const OnAuditProgress& on_progress) {
  ASSIGN_OR_RETURN(const auto archived, parts_->archiving.finish());
  ASSIGN_OR_RETURN(auto repairs, rushgate::repair(*parts_->client, parts_->stores,
                                                  parts_->options.keys, parts_->vouchers));
  for (const VoucherId voucher : archived) {
    repairs.push_back(concat("voucher ", voucher, ": removed its keys, it is archived"));
  }
  auto report = audit(on_progress);
  if (report.ok()) report->repairs = std::move(repairs);
  return report;
}

PurchaseStatistics Sale::purchases() const { return parts_->purchases.counters().read(); }
const SaleOptions& Sale::options() const { return parts_->options; }

std::vector<NamedScript> native_sale_scripts() {
  std::vector<NamedScript> scripts = payment_scripts::native();
  scripts.push_back({std::string(kNativeAdmission), native_admission()});
  scripts.push_back({std::string(kNativeKeyspaceRun), native_keyspace_run()});
  scripts.push_back({std::string(kNativeQueuedEntries), native_queued_entries()});
  return scripts;
}

}  // namespace rushgate
