// A sale of the program, opened in the process of a test.
#pragma once

#include <filesystem>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "apps/sale_at.h"

namespace rushgate {

/// Fails the test, and returns null, if the sale cannot be opened.
inline std::unique_ptr<FlashSale> opened_sale(const SaleArguments& arguments) {
  auto sale = open_sale(arguments);
  EXPECT_TRUE(sale.ok()) << sale.status();
  return sale.ok() ? *std::move(sale) : nullptr;
}

inline std::unique_ptr<FlashSale> opened_sale(const std::filesystem::path& dir) {
  SaleArguments arguments;
  arguments.dir = dir;
  return opened_sale(arguments);
}

}  // namespace rushgate
