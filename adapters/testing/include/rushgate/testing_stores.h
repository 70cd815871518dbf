// Stores and a network that fail on request. Each wraps a real one, so the code under test needs no
// change. docs/testing-with-rushgate.md has examples.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/store.h>

namespace rushgate {
namespace faults {

// ---- Base classes, for a fault or a store of your own ----

/// Forwards to another client, which it owns.
class ForwardingClient : public Client {
 public:
  explicit ForwardingClient(std::unique_ptr<Client> client) : client_(std::move(client)) {}

  void submit(Request request, Completion completion) override {
    client_->submit(std::move(request), std::move(completion));
  }
  Reply call(Request request) override { return client_->call(std::move(request)); }
  std::vector<Reply> pipeline(std::span<const Request> requests) override {
    return client_->pipeline(requests);
  }
  void unblock() override { client_->unblock(); }
  Reply sync() override { return client_->sync(); }
  Reply sync_of(std::string_view key) override { return client_->sync_of(key); }
  [[nodiscard]] bool inside_callback() const override { return client_->inside_callback(); }
  [[nodiscard]] Request script_request(const Script& script, std::span<const std::string_view> keys,
                                       std::span<const std::string_view> arguments) const override {
    return client_->script_request(script, keys, arguments);
  }

 protected:
  [[nodiscard]] Client& client() const { return *client_; }

 private:
  const std::unique_ptr<Client> client_;
};

/// Forwards to another backend, which must outlive it.
class ForwardingBackend : public Backend {
 public:
  explicit ForwardingBackend(Backend& inner) : inner_(inner) {}

  using Backend::open_client;
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override {
    return inner_.open_client(options);
  }
  [[nodiscard]] const Clock& clock() const override { return inner_.clock(); }
  [[nodiscard]] Scheduler& scheduler() override { return inner_.scheduler(); }
  [[nodiscard]] absl::Status health() const override { return inner_.health(); }
  [[nodiscard]] Capabilities capabilities() const override { return inner_.capabilities(); }
  void add_native_scripts(std::span<const NamedScript> scripts) override {
    inner_.add_native_scripts(scripts);
  }
  void add_connection_check(std::weak_ptr<const ConnectionCheck> check) override {
    inner_.add_connection_check(std::move(check));
  }

 private:
  Backend& inner_;
};

// ---- A network that loses, delays and repeats requests and replies ----

/// Forwards every call to another store, which it owns. A base class for stores that count, copy or
/// change writes.
class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  absl::Status load(
      absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) override {
    return store_->load(visit);
  }
  absl::Status commit(const StoreBatch& batch) override { return store_->commit(batch); }
  absl::Status sync() override { return store_->sync(); }
  absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max,
                           std::vector<StreamSegment>& segments) override {
    return store_->read_stream(stream, from, to, bytes_max, segments);
  }
  absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                std::size_t bytes_max,
                                std::vector<StreamSegment>& segments) override {
    return store_->read_stream_back(stream, from, to, bytes_max, segments);
  }
  absl::Status find_last_stream(std::uint64_t& stream) override {
    return store_->find_last_stream(stream);
  }
  [[nodiscard]] Durability durability() const override { return store_->durability(); }
  [[nodiscard]] bool keeps_state() const override { return store_->keeps_state(); }
  [[nodiscard]] std::size_t memory_bytes() const override { return store_->memory_bytes(); }

 protected:
  [[nodiscard]] Store& store() const { return *store_; }

 private:
  const std::unique_ptr<Store> store_;
};

/// Forwards requests to another backend, with the faults that a test chooses. Thread-safe if the
/// test's functions are.
class FaultyBackend final : public ForwardingBackend {
 public:
  enum class Fault : std::uint8_t {
    kNone,
    kRequestLost,  // is not executed; the reply is CLOSED
    kRequestLate,  // is not executed, unless the test does so later; the reply is OUTCOMEUNKNOWN
    kReplyLost,    // is executed; the reply is OUTCOMEUNKNOWN
    kReplyLate,    // is executed; the caller gets the reply after before_late_reply()
    kSentTwice,    // is executed twice; the caller gets the second reply
  };
  /// Chooses the fault of a request, on the thread that makes the request.
  using Choose = std::function<Fault(const Request&)>;
  /// Runs between the execution of a request and its late reply, on the thread that gets the reply.
  using BeforeLateReply = std::function<void(const Request&)>;

  /// `inner` must outlive this.
  FaultyBackend(Backend& inner, Choose choose, BeforeLateReply before_late_reply = {});

  using Backend::open_client;
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override;

 private:
  const Choose choose_;
  const BeforeLateReply before_late_reply_;
};

/// Returns "none", "request lost", "request late", "reply lost", "reply late" or "sent twice".
std::string_view fault_name(FaultyBackend::Fault fault);

