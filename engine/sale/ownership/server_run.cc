#include "engine/sale/ownership/server_run.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace rushgate {
namespace {

/// Returns the value of `field` in a reply of INFO; empty if it is not there.
std::string_view info_value(std::string_view info, std::string_view field) {
  std::size_t line = 0;
  while (line < info.size()) {
    const std::size_t end = std::min(info.find('\n', line), info.size());
    std::string_view text = info.substr(line, end - line);
    line = end + 1;
    if (!text.starts_with(field) || text.substr(field.size(), 1) != ":") continue;
    text.remove_prefix(field.size() + 1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return text;
  }
  return {};
}

}  // namespace

bool ServerRun::may_have_lost_writes(Client& connection) {
  const Request questions[] = {Request::of("INFO", "server"), Request::of("INFO", "replication")};
  const std::vector<Reply> replies = connection.pipeline(questions);
  const std::string_view run = info_value(replies[0].text(), "run_id");
  const std::string_view history = info_value(replies[1].text(), "master_replid");
  std::string now;
  if (!run.empty() && !history.empty()) (now = run).append(history);
  const std::lock_guard lock(mutex_);
  const bool is_same = !now.empty() && now == last_;
  last_ = std::move(now);
  return !is_same;
}

}  // namespace rushgate
