#include "engine/sale/keyspace/keyspace_run.h"

#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"
#include "engine/core/base/random_name.h"
#include "engine/core/client/info_value.h"
#include "engine/core/client/redis_error_code.h"
#include "engine/core/client/reply_status.h"

namespace rushgate {

absl::StatusOr<std::int64_t> keyspace_time_ms(Client& client) {
  const Reply time = client("TIME");
  const bool is_time = time.is_aggregate() && time.elements().size() == 2 &&
                       time.elements()[0].is_text() && time.elements()[1].is_text();
  const auto seconds = is_time ? parse_int64(time.elements()[0].text()) : std::nullopt;
  const auto microseconds = is_time ? parse_int64(time.elements()[1].text()) : std::nullopt;
  if (!seconds || !microseconds) return to_status(time, "asking for the time");
  return *seconds * 1'000 + *microseconds / 1'000;
}

const Script& keyspace_run_script() {
  static const Script* const kScript = new Script("return ''", std::string(kNativeKeyspaceRun));
  return *kScript;
}

NativeScript native_keyspace_run() {
  return [name = random_name()](NativeCall&) { return Reply::bulk(name); };
}

bool is_on_other_node(Client& connection, const SaleKeys& keys, bool has_slots) {
  if (!has_slots) return false;
  const Reply found = connection("EXISTS", keys.stream_owner());
  if (has_code(found, redis_error_code::kMoved)) return true;
  // A slot without a master. CLUSTERDOWN also says that the whole cluster is down, and then the keys may
  // be here.
  return has_code(found, redis_error_code::kClusterDown) &&
         found.text().find("slot not served") != std::string::npos;
}

bool ServerRun::remember(Client& connection) {
  const Request questions[] = {Request::of("INFO", "server"), Request::of("INFO", "replication")};
  const std::vector<Reply> replies = connection.pipeline(questions);
  const std::string_view run = info_value(replies[0].text(), "run_id");
  const std::string_view history = info_value(replies[1].text(), "master_replid");
  std::string now;
  if (!run.empty() && !history.empty()) (now = run).append(history);
  const std::lock_guard lock(mutex_);
  const bool is_same = !now.empty() && now == last_;
  last_ = std::move(now);
  return is_same;
}

}  // namespace rushgate