// ---- A store that fails ----

/// Forwards to another store, except for the requested failures. Thread-safe.
class FaultyStore final : public Store {
 public:
  enum class Point : std::uint8_t { kBeforeCommit, kAfterCommit, kBeforeSync, kAfterSync };

  /// Says if a failed commit or sync took effect. The error does not show it.
  enum class Kept : std::uint8_t { kNo, kYes };

  explicit FaultyStore(std::unique_ptr<Store> store);
  /// `store` must outlive this one.
  explicit FaultyStore(Store& store);

  /// Fails the `nth` commit or sync from now on (1 is the next), and no later one. Throws
  /// std::invalid_argument if `nth` is less than 1.
  void fail_commit(int nth, Kept kept, absl::Status error = default_error());
  void fail_sync(int nth, Kept kept, absl::Status error = default_error());
  /// Fails all reads from now on, until called with OK. fail_loads() does the same for load().
  void fail_reads(absl::Status error = default_error());
  void fail_loads(absl::Status error = default_error());

  /// Sets a hook that runs at every point, on the thread that commits or syncs. It may kill the
  /// process. Points after a failed commit or sync are skipped. Set it before other threads use the
  /// store.
  void at_every_point(std::function<void(Point)> hook);

  /// Returns the number of calls so far, failed ones included.
  [[nodiscard]] int commits() const;
  [[nodiscard]] int syncs() const;

  absl::Status load(
      absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) override;
  absl::Status commit(const StoreBatch& batch) override;
  absl::Status sync() override;
  absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max,
                           std::vector<StreamSegment>& segments) override;
  absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                std::size_t bytes_max,
                                std::vector<StreamSegment>& segments) override;
  absl::Status find_last_stream(std::uint64_t& stream) override;
  [[nodiscard]] Durability durability() const override { return store_.durability(); }
  [[nodiscard]] bool keeps_state() const override { return store_.keeps_state(); }
  [[nodiscard]] std::size_t memory_bytes() const override { return store_.memory_bytes(); }

  static absl::Status default_error() { return absl::UnavailableError("injected fault"); }

 private:
  struct Fault {
    int at;  // the number of the call
    Kept kept;
    absl::Status error;
  };
  struct Calls {
    int count = 0;
    std::optional<Fault> fault;

    std::optional<Fault> next();
  };

  absl::Status run(Calls& calls, Point before, Point after, absl::FunctionRef<absl::Status()> call);
  absl::Status read_error() const;

  const std::unique_ptr<Store> owned_;
  Store& store_;
  std::function<void(Point)> hook_;

  mutable std::mutex mutex_;  // guards the members below
  Calls commits_;
  Calls syncs_;
  absl::Status read_error_;
  absl::Status load_error_;
};

/// Returns "before commit", "after commit", "before sync" or "after sync".
std::string_view point_name(FaultyStore::Point point);
/// Returns "kept" or "not kept".
std::string_view kept_name(FaultyStore::Kept kept);

// ---- An order store that fails ----

