#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/random_name.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/keyspace/keyspace_move.h"
#include "engine/sale/keyspace/keyspace_owner.h"
#include "engine/sale/keyspace/server_check.h"
#include "engine/sale/sale_parts.h"
#include "engine/sale/stores/lane_views.h"
#include "engine/sale/stream/backlog.h"
#include "engine/sale/stream/consumers.h"
#include "engine/sale/worker/order_worker_impl.h"
#include <rushgate/move_sale.h>
#include <rushgate/sale.h>

namespace rushgate {

/// One call of move_sale(), of one lane. Does not own its arguments, which must outlive it.
class SaleMove {
 public:
  /// What the lanes of one call share.
  struct Call {
    Backend& from;
    Backend& to;
    const MoveOptions& options;
    Client& from_client;
    Client& to_client;
    int lanes = 1;
    std::int64_t closed_at_ms = -1;  // monotonic; -1: by an earlier call
    MoveReport report = {};
  };

  SaleMove(Call& call, const SaleLane& from, const SaleLane& to, std::string_view identity)
      : call_(call),
        options_(call.options),
        stores_(from.stores),
        from_keys_(from.keys),
        to_keys_(to.keys),
        from_(call.from_client, from_keys_, identity),
        to_(call.to_client, to_keys_, identity) {}

  /// Looks where an earlier call has come, and refuses everything that is not the beginning of this move, or
  /// an interrupted one.
  absl::Status look() {
    RETURN_IF_ERROR(check(call_.from, call_.from_client, from_keys_));
    RETURN_IF_ERROR(check(call_.to, call_.to_client, to_keys_));
    ASSIGN_OR_RETURN(left_, from_.standing());
    ASSIGN_OR_RETURN(target_, to_.standing());
    return check_standings(left_, target_);
  }
  [[nodiscard]] bool is_done() const { return target_.kind == Standing::kSale; }
  [[nodiscard]] bool has_left() const { return left_.kind == Standing::kLeft; }

  /// Keeps other processes from opening the lane at the new place, before the old one is closed.
  absl::Status reserve() {
    if (target_.kind == Standing::kLeft) {
      ASSIGN_OR_RETURN(const auto vouchers, vouchers_in(call_.to_client, to_keys_));
      RETURN_IF_ERROR(to_.clear(vouchers));
    }
    RETURN_IF_ERROR(owner(call_.to, to_keys_, KeyspaceRole::kArriving)->verify(call_.to_client));
    return sync(call_.to_client, to_keys_);
  }
  /// Closes the admission.
  absl::Status begin_leaving() {
    if (left_.kind != Standing::kLeaving) {
      RETURN_IF_ERROR(
          owner(call_.from, from_keys_, KeyspaceRole::kSale)->verify(call_.from_client));
    }
    if (call_.closed_at_ms < 0) call_.closed_at_ms = call_.from.clock().monotonic_ms();
    RETURN_IF_ERROR(from_.begin_leaving(options_.to_name));
    ASSIGN_OR_RETURN(const auto vouchers, vouchers_in(call_.from_client, from_keys_));
    return from_.shut(vouchers);
  }
  /// Stores what is queued.
  absl::Status leave() {
    RETURN_IF_ERROR(drain());
    return sync(call_.from_client, from_keys_);  // what follows must not outlive this mark
  }
  /// Rebuilds the lane in the new keyspace, and opens it there.
  absl::Status arrive() {
    SaleOptions sale_options;
    sale_options.keys = to_keys_;
    sale_options.lanes = call_.lanes;
    sale_options.logger = options_.logger;
    Sale::Parts parts(call_.to, stores_, sale_options, KeyspaceRole::kArriving);
    RETURN_IF_ERROR(parts.open(call_.to, [this] { return copy(); }));
    begin("opening the sale");
    RETURN_IF_ERROR(to_.open());
    return sync(call_.to_client, to_keys_);
  }

 private:
  using Standing = KeyspaceStanding::Kind;

  absl::Status check(Backend& backend, Client& client, const SaleKeys& keys) const {
    const Capabilities capabilities = backend.capabilities();
    if (capabilities.runs_native_scripts) return absl::OkStatus();
    return check_server(client, keys, capabilities.has_slots, options_.logger.get());
  }

  static absl::Status sync(Client& client, const SaleKeys& keys) {
    const Reply synced = client.sync_of(keys.stream_owner());
    return synced.is_error() ? to_status(synced, "syncing the keyspace") : absl::OkStatus();
  }

