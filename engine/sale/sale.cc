#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/audit/audit.h"
#include "engine/sale/audit/repair.h"
#include "engine/sale/keyspace/keyspace_run.h"
#include "engine/sale/keyspace/server_check.h"
#include "engine/sale/model/failure.h"
#include "engine/sale/sale_lanes.h"
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
  if (options.lanes < 0 || options.lanes > kLanesMax) {
    return absl::InvalidArgumentError(
        concat("lanes must be from 1 to ", kLanesMax, ", or 0, not ", options.lanes));
  }
  if (options.client.protocol != ClientOptions{}.protocol)
    return absl::InvalidArgumentError("client.protocol must be 2");
  if (options.client.on_message)
    return absl::InvalidArgumentError("client.on_message must be empty");
  return options.admission ? options.admission->check() : absl::OkStatus();
}

}  // namespace

Sale::Sale(std::unique_ptr<Lanes> lanes) : lanes_(std::move(lanes)), only_(lanes_->only()) {}

Sale::~Sale() = default;

absl::StatusOr<std::unique_ptr<Sale>> Sale::open(Backend& backend, const SaleStores& stores,
                                                 SaleOptions options) {
  RETURN_IF_ERROR(check(options));
  const Capabilities capabilities = backend.capabilities();
  if (capabilities.has_slots) RETURN_IF_ERROR(Lanes::fit_to_cluster(stores, options));
  if (!capabilities.runs_native_scripts) {
    const std::unique_ptr<Client> client = backend.open_client(options.client);
    absl::Status checked =
        check_server(*client, options.keys, capabilities.has_slots, options.logger.get());
    if (!checked.ok()) {
      if (!capabilities.has_slots || !absl::IsUnavailable(checked)) return checked;
      // It may be one of several lanes that is away. Each is checked when it is opened.
      ASSIGN_OR_RETURN(const bool are_several, Lanes::are_several(stores, options));
      if (!are_several) return checked;
    }
  }
  backend.add_native_scripts(native_sale_scripts());
  ASSIGN_OR_RETURN(auto lanes, Lanes::open(backend, stores, std::move(options)));
  return std::unique_ptr<Sale>(new Sale(std::move(lanes)));
}

absl::Status Sale::publish(const Voucher& voucher, std::optional<std::int64_t> expected_version) {
  ASSIGN_OR_RETURN(Parts* const parts, lanes_->publisher_of(voucher));
  RETURN_IF_ERROR(parts->purchases.check(voucher));
  if (voucher.payment_ms > 0 && parts->stores.orders.payments() == nullptr) {
    return absl::InvalidArgumentError(concat("voucher ", voucher.id,
                                             ": the order store keeps no payments, so payment_ms "
                                             "must be 0"));
  }
  absl::Status published = parts->vouchers.publish(voucher, expected_version);
  if (published.ok()) lanes_->note_stock(voucher.id);
  if (only_ != nullptr || !absl::IsAborted(published)) return published;
  // Another process may have put it on another lane meanwhile.
  ASSIGN_OR_RETURN(Parts* const present, lanes_->of_voucher(voucher.id));
  return present == parts ? published : present->vouchers.publish(voucher, expected_version);
}
absl::StatusOr<bool> Sale::publish_if_new(const Voucher& voucher) {
  absl::Status published = publish(voucher, 0);
  if (published.ok()) return true;
  if (absl::IsAlreadyExists(published)) return false;
  if (!absl::IsFailedPrecondition(published)) return published;
  ASSIGN_OR_RETURN(const auto archived, is_archived(lanes_->stores(), voucher.id));
  if (archived) return false;
  return published;
}
absl::Status Sale::add_stock(VoucherId voucher, std::int64_t delta) {
  ASSIGN_OR_RETURN(Parts* const parts, lanes_->of_voucher(voucher));
  absl::Status added = parts->vouchers.add_stock(voucher, delta);
  lanes_->note_stock(voucher);
  return added;
}
absl::Status Sale::close(VoucherId voucher) {
  ASSIGN_OR_RETURN(Parts* const parts, lanes_->of_voucher(voucher));
  return parts->vouchers.close(voucher);
}
absl::StatusOr<std::optional<VoucherVersion>> Sale::voucher(VoucherId voucher) {
  ASSIGN_OR_RETURN(Parts* const parts, lanes_->of_voucher(voucher));
  return parts->voucher_cache ? parts->voucher_cache->find(voucher)
                              : parts->stores.vouchers.applied(voucher);
}
absl::StatusOr<std::optional<VoucherSummary>> Sale::summary(VoucherId voucher) {
  ASSIGN_OR_RETURN(auto version, this->voucher(voucher));
  if (!version.has_value()) return std::nullopt;
  ASSIGN_OR_RETURN(const auto lanes, lanes_->all_of_voucher(voucher));
  std::optional<VoucherSummary> summary;
  for (Parts* const parts : lanes) {
    ASSIGN_OR_RETURN(auto of_lane, summarize(*parts->client, parts->options.keys, *version));
    if (summary) {
      add_summary(of_lane, *summary);
    } else {
      summary = std::move(of_lane);
    }
  }
  if (summary) add_unsold(*summary);
  return summary;
}
absl::StatusOr<std::vector<VoucherSummary>> Sale::summaries() {
  return summarize_all(lanes_->client(), lanes());
}

