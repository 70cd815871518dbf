#include "engine/sale/vouchers/voucher_ids.h"

#include <optional>

#include "engine/base/numbers.h"
#include "engine/client/reply_status.h"

namespace rushgate {

absl::StatusOr<absl::btree_set<VoucherId>> read_voucher_ids(Client& client, const SaleKeys& keys) {
  const Reply members = client("SMEMBERS", keys.vouchers());
  if (!members.is_aggregate()) return to_status(members, "listing the vouchers on sale");
  absl::btree_set<VoucherId> ids;
  for (const Reply& member : members.elements()) {
    const auto id = member.is_text() ? parse_int64(member.text()) : std::nullopt;
    if (!id) return to_status(member, "reading an id in " + keys.vouchers());
    ids.insert(*id);
  }
  return ids;
}

}  // namespace rushgate
