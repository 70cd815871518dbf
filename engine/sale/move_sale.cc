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
#include "engine/sale/stream/backlog.h"
#include "engine/sale/stream/consumers.h"
#include "engine/sale/worker/order_worker_impl.h"
#include <rushgate/move_sale.h>
#include <rushgate/sale.h>

namespace rushgate {

/// One call of move_sale(). Does not own its arguments, which must outlive it.
class SaleMove {
 public:
  SaleMove(Backend& from, Backend& to, const SaleStores& stores, const MoveOptions& options)
      : from_(from),
        to_(to),
        stores_(stores),
        options_(options),
        from_client_(from.open_client()),
        to_client_(to.open_client()) {}

  absl::StatusOr<MoveReport> run() {
    for (Backend* const backend : {&from_, &to_}) {
      backend->add_native_scripts(native_sale_scripts());
    }
    RETURN_IF_ERROR(check_lanes());
    RETURN_IF_ERROR(check(from_, *from_client_));
    RETURN_IF_ERROR(check(to_, *to_client_));
    ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
    KeyspaceMove from(*from_client_, options_.keys, state.identity);
    KeyspaceMove to(*to_client_, options_.keys, state.identity);
    ASSIGN_OR_RETURN(const auto left, from.standing());
    ASSIGN_OR_RETURN(const auto target, to.standing());
    RETURN_IF_ERROR(check_standings(left, target));
    if (target.kind == Standing::kSale) {
      report_.was_done = true;
      return report_;
    }
    if (left.kind != Standing::kLeft) {
      RETURN_IF_ERROR(reserve(to, target));
      RETURN_IF_ERROR(leave(from, left));
    }
    RETURN_IF_ERROR(arrive(to));
    return report_;
  }

 private:
  using Standing = KeyspaceStanding::Kind;

  [[nodiscard]] absl::Status check_lanes() const {
    LaneStore* const lanes = stores_.orders.lanes();
    if (lanes == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const int count, lanes->count_lanes());
    if (count == 1) return absl::OkStatus();
    return absl::UnimplementedError(
        concat("the sale has ", count, " lanes: only one with a single lane can be moved"));
  }

  absl::Status check(Backend& backend, Client& client) const {
    const Capabilities capabilities = backend.capabilities();
    if (capabilities.runs_native_scripts) return absl::OkStatus();
    return check_server(client, options_.keys, capabilities.has_slots, options_.logger.get());
  }

  static absl::Status sync(Client& client) {
    const Reply synced = client.sync();
    return synced.is_error() ? to_status(synced, "syncing the keyspace") : absl::OkStatus();
  }

  void begin(std::string_view step) const {
    if (options_.on_step) options_.on_step(step);
  }

