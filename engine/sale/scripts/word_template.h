// Words with placeholders: the keys and arguments of a custom admission script.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// A word such as "coupon:user:<user>". A value type.
class WordTemplate {
 public:
  enum class Placeholder : std::uint8_t {
    kVoucher,
    kUser,
    kOrder,
    kTerms,
    kStock,
    kBuyers,
    kStream
  };

  /// Returns kInvalidArgument if a `<` begins no placeholder.
  static absl::StatusOr<WordTemplate> parse(std::string_view word);

  [[nodiscard]] bool has(Placeholder placeholder) const;
  [[nodiscard]] std::string expand(const SaleKeys& keys, VoucherId voucher, const UserId& user,
                                   OrderId order) const;

 private:
  struct Part {
    std::string before;  // the placeholder
    Placeholder placeholder;
  };

  std::vector<Part> parts_;
  std::string end_;
};

}  // namespace rushgate