/// Forwards to another store, except for the failures that were requested. Thread-safe, except
/// where a method says otherwise.
class FaultyOrderStore : public OrderStore,
                         public PaymentStore,
                         public VoucherStore,
                         public LaneStore {
 public:
  enum class Point : std::uint8_t { kBeforeWrite, kAfterWrite, kBeforeList };

  /// Says if a failed write was forwarded. kNo is the promise of order_store.h. kYes is a database
  /// on another machine whose reply was lost.
  enum class Kept : std::uint8_t { kNo, kYes };

  /// The effect of an order that poisons its batch.
  enum class Poison : std::uint8_t {
    kFailsTheBatch,    // kInvalidArgument, nothing is stored; a batch without the order succeeds
    kFailsAsAnOutage,  // kUnavailable, nothing is stored
    kThrows,           // nothing is stored
    kIsRefused,        // the order alone; the others are forwarded
  };

  explicit FaultyOrderStore(std::unique_ptr<OrderStore> store);
  /// `store` must outlive this one.
  explicit FaultyOrderStore(OrderStore& store);

  // Here a write is a call of write(), apply() or record_moved().

  /// Fails the `nth` write from now on, 1 being the next, and none after it.
  void fail_write(int nth, Kept kept = Kept::kNo, absl::Status error = default_error());
  /// Fails every write from now on, until called with OK.
  void fail_writes(absl::Status error = default_error());
  /// Fails find(), list(), greatest_id(), count_live(), count_by_status(), vouchers_with_orders(),
  /// visit_keys(), check_integrity() and every read of payments, changes, vouchers and their lanes, until
  /// called with OK.
  void fail_reads(absl::Status error = default_error());
  /// Fails record_pending(), resolve(), put_on_lane(), fence() of any lane and record_checkpoint(), until
  /// called with OK.
  void fail_voucher_writes(absl::Status error = default_error());

  /// Poisons the orders for which `is_poison` returns true, and the events with them
  /// (OrderEvent::order), until called with an empty predicate.
  void poison(std::function<bool(const Order&)> is_poison, Poison kind = Poison::kFailsTheBatch);

  /// Continues with a standby, which may lack what this one has stored lately, in a new session
  /// (DatabaseState). It must outlive this one, and is no copy in the sense of DatabaseInstance. No
  /// other thread may use the store meanwhile.
  void fail_over_to(OrderStore& standby);

  /// Sets a hook that runs around every write and before every list(), on the calling thread. It
  /// may kill the process. kAfterWrite is left out after a failed write. Set it before other
  /// threads use the store.
  void at_every_point(std::function<void(Point)> hook);

  /// Sets a hook that runs before every call that fail_reads() can fail, on the calling thread. It
  /// may use this store, which runs it again. Set it before other threads use the store.
  void before_every_read(std::function<void()> hook);

  /// Returns the number of writes so far, failed ones included.
  [[nodiscard]] int writes() const;
  /// Returns the number of calls of state() so far.
  [[nodiscard]] int states_read() const { return states_read_; }

  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::optional<Order>> find(OrderId id) override;
  absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) override;
  absl::StatusOr<OrderId> greatest_id(OrderId below) override;
  absl::StatusOr<std::int64_t> count_live(VoucherId voucher) override;
  absl::StatusOr<OrderCounts> count_by_status(std::optional<VoucherId> voucher) override;
  absl::StatusOr<std::vector<VoucherId>> vouchers_with_orders() override;
  absl::Status visit_keys(std::int64_t time_ms, VisitPortion visit) override;
  absl::Status check_integrity() override;
  /// Returns this if the other store keeps vouchers.
  VoucherStore* vouchers() override { return inner_->orders.vouchers() ? this : nullptr; }
  /// Returns this if the other store keeps payments. Otherwise no function of PaymentStore may be
  /// called.
  PaymentStore* payments() override { return inner_->orders.payments() ? this : nullptr; }
  /// Returns the other store's archive, to which nothing is injected.
  ArchiveStore* archive() override { return inner_->orders.archive(); }
  /// Returns this if the other store has lanes. Otherwise no function of LaneStore may be called.
  LaneStore* lanes() override { return inner_->orders.lanes() ? this : nullptr; }
  [[nodiscard]] bool takes_user_names() const override { return inner_->orders.takes_user_names(); }

  absl::StatusOr<std::vector<OrderResult>> apply(std::span<const OrderEvent> events,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::optional<Payment>> find_payment(std::string_view id) override;
  absl::StatusOr<std::vector<Payment>> list_payments(const PaymentFilter& filter) override;
  absl::StatusOr<std::vector<OrderChange>> changes(std::int64_t after, std::size_t count_max,
                                                   std::optional<OrderId> order) override;
  absl::StatusOr<std::int64_t> last_position() override;

  absl::StatusOr<DatabaseInstance> instance() override {
    return session_ > 0 ? DatabaseInstance{} : inner_->orders.instance();
  }
  absl::StatusOr<DatabaseState> state() override {
    ++states_read_;
    return in_session(inner_->orders.state());
  }
  absl::StatusOr<DatabaseState> fence() override;
  absl::Status record_checkpoint(const BatchFence& fence) override;
  absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                           std::int64_t count) override;

  absl::StatusOr<int> count_lanes() override { return inner_->orders.lanes()->count_lanes(); }
  absl::Status add_lanes(int count) override { return inner_->orders.lanes()->add_lanes(count); }
  absl::StatusOr<DatabaseState> state_of(int lane) override {
    ++states_read_;
    return in_session(inner_->orders.lanes()->state_of(lane));
  }
  absl::StatusOr<DatabaseState> fence_lane(int lane) override;
  absl::StatusOr<std::int64_t> reserve_ids_of(int lane, std::int64_t day, std::int64_t above,
                                              std::int64_t count) override {
    return inner_->orders.lanes()->reserve_ids_of(lane, day, above, count);
  }
  absl::StatusOr<std::optional<int>> lane_of(VoucherId voucher) override;
  absl::StatusOr<std::map<VoucherId, int>> voucher_lanes() override;
  absl::StatusOr<int> put_on_lane(VoucherId voucher, int lane) override;
  absl::StatusOr<std::vector<MovedPieces>> moved_pieces(VoucherId voucher) override;
  absl::Status record_moved(const MovedPieces& moved, const BatchFence& fence) override;

  absl::Status record_pending(const VoucherVersion& version) override;
  absl::Status resolve(VoucherId voucher, std::int64_t version, VoucherVersion::State state,
                       const std::string& reason) override;
  absl::StatusOr<std::vector<VoucherVersion>> versions(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherVersion>> all_versions() override;
  absl::StatusOr<std::vector<VoucherVersion>> pending() override;
  absl::StatusOr<std::optional<VoucherVersion>> latest(VoucherId voucher) override;
  absl::StatusOr<std::optional<VoucherVersion>> applied(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherVersion>> all_applied() override;

  static absl::Status default_error() { return absl::UnavailableError("injected fault"); }

 private:
  std::atomic<int> states_read_ = 0;
  using Results = std::vector<OrderResult>;
  struct Fault {
    int at = 0;  // number of the write
    Kept kept = Kept::kNo;
    absl::Status error;
  };
  /// The faults of one write.
  struct Plan {
    std::optional<Fault> fault;
    std::function<bool(const Order&)> is_poison;
    Poison kind = Poison::kFailsTheBatch;
  };

  absl::StatusOr<DatabaseState> in_session(absl::StatusOr<DatabaseState> state) const {
    if (state.ok()) state->session += session_;
    return state;
  }
  [[nodiscard]] BatchFence forwarded(BatchFence fence) const;
  Plan next_write();
  // `write` takes the plan of this write, and returns a status or a value with one.
  template <class Write>
  auto write_as_planned(Write write) -> decltype(write(std::declval<Plan>()));
  // Item is Order or OrderEvent. `forward` writes items to the other store.
  template <class Item, class Forward>
  absl::StatusOr<Results> write_items(std::span<const Item> items, Forward forward);
  template <class Item, class Forward>
  static absl::StatusOr<Results> write_poisoned(std::span<const Item> items, const Plan& plan,
                                                Forward forward);
  absl::Status read_error() const;
  absl::Status voucher_write_error() const;

  const std::unique_ptr<OrderStore> owned_;
  std::optional<SaleStores> inner_;  // never empty
  std::int64_t session_ = 0;
  std::function<void(Point)> hook_;
  std::function<void()> read_hook_;

  mutable std::mutex mutex_;  // guards the members below
  int writes_ = 0;
  Plan plan_;
  absl::Status write_error_;
  absl::Status read_error_;
  absl::Status voucher_write_error_;
};

/// Returns "before write", "after write" or "before list".
std::string_view point_name(FaultyOrderStore::Point point);
/// Returns "kept" or "not kept".
std::string_view kept_name(FaultyOrderStore::Kept kept);
/// Returns "fails the batch", "fails as an outage", "throws" or "is refused".
std::string_view poison_name(FaultyOrderStore::Poison poison);

}  // namespace faults