  void begin(std::string_view step) const {
    if (options_.on_step) options_.on_step(step);
  }

  [[nodiscard]] absl::Status check_standings(const KeyspaceStanding& from,
                                             const KeyspaceStanding& to) const {
    const auto refuse = [&](std::string_view which, const KeyspaceStanding& standing) {
      const SaleKeys& keys = &standing == &from ? from_keys_ : to_keys_;
      return absl::FailedPreconditionError(
          concat(which, ": ", refuse_standing(standing, keys).message()));
    };
    constexpr std::string_view kOld = "the keyspace to leave";
    constexpr std::string_view kNew = "the keyspace to move to";
    if (from.kind == Standing::kAnothers || from.kind == Standing::kArriving) {
      return refuse(kOld, from);
    }
    if (to.kind == Standing::kAnothers || to.kind == Standing::kLeaving) return refuse(kNew, to);
    if (from.kind != Standing::kLeft) {
      return to.kind == Standing::kSale
                 ? absl::FailedPreconditionError(concat(kNew, " has this sale already"))
                 : absl::OkStatus();
    }
    if (from.moved_to != options_.to_name || to.kind == Standing::kLeft) {
      return refuse(to.kind == Standing::kLeft ? kNew : kOld,
                    to.kind == Standing::kLeft ? to : from);
    }
    if (to.kind != Standing::kEmpty) return absl::OkStatus();
    return absl::FailedPreconditionError(
        concat(kNew, " is empty, and ", options_.to_name,
               " was not: is it the same? If it lost its data, open the sale there: it is rebuilt, "
               "without dead letters and waiting lists"));
  }

  /// Stores everything in the order stream, also what other workers have read: they can acknowledge
  /// nothing any more. Then ends the leaving.
  absl::Status drain() {
    constexpr std::int64_t kWaitMs = 100;
    std::int64_t waited_ms = 0;
    const std::string consumer = concat("move-", random_name());
    while (true) {
      ASSIGN_OR_RETURN(const auto progress, store_queued(consumer));
      ASSIGN_OR_RETURN(const auto has_left, from_.finish_leaving(options_.to_name));
      if (has_left) return absl::OkStatus();
      if (progress.stored > 0) waited_ms = 0;
      if (waited_ms >= options_.patience_ms) {
        return absl::UnavailableError(
            progress.pause_reason.empty()
                ? concat("entries of ", from_keys_.order_stream, " cannot be stored yet")
                : concat("the queued orders cannot be stored: ", progress.pause_reason));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(kWaitMs));
      waited_ms += kWaitMs;
    }
  }

  struct Progress {
    std::size_t stored = 0;
    std::string pause_reason = {};
  };

  /// Stores what can be stored now.
  absl::StatusOr<Progress> store_queued(const std::string& consumer) {
    Progress progress;
    ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
    RETURN_IF_ERROR(adopt_pending(call_.from_client, from_keys_, state.identity,
                                  consumer_name(consumer, state.identity))
                        .status());
    WorkerOptions worker_options{.consumer = consumer, .trim = false, .logger = options_.logger};
    OrderWorker::Impl worker(call_.from, stores_, from_keys_, worker_options,
                             KeyspaceRole::kLeaving);
    while (true) {
      const OrderWorker::Step step = worker.step(/*block_ms=*/0);
      progress.stored += step.stored + step.changed;
      call_.report.stored += step.stored + step.changed;
      if (step.kind == OrderWorker::Step::Kind::kWorked) continue;
      progress.pause_reason = step.reason;
      return progress;
    }
  }

  /// Copies what the order database does not have. Once: later, waiting users may have been served.
  absl::Status copy() {
    ASSIGN_OR_RETURN(const auto standing, to_.standing());
    if (!standing.has_copies) {
      begin("copying dead letters and waiting lists");
      ASSIGN_OR_RETURN(const auto letters, to_.copy_letters_from(call_.from_client, from_keys_));
      ASSIGN_OR_RETURN(const auto vouchers, vouchers_in(call_.from_client, from_keys_));
      ASSIGN_OR_RETURN(const auto waiting,
                       to_.copy_waiting_lists_from(call_.from_client, from_keys_, vouchers));
      call_.report.letters += letters;
      call_.report.waiting += waiting;
      RETURN_IF_ERROR(to_.note_copied());
    }
    begin("rebuilding the vouchers");
    return absl::OkStatus();
  }

