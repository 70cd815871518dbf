// A sale of a game that grants an item for each paid order.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "tests/project/orders/item_grants.h"
#include <rushgate/flash_sale.h>

/// Owns the sale and the database of the items, in one directory.
class GrantingSale {
 public:
  explicit GrantingSale(const std::string& dir) : items_(dir + "/items.db") {
    rushgate::FlashSaleOptions options;
    options.start_workers = false;  // grant() needs sale_
    options.on_state = [this](const rushgate::OrderChange& change) { grant(change); };
    options.on_state_after = items_.position();
    sale_ = rushgate::FlashSale::open(dir + "/sale", options).value();
    if (!sale_->start_workers().ok()) throw std::runtime_error("the workers do not start");
  }

  rushgate::FlashSale& sale() { return *sale_; }
  /// Only after drain(): until then, a worker uses the database.
  ItemGrants& items() { return items_; }

 private:
  /// A change names the order, and the order names its user. An exception repeats the call later.
  void grant(const rushgate::OrderChange& change) {
    items_.apply(change, sale_->orders().find(change.order).value()->user);
  }

  ItemGrants items_;
  std::unique_ptr<rushgate::FlashSale> sale_;  // closed first: its workers use items_
};
