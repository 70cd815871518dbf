#include "adapters/flash_sale/json_text.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "adapters/flash_sale/field_reader.h"
#include "engine/core/base/concat.h"

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

/// Looks at the events of the parser. Keeps the first fault.
class JsonGuard {
 public:
  /// Returns false to leave a value out.
  bool see(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (!fault_.empty()) return false;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kJsonDepthMax) fault_ = concat("nests deeper than ", kJsonDepthMax);
      names_.resize(static_cast<std::size_t>(depth) + 1);
      names_.back().clear();
    } else if (event == Event::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      const auto level = static_cast<std::size_t>(depth) - 1;
      if (!names_[level].insert(name).second) fault_ = concat(parsed.dump(), " is there twice");
      if (names_[level].size() > kJsonFieldsMax) {
        fault_ = concat("an object has more than ", kJsonFieldsMax, " fields");
      }
    }
    return fault_.empty();
  }
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  std::string fault_;
  std::vector<absl::flat_hash_set<std::string>> names_;  // of the open objects
};

}  // namespace

absl::StatusOr<Json> parse_json(std::string_view text) {
  JsonGuard guard;
  try {
    Json json = Json::parse(text, [&guard](int depth, Json::parse_event_t event, Json& parsed) {
      return guard.see(depth, event, parsed);
    });
    if (guard.fault().empty()) return json;
    return absl::InvalidArgumentError(bounded_fault(guard.fault()));
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(bounded_fault(readable(error)));
  }
}

Json parse_trusted_json(std::string_view text) { return Json::parse(text); }

}  // namespace rushgate
