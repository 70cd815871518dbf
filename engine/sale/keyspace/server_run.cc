#include "engine/sale/keyspace/server_run.h"

#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/client/info_value.h"

namespace rushgate {

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
