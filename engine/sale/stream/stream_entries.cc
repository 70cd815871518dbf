#include "engine/sale/stream/stream_entries.h"

#include <string>

#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/model/order_entry.h"

namespace rushgate {

absl::Status for_each_entry(Client& client, std::string_view stream, StreamId after, StreamId last,
                            absl::FunctionRef<bool(const OrderEntry&)> visit,
                            BetweenPortions between_portions) {
  constexpr int kPortion = 1'000;
  while (after < last) {
    const Reply portion =
        client("XRANGE", stream, '(' + after.to_string(), last.to_string(), "COUNT", kPortion);
    if (portion.kind() != Reply::Kind::kArray)
      return to_status(portion, "reading " + std::string(stream));
    for (const Reply& element : portion.elements()) {
      const auto entry = read_entry(element);
      const auto id = entry ? StreamId::parse(entry->id) : std::nullopt;
      if (!id) return to_status(element, "reading " + std::string(stream));
      if (!visit(*entry)) return absl::OkStatus();
      after = *id;
    }
    if (portion.elements().size() < kPortion) break;
    RETURN_IF_ERROR(between_portions());
  }
  return absl::OkStatus();
}

}  // namespace rushgate