BuyResult Sale::buy(VoucherId voucher, const UserId& user, std::string_view idempotency_key) {
  BuyRequest request{.voucher = voucher, .user = user};
  if (!idempotency_key.empty()) request.idempotency_key = idempotency_key;
  return buy(request);
}
BuyResult Sale::buy(const BuyRequest& request) {
  return only_ != nullptr ? only_->purchases.buy(request) : lanes_->buy(request);
}
std::vector<BuyResult> Sale::buy_all(std::span<const BuyRequest> requests) {
  return only_ != nullptr ? only_->purchases.buy_all(requests) : lanes_->buy_all(requests);
}
std::vector<BuyResult> Sale::decide_all(std::span<const BuyRequest> requests) {
  return only_ != nullptr ? only_->purchases.decide_all(requests) : lanes_->decide_all(requests);
}
void Sale::complete(const BuyRequest& request, BuyResult& result) {
  if (only_ != nullptr) {
    only_->purchases.complete(request, result);
  } else {
    lanes_->complete(request, result);
  }
}

WaitResult Sale::wait_for(VoucherId voucher, const UserId& user) {
  return only_ != nullptr ? only_->purchases.wait_for(voucher, user)
                          : lanes_->wait_for(voucher, user);
}
absl::StatusOr<bool> Sale::leave_waiting_list(VoucherId voucher, const UserId& user) {
  return lanes_->leave_waiting_list(voucher, user);
}
absl::StatusOr<std::vector<UserId>> Sale::waiting_list(VoucherId voucher) {
  return lanes_->waiting_list(voucher);
}
absl::StatusOr<std::vector<WaitingUser>> Sale::waiting_users(VoucherId voucher, std::int64_t after,
                                                             std::size_t count_max) {
  return lanes_->waiting_users(voucher, after, count_max);
}

ChangeResult Sale::pay(const PayRequest& request) { return pay_all({&request, 1}).front(); }
std::vector<ChangeResult> Sale::pay_all(std::span<const PayRequest> requests) {
  return only_ != nullptr ? only_->changes.pay_all(requests) : lanes_->pay_all(requests);
}
ChangeResult Sale::cancel(OrderId order, const std::string& reason, const std::string& actor) {
  const auto parts = lanes_->of_order(order);
  if (!parts.ok()) return failure_of<ChangeResult>(parts.status());
  ChangeResult cancelled = (*parts)->changes.cancel(order, reason, actor);
  lanes_->serve_waiting_lists(**parts, order, cancelled);
  return cancelled;
}
ChangeResult Sale::use(OrderId order, const std::string& actor) {
  const auto parts = lanes_->of_order(order);
  return parts.ok() ? (*parts)->changes.use(order, actor)
                    : failure_of<ChangeResult>(parts.status());
}
ChangeResult Sale::refund(OrderId order, const std::string& reason, const std::string& actor) {
  const auto parts = lanes_->of_order(order);
  if (!parts.ok()) return failure_of<ChangeResult>(parts.status());
  ChangeResult refunded = (*parts)->changes.refund(order, reason, actor);
  lanes_->serve_waiting_lists(**parts, order, refunded);
  return refunded;
}
absl::StatusOr<std::size_t> Sale::refund_all(VoucherId voucher, const std::string& reason,
                                             const std::string& actor) {
  ASSIGN_OR_RETURN(const auto lanes, lanes_->all_of_voucher(voucher));
  std::size_t refunded = 0;
  for (Parts* const parts : lanes) {
    ASSIGN_OR_RETURN(const std::size_t of_lane, parts->changes.refund_all(voucher, reason, actor));
    refunded += of_lane;
  }
  if (refunded > 0) lanes_->serve_waiting_lists(voucher);
  return refunded;
}
ChangeResult Sale::confirm_refund(const std::string& payment) {
  return only_ != nullptr ? only_->changes.confirm_refund(payment)
                          : lanes_->confirm_refund(payment);
}

absl::Status Sale::archive(VoucherId voucher, const ArchiveOptions& options) {
  ASSIGN_OR_RETURN(const auto lanes, lanes_->all_of_voucher(voucher));
  for (Parts* const parts : lanes) {
    RETURN_IF_ERROR(parts->changes.finish_refunds().status());
  }
  for (Parts* const parts : lanes) {
    RETURN_IF_ERROR(parts->archiving.prepare(voucher, options.discard_dead_letters));
  }
  RETURN_IF_ERROR(lanes.front()->archiving.record(voucher));
  RETURN_IF_ERROR(lanes_->note_archived(voucher));
  for (Parts* const parts : lanes) RETURN_IF_ERROR(parts->archiving.move(voucher));
  for (Parts* const parts : lanes) {
    if (parts->voucher_cache) RETURN_IF_ERROR(parts->voucher_cache->forget(voucher));
  }
  return absl::OkStatus();
}
absl::StatusOr<std::size_t> Sale::delete_archived(VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto lanes, lanes_->all_of_voucher(voucher));
  std::size_t deleted = 0;
  for (Parts* const parts : lanes) {
    const auto of_lane = parts->archiving.delete_orders(voucher);
    parts->queued.clear();  // it would report them as queued
    if (!of_lane.ok()) return of_lane;
    deleted += *of_lane;
  }
  return deleted;
}

