// Payments and changes of orders as tables.
#pragma once

#include <cstdint>
#include <string>

#include "apps/text_table.h"
#include <rushgate/payment_store.h>

namespace rushgate {

/// Returns the time; empty for 0, which means that there is none.
std::string time_or_nothing(std::int64_t ms);

class PaymentTable {
 public:
  PaymentTable();
  void add(const Payment& payment);
  [[nodiscard]] std::string text() const { return table_.text(); }

 private:
  TextTable table_;
};

class ChangeTable {
 public:
  ChangeTable();
  void add(const OrderChange& change);
  [[nodiscard]] std::string text() const { return table_.text(); }

 private:
  TextTable table_;
};

}  // namespace rushgate
