#include "engine/sale/stream/unstored_orders.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/stream/group_progress.h"
#include "engine/sale/stream/stream_entries.h"

namespace rushgate {
namespace {

struct Wanted {
  std::optional<VoucherId> voucher;
  std::optional<UserId> user;
  std::optional<std::int64_t> with_key_at_ms = {};  // an event has no key

  [[nodiscard]] bool contains(const Order& order) const {
    return order.voucher == voucher.value_or(order.voucher) && (!user || order.user == *user) &&
           (!with_key_at_ms || has_key_at(order, *with_key_at_ms));
  }
};

/// The entries of a stream that are not orders. Each may be null.
struct Others {
  std::vector<std::string>* unreadable = nullptr;  // descriptions
  std::vector<OrderEvent>* events = nullptr;
};

/// Visits the orders of `stream` after an entry, each with its entry.
absl::Status visit_orders(Client& client, const std::string& stream, StreamId after,
                          const Wanted& wanted, BetweenPortions between_portions,
                          const Others& others,
                          absl::FunctionRef<void(const Order&, const OrderEntry&)> visit) {
  const auto visit_entry = [&](const OrderEntry& entry) {
    auto event = read_event(entry);
    if (!event.ok()) {
      if (others.unreadable == nullptr) return true;
      others.unreadable->push_back(stream + ": entry " + entry.id +
                                   " is no order: " + std::string(event.status().message()));
    } else if (wanted.contains(event->order) && !begins_in_database(event->kind)) {
      if (event->kind == OrderEvent::Kind::kAdmitted) {
        visit(event->order, entry);
      } else if (others.events != nullptr) {
        others.events->push_back(*std::move(event));
      }
    }
    return true;
  };
  return for_each_entry(client, stream, after, StreamId::max(), visit_entry, between_portions);
}

using Visit = absl::FunctionRef<void(const Order&, const OrderEntry&)>;

/// `read_queue` visits the orders of the order stream.
absl::StatusOr<UnstoredOrders> read_wanted(
    Client& client, const SaleKeys& keys, const Wanted& wanted, BetweenPortions between_portions,
    absl::FunctionRef<absl::Status(UnstoredOrders& unstored, Visit visit)> read_queue) {
  // An order dies (stream -> dead letters), and is retried (dead letters -> stream). Reading the
  // dead letters before and after the stream finds both. An order is discarded last (dead letters
  // -> discarded letters).
  UnstoredOrders unstored;
  std::vector<Order> dead_before;
  const auto append_to = [](std::vector<Order>& orders) {
    return [&orders](const Order& order, const OrderEntry&) { orders.push_back(order); };
  };
  absl::flat_hash_set<OrderId> met;
  const auto is_without_stock = [](const OrderEntry& letter) {
    return letter.field(kNoStockField).has_value();
  };
  absl::Status read = visit_orders(client, keys.dead_letters(), {}, wanted, between_portions, {},
                                   append_to(dead_before));
  if (read.ok()) {
    read = read_queue(unstored, [&](const Order& order, const OrderEntry& entry) {
      unstored.queued.push_back(order);
      // for_each_entry() has read the id already
      unstored.queued_as.push_back(*StreamId::parse(entry.id));
    });
  }
  if (read.ok()) {
    read = visit_orders(client, keys.dead_letters(), {}, wanted, between_portions,
                        {.unreadable = &unstored.unreadable, .events = &unstored.dead_events},
                        [&](const Order& order, const OrderEntry& letter) {
                          met.insert(order.id);
                          auto& to =
                              is_without_stock(letter) ? unstored.without_stock : unstored.dead;
                          to.push_back(order);
                        });
  }
  if (read.ok()) {
    // Entries that are not orders were given up: they are not reported any more.
    read = visit_orders(client, keys.discarded_letters(), {}, wanted, between_portions,
                        {.events = &unstored.discarded_events},
                        [&](const Order& order, const OrderEntry& letter) {
                          const bool is_new = met.insert(order.id).second;
                          if (is_without_stock(letter)) {
                            unstored.without_stock.push_back(order);
                            return;
                          }
                          unstored.discarded.insert(order.id);
                          if (is_new) unstored.dead.push_back(order);
                        });
  }
  if (!read.ok()) return read;
  for (const Order& order : unstored.queued) met.insert(order.id);
  for (const Order& order :
       dead_before) {  // retried, into a part of the stream that was already read
    if (met.contains(order.id)) continue;
    unstored.queued.push_back(order);
    unstored.queued_as.push_back(StreamId::max());
  }
  return unstored;
}

}  // namespace

absl::StatusOr<UnstoredOrders> read_unstored_orders(Client& client, const SaleKeys& keys,
                                                    std::optional<VoucherId> voucher,
                                                    BetweenPortions between_portions) {
  const Wanted wanted{.voucher = voucher, .user = std::nullopt};
  // Before the stream: an entry that is acknowledged meanwhile is met, or in the database.
  StreamId after;
  if (voucher) {
    ASSIGN_OR_RETURN(const auto progress, read_stream_progress(client, keys));
    after = progress.acknowledged_to;
  }
  return read_wanted(
      client, keys, wanted, between_portions, [&](UnstoredOrders& unstored, Visit visit) {
        return visit_orders(client, keys.order_stream, after, wanted, between_portions,
                            {.unreadable = &unstored.unreadable, .events = &unstored.events},
                            visit);
      });
}

absl::StatusOr<UnstoredOrders> read_unstored_orders_with_keys(Client& client, const SaleKeys& keys,
                                                              std::int64_t time_ms) {
  const Wanted wanted{.voucher = std::nullopt, .user = std::nullopt, .with_key_at_ms = time_ms};
  ASSIGN_OR_RETURN(const auto progress, read_stream_progress(client, keys));
  return read_wanted(client, keys, wanted, do_nothing, [&](UnstoredOrders&, Visit visit) {
    return visit_orders(client, keys.order_stream, progress.acknowledged_to, wanted, do_nothing, {},
                        visit);
  });
}

absl::StatusOr<UnstoredOrders> read_unstored_orders_of(Client& client, const SaleKeys& keys,
                                                       QueuedOrders& queued, const UserId& user) {
  return read_wanted(client, keys, {.voucher = std::nullopt, .user = user}, do_nothing,
                     [&](UnstoredOrders&, Visit visit) { return queued.for_each_of(user, visit); });
}

}  // namespace rushgate