absl::StatusOr<OrderState> Sale::status(OrderId order) {
  ASSIGN_OR_RETURN(Parts* const parts, lanes_->of_order(order));
  return parts->lookup.find(order);
}
absl::StatusOr<std::vector<OrderState>> Sale::orders_of(const UserId& user) {
  return only_ != nullptr ? only_->lookup.list(user) : lanes_->orders_of(user);
}
absl::StatusOr<std::vector<OrderChange>> Sale::changes(std::int64_t after, std::size_t count_max) {
  PaymentStore* const payments = lanes_->stores().orders.payments();
  if (payments == nullptr) {
    return absl::FailedPreconditionError("the order store keeps no payments");
  }
  return payments->changes(after, count_max, {});
}
absl::StatusOr<std::vector<DeadLetter>> Sale::dead_letters(StreamId after, std::size_t count_max) {
  return list_dead_letters(lanes_->client(), lanes(), after, count_max);
}
absl::StatusOr<bool> Sale::retry_dead_letter(const std::string& id) {
  const LaneLetter letter = parse_letter_id(id);
  const auto lane = lanes_->at(letter.lane);
  if (absl::IsNotFound(lane.status())) return false;
  ASSIGN_OR_RETURN(Parts* const parts, lane);
  return retry_or_restore_letter(*parts->client, parts->options.keys, parts->vouchers, letter.id);
}
absl::StatusOr<bool> Sale::discard_dead_letter(const std::string& id, const std::string& why) {
  const LaneLetter letter = parse_letter_id(id);
  const auto lane = lanes_->at(letter.lane);
  if (absl::IsNotFound(lane.status())) return false;
  ASSIGN_OR_RETURN(Parts* const parts, lane);
  return rushgate::discard_dead_letter(*parts->client, parts->options.keys, letter.id, why);
}
absl::StatusOr<std::vector<DiscardedLetter>> Sale::discarded_letters(StreamId after,
                                                                     std::size_t count_max) {
  return list_discarded_letters(lanes_->client(), lanes(), after, count_max);
}
absl::StatusOr<AuditReport> Sale::audit(const OnAuditProgress& on_progress) {
  return audit_lanes(lanes_->client(), lanes_->stores(), lanes(), on_progress);
}
absl::StatusOr<AuditReport> Sale::repair(const OnAuditProgress& on_progress) {
  std::vector<std::string> repairs;
  std::vector<std::string> problems;
  const auto repair_lane = [&](const SaleLane& lane) -> absl::Status {
    ASSIGN_OR_RETURN(Parts* const parts, lanes_->at(lane.number));
    ASSIGN_OR_RETURN(const auto archived, parts->archiving.finish());
    ASSIGN_OR_RETURN(auto of_lane, rushgate::repair(*parts->client, parts->stores,
                                                    parts->options.keys, parts->vouchers));
    std::ranges::move(of_lane, std::back_inserter(repairs));
    for (const VoucherId voucher : archived) {
      repairs.push_back(concat("voucher ", voucher, ": removed its keys, it is archived"));
    }
    return absl::OkStatus();
  };
  for (const SaleLane& lane : lanes()) {
    absl::Status repaired = repair_lane(lane);
    if (repaired.ok()) continue;
    const bool is_away = absl::IsUnavailable(repaired) && problems.size() + 1 < lanes().size();
    if (!is_away) return repaired;
    problems.push_back(concat("the lane ", lane.number, " was not repaired: ", repaired.message()));
  }
  auto report = audit(on_progress);
  if (report.ok()) {
    report->repairs = std::move(repairs);
    std::ranges::move(problems, std::back_inserter(report->problems));
  }
  return report;
}

PurchaseStatistics Sale::purchases() const {
  if (only_ != nullptr) return only_->purchases.counters().read();
  PurchaseStatistics statistics;
  for (const auto& parts : lanes_->all()) {
    add_purchases(parts->purchases.counters().read(), statistics);
  }
  return statistics;
}
const SaleOptions& Sale::options() const { return lanes_->all().front()->options; }
std::span<const SaleLane> Sale::lanes() const { return lanes_->views(); }
absl::StatusOr<SaleLane> Sale::lane_of(VoucherId voucher) { return lanes_->view_of(voucher); }
absl::StatusOr<SaleLane> Sale::lane_of(VoucherId voucher, const UserId& user) {
  return lanes_->view_of_buyer(voucher, user);
}

std::vector<NamedScript> native_sale_scripts() {
  std::vector<NamedScript> scripts = payment_scripts::native();
  scripts.push_back({std::string(kNativeAdmission), native_admission()});
  scripts.push_back({std::string(kNativeKeyspaceRun), native_keyspace_run()});
  scripts.push_back({std::string(kNativeQueuedEntries), native_queued_entries()});
  return scripts;
}

}  // namespace rushgate