  /// Returns the vouchers that either store knows.
  absl::StatusOr<std::vector<VoucherId>> vouchers_in(Client& client, const SaleKeys& keys) const {
    std::set<VoucherId> ids;
    const Reply members = client("SMEMBERS", keys.vouchers());
    if (!members.is_aggregate()) return to_status(members, "looking for the vouchers");
    for (const Reply& member : members.elements()) {
      if (const auto id = parse_int64(member.text())) ids.insert(*id);
    }
    ASSIGN_OR_RETURN(const auto in_force, stores_.vouchers.all_applied());
    for (const VoucherVersion& version : in_force) ids.insert(version.voucher.id);
    ASSIGN_OR_RETURN(const auto pending, stores_.vouchers.pending());
    for (const VoucherVersion& version : pending) ids.insert(version.voucher.id);
    return std::vector<VoucherId>(ids.begin(), ids.end());
  }

  [[nodiscard]] std::unique_ptr<KeyspaceOwner> owner(Backend& backend, const SaleKeys& keys,
                                                     KeyspaceRole role) const {
    return std::make_unique<KeyspaceOwner>(
        stores_, keys,
        KeyspaceOwner::Options{.is_shared = !backend.capabilities().runs_native_scripts,
                               .role = role,
                               .logger = options_.logger});
  }

  Call& call_;
  const MoveOptions& options_;
  const SaleStores stores_;
  const SaleKeys from_keys_;
  const SaleKeys to_keys_;
  KeyspaceMove from_;
  KeyspaceMove to_;
  KeyspaceStanding left_;    // as look() saw it
  KeyspaceStanding target_;  // as look() saw it
};

namespace {

SaleKeys keys_on(const Backend& backend, const MoveOptions& options) {
  return backend.capabilities().has_slots ? options.keys.on_cluster() : options.keys;
}

/// Moves all lanes. No lane is open in the new keyspace before all are closed in the old one.
absl::Status move_lanes(std::span<const std::unique_ptr<SaleMove>> lanes,
                        const MoveOptions& options) {
  const auto begin = [&](std::string_view step) {
    if (options.on_step) options.on_step(step);
  };
  const bool is_left = std::ranges::all_of(lanes, &SaleMove::has_left);
  if (!is_left) begin("reserving the new keyspace");
  for (const auto& lane : lanes) {
    if (!lane->has_left()) RETURN_IF_ERROR(lane->reserve());
  }
  if (!is_left) begin("closing the admission");
  for (const auto& lane : lanes) {
    if (!lane->has_left()) RETURN_IF_ERROR(lane->begin_leaving());
  }
  if (!is_left) begin("storing the queued orders");
  for (const auto& lane : lanes) {
    if (!lane->has_left()) RETURN_IF_ERROR(lane->leave());
  }
  for (const auto& lane : lanes) {
    if (!lane->is_done()) RETURN_IF_ERROR(lane->arrive());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MoveReport> move_sale(Backend& from, Backend& to, const SaleStores& stores,
                                     const MoveOptions& options) {
  for (Backend* const backend : {&from, &to}) backend->add_native_scripts(native_sale_scripts());
  ASSIGN_OR_RETURN(const auto from_lanes, LaneViews::open(stores, keys_on(from, options)));
  ASSIGN_OR_RETURN(const auto to_lanes, LaneViews::open(stores, keys_on(to, options)));
  ASSIGN_OR_RETURN(const auto state, stores.orders.state());
  const std::unique_ptr<Client> from_client = from.open_client();
  const std::unique_ptr<Client> to_client = to.open_client();
  SaleMove::Call call{.from = from,
                      .to = to,
                      .options = options,
                      .from_client = *from_client,
                      .to_client = *to_client,
                      .lanes = static_cast<int>(from_lanes->all().size())};
  if (from_lanes->all().size() != to_lanes->all().size()) {
    return absl::UnavailableError("lanes were added meanwhile");
  }
  std::vector<std::unique_ptr<SaleMove>> lanes;
  for (std::size_t i = 0; i < from_lanes->all().size(); ++i) {
    lanes.push_back(
        std::make_unique<SaleMove>(call, from_lanes->all()[i], to_lanes->all()[i], state.identity));
    RETURN_IF_ERROR(lanes.back()->look());
  }
  call.report.was_done = std::ranges::all_of(lanes, &SaleMove::is_done);
  RETURN_IF_ERROR(move_lanes(lanes, options));
  if (call.closed_at_ms >= 0)
    call.report.pause_ms = from.clock().monotonic_ms() - call.closed_at_ms;
  return call.report;
}

}  // namespace rushgate
