#include "engine/redis/commands/help_reply.h"

#include <string>
#include <utility>
#include <vector>

namespace rushgate {

Reply help_reply(std::span<const std::string_view> lines) {
  std::vector<Reply> replies;
  replies.reserve(lines.size());
  for (const std::string_view line : lines) replies.push_back(Reply::status(std::string(line)));
  return Reply::array(std::move(replies));
}

}  // namespace rushgate
