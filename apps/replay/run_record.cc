#include "apps/replay/run_record.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "adapters/flash_sale/json_text.h"
#include "apps/order_json.h"

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

absl::Status unexpected(const std::string& key, const Reply& reply) {
  return absl::UnavailableError(
      fmt::format("{}: {}", key, reply.is_error() ? reply.text() : to_debug_string(reply)));
}

}  // namespace

absl::StatusOr<std::optional<RunRecord>> RunBook::load() {
  const Reply reply = client_("GET", key_);
  if (reply.is_nil()) return std::optional<RunRecord>();
  if (!reply.is_text()) return unexpected(key_, reply);
  try {
    const Json json = parse_trusted_json(reply.text());
    RunRecord record;
    json.at("vouchers").get_to(record.vouchers_hash);
    json.at("starts").get_to(record.starts);
    json.at("orders_before").get_to(record.orders_before);
    json.at("answered_up_to_ms").get_to(record.completed_up_to_ms);
    if (!json.at("report").is_null()) record.report = report_from_json(json.at("report"));
    return record;
  } catch (const Json::exception& error) {
    return absl::DataLossError(
        fmt::format("{} is not a record of a replay: {}", key_, error.what()));
  }
}

absl::Status RunBook::save(const RunRecord& record) {
  Json json = {{"vouchers", record.vouchers_hash},
               {"starts", record.starts},
               {"orders_before", record.orders_before},
               {"answered_up_to_ms", record.completed_up_to_ms},
               {"report", nullptr}};
  if (record.report) json["report"] = to_json(*record.report);
  const Reply kept = client_("SET", key_, dump(json));
  return kept.is_error() ? unexpected(key_, kept) : absl::OkStatus();
}

}  // namespace rushgate
