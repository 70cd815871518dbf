#include "adapters/flash_sale/sale_reader.h"

#include <span>
#include <string>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/audit/audit.h"
#include "engine/sale/orders/order_lookup.h"
#include "engine/sale/stores/lane_views.h"
#include "engine/sale/stream/queued_orders.h"
#include "engine/sale/voucher_summary.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>

namespace rushgate {

/// The keyspace at one moment, at which its clock stands still: what was admitted later is later for the
/// audit, too.
struct SaleReader::Keyspace {
  Keyspace(std::unique_ptr<ManualClock> its_clock, std::unique_ptr<Engine> its_engine,
           std::span<const SaleLane> lanes)
      : clock(std::move(its_clock)), engine(std::move(its_engine)), client(engine->open_client()) {
    for (const SaleLane& lane : lanes) {
      queued.push_back(std::make_unique<QueuedOrders>(*client, lane.keys,
                                                      engine->capabilities().runs_native_scripts));
      lookups.push_back(
          std::make_unique<OrderLookup>(*client, lane.stores, lane.keys, *queued.back()));
    }
  }

  const std::unique_ptr<ManualClock> clock;
  const std::unique_ptr<Engine> engine;
  const std::unique_ptr<Client> client;
  // Of each lane:
  std::vector<std::unique_ptr<QueuedOrders>> queued;
  std::vector<std::unique_ptr<OrderLookup>> lookups;
};

namespace {

/// The client of the keyspace that was read last.
class NewestClient final : public Client {
 public:
  explicit NewestClient(const SaleReader& reader) : reader_(reader) {}

  void submit(Request request, Completion completion) override {
    reader_.client().submit(std::move(request), std::move(completion));
  }
  Reply call(Request request) override { return reader_.client().call(std::move(request)); }
  std::vector<Reply> pipeline(std::span<const Request> requests) override {
    return reader_.client().pipeline(requests);
  }
  void unblock() override { reader_.client().unblock(); }
  Reply sync() override { return reader_.client().sync(); }
  Reply sync_of(std::string_view key) override { return reader_.client().sync_of(key); }
  [[nodiscard]] Request script_request(const Script& script, std::span<const std::string_view> keys,
                                       std::span<const std::string_view> arguments) const override {
    return reader_.client().script_request(script, keys, arguments);
  }

 private:
  const SaleReader& reader_;
};

}  // namespace

SaleReader::SaleReader(std::unique_ptr<RocksDbReader> store, std::unique_ptr<OrderStore> orders)
    : store_(std::move(store)), orders_(std::move(orders)) {}

SaleReader::~SaleReader() = default;

absl::StatusOr<std::unique_ptr<SaleReader>> SaleReader::open(
    const std::filesystem::path& keyspace, std::unique_ptr<OrderStore> orders,
    const std::shared_ptr<spdlog::logger>& logger) {
  ASSIGN_OR_RETURN(auto store, RocksDbReader::open(keyspace, {.logger = logger}));
  std::unique_ptr<SaleReader> reader(new SaleReader(std::move(store), std::move(orders)));
  ASSIGN_OR_RETURN(reader->lanes_, LaneViews::open(SaleStores(*reader->orders_), SaleKeys{}));
  RETURN_IF_ERROR(reader->refresh());
  return reader;
}

absl::Status SaleReader::refresh() {
  keyspace_.reset();
  auto clock = std::make_unique<ManualClock>(SystemClock().now_ms());
  ASSIGN_OR_RETURN(auto store, store_->read());
  EngineOptions options;
  options.manual_clock = clock.get();
  ASSIGN_OR_RETURN(auto engine, Engine::open(std::move(store), options, native_sale_scripts()));
  keyspace_ = std::make_unique<Keyspace>(std::move(clock), std::move(engine), lanes());
  return check_owner();
}

absl::Status SaleReader::check_owner() {
  ASSIGN_OR_RETURN(const auto state, orders_->state());
  const Reply owner = client()("GET", lanes().front().keys.prefix_owner());
  if (owner.is_error()) return to_status(owner, "reading the keyspace's owner");
  if (owner.is_nil() || owner.text() == state.identity) return absl::OkStatus();
  return absl::InvalidArgumentError("the keyspace belongs to another order database");
}

std::span<const SaleLane> SaleReader::lanes() const { return lanes_->all(); }

Client& SaleReader::client() const { return *keyspace_->client; }

absl::StatusOr<OrderState> SaleReader::status(OrderId order) {
  ASSIGN_OR_RETURN(const int lane, lanes_->of_order(order));
  return keyspace_->lookups[static_cast<std::size_t>(lane)]->find(order);
}

absl::StatusOr<std::vector<VoucherSummary>> SaleReader::vouchers() {
  return summarize_all(client(), lanes());
}

absl::StatusOr<AuditReport> SaleReader::audit(const OnAuditProgress& on_progress) {
  NewestClient newest(*this);
  return audit_lanes(newest, lanes_->stores(), lanes(), on_progress, [this] { return refresh(); });
}

}  // namespace rushgate