// ---- Orders without a worker ----

/// Returns the fence of a batch that was just read, with stock for any number of these orders. If
/// the store keeps the vouchers too, publishes those without a version first.
inline absl::StatusOr<BatchFence> ample_fence(OrderStore& store, std::span<const Order> orders) {
  constexpr std::int64_t kAmple = std::int64_t{1} << 40;
  const auto state = store.state();
  if (!state.ok()) return state.status();
  BatchFence fence{
      .epoch = state->epoch, .checkpoint = state->checkpoint, .session = state->session};
  VoucherStore* const vouchers = store.vouchers();
  if (vouchers == nullptr) {
    fence.stock.emplace();
    for (const Order& order : orders) fence.stock->emplace(order.voucher, kAmple);
    return fence;
  }
  for (const Order& order : orders) {
    const auto latest = vouchers->latest(order.voucher);
    if (!latest.ok()) return latest.status();
    if (latest->has_value()) continue;
    const absl::Status recorded = vouchers->record_pending(
        {.voucher = {.id = order.voucher, .stock = kAmple, .end_ms = 1}, .version = 1});
    if (!recorded.ok()) return recorded;
  }
  return fence;
}

/// Writes a batch as a worker does that has just read it, with stock for any number of orders.
inline absl::StatusOr<std::vector<OrderResult>> write_now(OrderStore& store,
                                                          std::span<const Order> orders) {
  const auto fence = ample_fence(store, orders);
  if (!fence.ok()) return fence.status();
  return store.write(orders, *fence);
}

/// Applies events in the same way. The store must keep payments.
inline absl::StatusOr<std::vector<OrderResult>> apply_now(OrderStore& store,
                                                          std::span<const OrderEvent> events) {
  std::vector<Order> admitted;
  for (const OrderEvent& event : events) {
    if (event.kind == OrderEvent::Kind::kAdmitted) admitted.push_back(event.order);
  }
  const auto fence = ample_fence(store, admitted);
  if (!fence.ok()) return fence.status();
  return store.payments()->apply(events, *fence);
}

}  // namespace rushgate