  /// Refuses everything that is not the beginning of this move, or an interrupted one.
  [[nodiscard]] absl::Status check_standings(const KeyspaceStanding& from,
                                             const KeyspaceStanding& to) const {
    const auto refuse = [&](std::string_view which, const KeyspaceStanding& standing) {
      return absl::FailedPreconditionError(
          concat(which, ": ", refuse_standing(standing, options_.keys).message()));
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

  /// Keeps other processes from opening the sale at the new place, before the old one is closed.
  absl::Status reserve(KeyspaceMove& to, const KeyspaceStanding& target) {
    begin("reserving the new keyspace");
    if (target.kind == Standing::kLeft) {
      ASSIGN_OR_RETURN(const auto vouchers, vouchers_in(*to_client_));
      RETURN_IF_ERROR(to.clear(vouchers));
    }
    RETURN_IF_ERROR(owner(to_, KeyspaceRole::kArriving)->verify(*to_client_));
    return sync(*to_client_);
  }

  absl::Status leave(KeyspaceMove& from, const KeyspaceStanding& left) {
    begin("closing the admission");
    if (left.kind != Standing::kLeaving) {
      RETURN_IF_ERROR(owner(from_, KeyspaceRole::kSale)->verify(*from_client_));
    }
    closed_at_ms_ = from_.clock().monotonic_ms();
    RETURN_IF_ERROR(from.begin_leaving(options_.to_name));
    ASSIGN_OR_RETURN(const auto vouchers, vouchers_in(*from_client_));
    RETURN_IF_ERROR(from.shut(vouchers));
    begin("storing the queued orders");
    RETURN_IF_ERROR(drain(from));
    return sync(*from_client_);  // what follows must not outlive this mark
  }

  /// Stores everything in the order stream, also what other workers have read: they can acknowledge
  /// nothing any more. Then ends the leaving.
  absl::Status drain(KeyspaceMove& from) {
    constexpr std::int64_t kWaitMs = 100;
    std::int64_t waited_ms = 0;
    const std::string consumer = concat("move-", random_name());
    while (true) {
      ASSIGN_OR_RETURN(const auto progress, store_queued(consumer));
      ASSIGN_OR_RETURN(const auto has_left, from.finish_leaving(options_.to_name));
      if (has_left) return absl::OkStatus();
      if (progress.stored > 0) waited_ms = 0;
      if (waited_ms >= options_.patience_ms) {
        return absl::UnavailableError(
            progress.pause_reason.empty()
                ? concat("entries of ", options_.keys.order_stream, " cannot be stored yet")
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
    RETURN_IF_ERROR(adopt_pending(*from_client_, options_.keys, state.identity,
                                  consumer_name(consumer, state.identity))
                        .status());
    WorkerOptions worker_options{.consumer = consumer, .trim = false, .logger = options_.logger};
    OrderWorker::Impl worker(from_, stores_, options_.keys, worker_options, KeyspaceRole::kLeaving);
    while (true) {
      const OrderWorker::Step step = worker.step(/*block_ms=*/0);
      progress.stored += step.stored + step.changed;
      report_.stored += step.stored + step.changed;
      if (step.kind == OrderWorker::Step::Kind::kWorked) continue;
      progress.pause_reason = step.reason;
      return progress;
    }
  }

  absl::Status arrive(KeyspaceMove& to) {
    SaleOptions sale_options;
    sale_options.keys = options_.keys;
    sale_options.logger = options_.logger;
    Sale::Parts parts(to_, stores_, sale_options, KeyspaceRole::kArriving);
    RETURN_IF_ERROR(parts.open(to_, [&] { return copy(to); }));
    begin("opening the sale");
    RETURN_IF_ERROR(to.open());
    if (closed_at_ms_ >= 0) report_.pause_ms = from_.clock().monotonic_ms() - closed_at_ms_;
    return sync(*to_client_);
  }

  /// Copies what the order database does not have. Once: later, waiting users may have been served.
  absl::Status copy(KeyspaceMove& to) {
    ASSIGN_OR_RETURN(const auto standing, to.standing());
    if (!standing.has_copies) {
      begin("copying dead letters and waiting lists");
      ASSIGN_OR_RETURN(report_.letters, to.copy_letters_from(*from_client_));
      ASSIGN_OR_RETURN(const auto vouchers, vouchers_in(*from_client_));
      ASSIGN_OR_RETURN(report_.waiting, to.copy_waiting_lists_from(*from_client_, vouchers));
      RETURN_IF_ERROR(to.note_copied());
    }
    begin("rebuilding the vouchers");
    return absl::OkStatus();
  }

  /// Returns the vouchers that either store knows.
  absl::StatusOr<std::vector<VoucherId>> vouchers_in(Client& client) const {
    std::set<VoucherId> ids;
    const Reply members = client("SMEMBERS", options_.keys.vouchers());
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

  [[nodiscard]] std::unique_ptr<KeyspaceOwner> owner(Backend& backend, KeyspaceRole role) const {
    return std::make_unique<KeyspaceOwner>(
        stores_, options_.keys,
        KeyspaceOwner::Options{.is_shared = !backend.capabilities().runs_native_scripts,
                               .role = role,
                               .logger = options_.logger});
  }

  Backend& from_;
  Backend& to_;
  const SaleStores stores_;
  const MoveOptions& options_;
  const std::unique_ptr<Client> from_client_;
  const std::unique_ptr<Client> to_client_;
  std::int64_t closed_at_ms_ = -1;  // monotonic; -1: by an earlier call
  MoveReport report_;
};

absl::StatusOr<MoveReport> move_sale(Backend& from, Backend& to, const SaleStores& stores,
                                     const MoveOptions& options) {
  return SaleMove(from, to, stores, options).run();
}

}  // namespace rushgate
