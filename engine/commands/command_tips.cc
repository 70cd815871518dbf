#include "engine/commands/command_tips.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace rushgate {
namespace {

struct TipsRow {
  std::string_view name;  // of the command
  std::array<std::string_view, 3> tips;
};

constexpr TipsRow kTips[] = {
    {"client|info", {"nondeterministic_output"}},
    {"client|list", {"nondeterministic_output"}},
    {"ping", {"request_policy:all_shards", "response_policy:all_succeeded"}},
    {"time", {"nondeterministic_output"}},
    {"dbsize", {"request_policy:all_shards", "response_policy:agg_sum"}},
    {"flushdb", {"request_policy:all_shards", "response_policy:all_succeeded"}},
    {"flushall", {"request_policy:all_shards", "response_policy:all_succeeded"}},
    {"config|set", {"request_policy:all_nodes", "response_policy:all_succeeded"}},
    {"info", {"nondeterministic_output", "request_policy:all_shards", "response_policy:special"}},
    {"del", {"request_policy:multi_shard", "response_policy:agg_sum"}},
    {"unlink", {"request_policy:multi_shard", "response_policy:agg_sum"}},
    {"exists", {"request_policy:multi_shard", "response_policy:agg_sum"}},
    {"touch", {"request_policy:multi_shard", "response_policy:agg_sum"}},
    {"object|encoding", {"nondeterministic_output"}},
    {"object|freq", {"nondeterministic_output"}},
    {"object|idletime", {"nondeterministic_output"}},
    {"object|refcount", {"nondeterministic_output"}},
    {"keys", {"request_policy:all_shards", "nondeterministic_output_order"}},
    {"scan", {"nondeterministic_output", "request_policy:special"}},
    {"randomkey", {"request_policy:all_shards", "nondeterministic_output"}},
    {"ttl", {"nondeterministic_output"}},
    {"pttl", {"nondeterministic_output"}},
    {"mget", {"request_policy:multi_shard"}},
    {"mset", {"request_policy:multi_shard", "response_policy:all_succeeded"}},
    {"msetnx", {"request_policy:multi_shard", "response_policy:agg_min"}},
    {"hgetall", {"nondeterministic_output_order"}},
    {"hkeys", {"nondeterministic_output_order"}},
    {"hvals", {"nondeterministic_output_order"}},
    {"hrandfield", {"nondeterministic_output"}},
    {"hscan", {"nondeterministic_output"}},
    {"smembers", {"nondeterministic_output_order"}},
    {"spop", {"nondeterministic_output"}},
    {"srandmember", {"nondeterministic_output"}},
    {"sscan", {"nondeterministic_output"}},
    {"sinter", {"nondeterministic_output_order"}},
    {"sunion", {"nondeterministic_output_order"}},
    {"sdiff", {"nondeterministic_output_order"}},
    {"zrandmember", {"nondeterministic_output"}},
    {"zscan", {"nondeterministic_output"}},
    {"xadd", {"nondeterministic_output"}},
    {"xtrim", {"nondeterministic_output"}},
    {"xpending", {"nondeterministic_output"}},
    {"xclaim", {"nondeterministic_output"}},
    {"xautoclaim", {"nondeterministic_output"}},
    {"xinfo|consumers", {"nondeterministic_output"}},
    {"script|load", {"request_policy:all_nodes", "response_policy:all_succeeded"}},
    {"script|exists", {"request_policy:all_shards", "response_policy:agg_logical_and"}},
    {"script|flush", {"request_policy:all_nodes", "response_policy:all_succeeded"}},
    {"script|kill", {"request_policy:all_shards", "response_policy:one_succeeded"}},
    {"command", {"nondeterministic_output_order"}},
    {"command|docs", {"nondeterministic_output_order"}},
    {"command|info", {"nondeterministic_output_order"}},
    {"command|list", {"nondeterministic_output_order"}},
};

}  // namespace

std::vector<std::string_view> command_tips(std::string_view name) {
  std::vector<std::string_view> tips;
  const auto* const row = std::ranges::find(kTips, name, &TipsRow::name);
  if (row == std::end(kTips)) return tips;
  for (const std::string_view tip : row->tips) {
    if (!tip.empty()) tips.push_back(tip);
  }
  return tips;
}

}  // namespace rushgate
