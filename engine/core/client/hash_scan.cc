#include "engine/core/client/hash_scan.h"

#include <cstddef>
#include <string>

#include "engine/core/client/reply_status.h"

namespace rushgate {

absl::Status for_each_field(
    Client& client, std::string_view key, int per_scan, std::string_view doing,
    absl::FunctionRef<void(std::string_view field, std::string_view value)> visit) {
  std::string cursor = "0";
  do {
    const Reply page = client("HSCAN", key, cursor, "COUNT", per_scan);
    const bool is_page = page.is_aggregate() && page.elements().size() == 2 &&
                         page.elements()[0].is_text() && page.elements()[1].is_aggregate();
    if (!is_page) return to_status(page, doing);
    cursor = page.elements()[0].text();
    const auto& pairs = page.elements()[1].elements();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (pairs[i].is_text() && pairs[i + 1].is_text()) visit(pairs[i].text(), pairs[i + 1].text());
    }
  } while (cursor != "0");
  return absl::OkStatus();
}

}  // namespace rushgate
