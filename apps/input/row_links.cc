#include "apps/input/row_links.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace rushgate {
namespace {

/// Links one row after the other. Rows that it refuses must not be kept.
class RowLinker {
 public:
  RowLinker(const std::vector<RequestRow>& kept, const RowKeys& keys) : kept_(kept), keys_(keys) {}

  /// Links the row that will be the next one kept. Returns the fault if it has none to link to.
  std::optional<std::string> link(RequestRow& row) {
    const auto key = keys_.find(row.line);
    const std::string_view name = key == keys_.end() ? std::string_view() : key->second;
    Purchases& purchases = of_user_[{row.user, row.voucher}];
    row.purchase = purchases.last;
    row.follows = row.event != RowEvent::kBuy || purchases.has_events;
    if (row.event == RowEvent::kBuy) return add_purchase(name, purchases);
    purchases.has_events = true;
    if (!name.empty()) return link_by_key(row, name);
    if (row.purchase != kNoRow) return std::nullopt;
    return fmt::format("event: no buy row of user {} and voucher {} is before this {}",
                       row.user.text(), row.voucher, row_event_name(row.event));
  }

 private:
  struct Purchases {
    std::size_t last = kNoRow;
    bool has_events = false;
  };

  std::optional<std::string> add_purchase(std::string_view key, Purchases& purchases) {
    const std::size_t index = kept_.size();
    if (!key.empty()) {
      const auto [known, is_new] = of_key_.emplace(key, index);
      if (!is_new) {
        return fmt::format("key: line {} has the key \"{}\" too", kept_[known->second].line, key);
      }
    }
    purchases.last = index;
    return std::nullopt;
  }

  std::optional<std::string> link_by_key(RequestRow& row, std::string_view key) {
    const auto known = of_key_.find(key);
    if (known == of_key_.end()) {
      return fmt::format("key: no buy row before this {} has the key \"{}\"",
                         row_event_name(row.event), key);
    }
    const RequestRow& purchase = kept_[known->second];
    if (purchase.user != row.user || purchase.voucher != row.voucher) {
      return fmt::format("key: line {}, which has this key, is of user {} and voucher {}",
                         purchase.line, purchase.user.text(), purchase.voucher);
    }
    row.purchase = known->second;
    row.is_by_key = true;
    return std::nullopt;
  }

  const std::vector<RequestRow>& kept_;
  const RowKeys& keys_;
  absl::flat_hash_map<std::pair<UserId, VoucherId>, Purchases> of_user_;
  absl::flat_hash_map<std::string_view, std::size_t> of_key_;
};

}  // namespace

void link_rows(std::vector<RequestRow>& rows, const RowKeys& keys,
               const std::function<void(const RequestRow& row, std::string reason)>& refuse) {
  std::vector<RequestRow> kept;
  kept.reserve(rows.size());
  RowLinker linker(kept, keys);
  for (RequestRow& row : rows) {
    if (auto fault = linker.link(row)) {
      refuse(row, *std::move(fault));
    } else {
      kept.push_back(row);
    }
  }
  rows = std::move(kept);
}

}  // namespace rushgate
