#include "apps/watch/sale_watch.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/holds/holds.h"
#include <rushgate/open_backend.h>
#include <rushgate/sale_keys.h>

namespace rushgate {
absl::StatusOr<std::unique_ptr<SaleWatch>> SaleWatch::open(const SaleArguments& arguments,
                                                           std::optional<VoucherId> voucher) {
  std::unique_ptr<SaleWatch> watch(new SaleWatch(voucher));
  ASSIGN_OR_RETURN(watch->orders_, open_orders_to_read(arguments));
  RETURN_IF_ERROR(watch->open_keyspace(arguments));
  // The program's sales have the default keys.
  const bool has_slots = watch->backend_ && watch->backend_->capabilities().has_slots;
  ASSIGN_OR_RETURN(watch->lanes_,
                   LaneViews::open(SaleStores(*watch->orders_),
                                   has_slots ? SaleKeys{}.on_cluster() : SaleKeys{}));
  if (watch->client_) RETURN_IF_ERROR(watch->check_owner(arguments));
  return watch;
}

/// Connects to a keyspace on a Redis, or reads an embedded one beside its process.
absl::Status SaleWatch::open_keyspace(const SaleArguments& arguments) {
  BackendUrl place{.kind = BackendUrl::Kind::kDirectory};
  if (!arguments.keyspace_url.empty()) {
    ASSIGN_OR_RETURN(place, BackendUrl::parse(arguments.keyspace_url));
  }
  if (place.kind != BackendUrl::Kind::kRedis) {
    auto reader = open_reader(arguments);
    if (absl::IsNotFound(reader.status())) return absl::OkStatus();
    if (!reader.ok()) return reader.status();
    reader_ = *std::move(reader);
    return absl::OkStatus();
  }
  auto backend = open_backend(place, {.client_name = "rushgate-watch", .logger = arguments.logger});
  if (!backend.ok()) return backend.status();
  backend_ = *std::move(backend);
  client_ = backend_->open_client();
  return absl::OkStatus();
}

absl::Status SaleWatch::check_owner(const SaleArguments& arguments) {
  ASSIGN_OR_RETURN(const auto state, orders_->state());
  const Reply owner = (*client_)("GET", lanes_->all().front().keys.prefix_owner());
  if (owner.is_error()) return to_status(owner, "reading the keyspace's owner");
  if (owner.is_text() && owner.text() == state.identity) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: the keyspace belongs to another order database",
                  arguments.dir.empty() ? "--orders" : arguments.dir.string()));
}

absl::StatusOr<SaleCounts> SaleWatch::read() {
  SaleCounts counts;
  if (reader_) RETURN_IF_ERROR(reader_->refresh());
  ASSIGN_OR_RETURN(const auto by_status, orders_->count_by_status(voucher_));
  add_stored(counts, by_status);
  RETURN_IF_ERROR(count_stock(counts));
  if (keyspace() != nullptr) RETURN_IF_ERROR(count_holds(counts));
  return counts;
}

Client* SaleWatch::keyspace() const { return reader_ ? &reader_->client() : client_.get(); }

absl::StatusOr<std::vector<VoucherVersion>> SaleWatch::vouchers() {
  VoucherStore& store = *orders_->vouchers();
  if (!voucher_) return store.all_applied();
  ASSIGN_OR_RETURN(auto version, store.applied(*voucher_));
  std::vector<VoucherVersion> one;
  if (version.has_value()) one.push_back(*std::move(version));
  return one;
}

absl::Status SaleWatch::count_stock(SaleCounts& counts) {
  ASSIGN_OR_RETURN(const auto versions, vouchers());
  for (const VoucherVersion& version : versions) {
    ASSIGN_OR_RETURN(const auto stock, free_stock(version.voucher));
    counts.stock += stock;
  }
  return absl::OkStatus();
}

/// Returns the free pieces of all lanes of a voucher. The database counts while one of them lacks it.
absl::StatusOr<std::int64_t> SaleWatch::free_stock(const Voucher& voucher) {
  if (keyspace() != nullptr) {
    ASSIGN_OR_RETURN(const auto free, free_in_keyspace(voucher));
    if (free) return *free;
  }
  const auto taken = orders_->count_live(voucher.id);
  if (!taken.ok()) return taken.status();
  return voucher.stock - *taken;
}

/// Returns nothing if a lane lacks the voucher.
absl::StatusOr<std::optional<std::int64_t>> SaleWatch::free_in_keyspace(const Voucher& voucher) {
  ASSIGN_OR_RETURN(const int home, lanes_->of_voucher(voucher.id));
  const auto first = static_cast<std::size_t>(home);
  const auto count = static_cast<std::size_t>(voucher.lanes);
  const std::span<const SaleLane> all = lanes_->all();
  if (count > all.size() - first) return std::nullopt;  // some were added since
  std::int64_t free = 0;
  for (const SaleLane& lane : all.subspan(first, count)) {
    const Reply stock = (*keyspace())("GET", lane.keys.stock(voucher.id));
    if (stock.is_error()) return to_status(stock, "reading the stock");
    if (!stock.is_text()) return std::nullopt;
    free += parse_int64(stock.text()).value_or(0);
  }
  return free;
}

/// Counts the holds of the keyspace, which include those of queued orders.
absl::Status SaleWatch::count_holds(SaleCounts& counts) {
  std::int64_t holds = 0;
  for (const SaleLane& lane : lanes_->all()) {
    RETURN_IF_ERROR(
        for_each_hold(*keyspace(), lane.keys, [&](OrderId /*order*/, const KnownHold& hold) {
          const bool is_watched = !voucher_ || *voucher_ == hold.voucher;
          if (is_watched && !hold.ended) ++holds;
        }));
  }
  counts.holds = holds;
  return absl::OkStatus();
}

}  // namespace rushgate
