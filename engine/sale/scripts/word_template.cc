#include "engine/sale/scripts/word_template.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "engine/core/base/concat.h"

namespace rushgate {
namespace {

using Placeholder = WordTemplate::Placeholder;

constexpr std::array<std::pair<std::string_view, Placeholder>, 7> kPlaceholders = {{
    {"<voucher>", Placeholder::kVoucher},
    {"<user>", Placeholder::kUser},
    {"<order>", Placeholder::kOrder},
    {"<terms>", Placeholder::kTerms},
    {"<stock>", Placeholder::kStock},
    {"<buyers>", Placeholder::kBuyers},
    {"<stream>", Placeholder::kStream},
}};

}  // namespace

absl::StatusOr<WordTemplate> WordTemplate::parse(std::string_view word) {
  WordTemplate parsed;
  std::string_view rest = word;
  while (true) {
    const std::size_t begin = rest.find('<');
    if (begin == rest.npos) break;
    const std::string_view tail = rest.substr(begin);
    const auto* const found = std::ranges::find_if(
        kPlaceholders, [&](const auto& known) { return tail.starts_with(known.first); });
    if (found == std::end(kPlaceholders)) {
      const std::string_view name = tail.substr(0, std::min(tail.find('>'), tail.size() - 1) + 1);
      return absl::InvalidArgumentError(concat("\"", word, "\": ", name, " is no placeholder"));
    }
    parsed.parts_.push_back({std::string(rest.substr(0, begin)), found->second});
    rest = tail.substr(found->first.size());
  }
  parsed.end_ = rest;
  return parsed;
}

bool WordTemplate::has(Placeholder placeholder) const {
  return std::ranges::any_of(parts_,
                             [&](const Part& part) { return part.placeholder == placeholder; });
}

std::string WordTemplate::expand(const SaleKeys& keys, VoucherId voucher, const UserId& user,
                                 OrderId order) const {
  std::string word;
  for (const auto& [before, placeholder] : parts_) {
    word += before;
    switch (placeholder) {
      case Placeholder::kVoucher:
        word += concat(voucher);
        break;
      case Placeholder::kUser:
        word += user.text();
        break;
      case Placeholder::kOrder:
        word += concat(order);
        break;
      case Placeholder::kTerms:
        word += keys.voucher(voucher);
        break;
      case Placeholder::kStock:
        word += keys.stock(voucher);
        break;
      case Placeholder::kBuyers:
        word += keys.buyers(voucher);
        break;
      case Placeholder::kStream:
        word += keys.order_stream;
        break;
    }
  }
  return word += end_;
}

}  // namespace rushgate
