#include "engine/sale/keyspace/server_check.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/info_value.h"
#include "engine/core/client/redis_error_code.h"
#include "engine/core/client/reply_status.h"
#include <rushgate/request.h>

namespace rushgate {
namespace {

constexpr std::string_view kChecking = "checking the server";

/// A command, or its subcommand, as an ACL names it, with arguments that are valid. K is a key.
struct NeededCommand {
  std::string_view name;
  std::string_view arguments;
};

// What a sale and its workers run, also in scripts. docs/production.md lists the same commands.
constexpr NeededCommand kNeededCommands[] = {
    {"decr", "K"},
    {"decrby", "K 0"},
    {"del", "K"},
    {"eval", "1 0"},
    {"evalsha", "0 0"},
    {"exists", "K"},
    {"get", "K"},
    {"hdel", "K f"},
    {"hexists", "K f"},
    {"hget", "K f"},
    {"hgetall", "K"},
    {"hincrby", "K f 0"},
    {"hlen", "K"},
    {"hmget", "K f"},
    {"hscan", "K 0"},
    {"hset", "K f v"},
    {"incrby", "K 0"},
    {"mget", "K"},
    {"sadd", "K m"},
    {"scard", "K"},
    {"script|load", "1"},
    {"set", "K v"},
    {"sismember", "K m"},
    {"smembers", "K"},
    {"smismember", "K m"},
    {"srem", "K m"},
    {"sscan", "K 0"},
    {"time", ""},
    {"type", "K"},
    {"unlink", "K"},
    {"xack", "K g 0"},
    {"xadd", "K * f v"},
    {"xautoclaim", "K g c 0 0"},
    {"xclaim", "K g c 0 0"},
    {"xdel", "K 0"},
    {"xgroup|create", "K g 0"},
    {"xgroup|delconsumer", "K g c"},
    {"xgroup|setid", "K g 0"},
    {"xinfo|consumers", "K g"},
    {"xinfo|groups", "K"},
    {"xinfo|stream", "K"},
    {"xlen", "K"},
    {"xpending", "K g"},
    {"xrange", "K - +"},
    {"xread", "STREAMS K 0"},
    {"xreadgroup", "GROUP g c STREAMS K >"},
    {"xrevrange", "K + -"},
    {"xtrim", "K MINID = 0"},
    {"zadd", "K 0 m"},
    {"zcard", "K"},
    {"zrange", "K 0 0"},
    {"zrangebyscore", "K 0 0"},
    {"zrank", "K m"},
    {"zrem", "K m"},
    {"zscore", "K m"},
};

/// Returns true if the server lacks the command, or the user must not run it so.
bool is_refused(const Reply& reply) {
  return has_code(reply, redis_error_code::kNoPermission) ||
         (reply.is_error() && reply.text().starts_with("ERR unknown "));
}

/// Returns true if the user may run the command, but not with this key.
bool is_about_key(const Reply& reply) {
  return has_code(reply, redis_error_code::kNoPermission) &&
         reply.text().find(" command") == std::string::npos;
}

Request request_of(const NeededCommand& command, std::string_view key) {
  const auto words_of = [](std::string_view text, char separator) -> std::vector<std::string> {
    return absl::StrSplit(std::string(text), separator, absl::SkipEmpty());
  };
  Request request;
  for (const std::string& word : words_of(command.name, '|')) request.add(word);
  for (const std::string& word : words_of(command.arguments, ' ')) {
    request.add(word == "K" ? key : word);
  }
  return request;
}

/// Queues the requests in a transaction and discards it: each reply says whether the server would
/// run the request. Returns no replies if the user may not use transactions.
absl::StatusOr<std::vector<Reply>> queue_and_discard(Client& client,
                                                     std::vector<Request> requests) {
  // In this order: a transaction that is begun must end.
  if (is_refused(client("DISCARD"))) return std::vector<Reply>();
  const Request nothing[] = {Request::of("MULTI"), Request::of("DISCARD")};
  const Reply begun = client.pipeline(nothing)[0];
  if (is_refused(begun)) return std::vector<Reply>();
  if (begun.is_error()) return to_status(begun, kChecking);
  requests.insert(requests.begin(), Request::of("MULTI"));
  requests.push_back(Request::of("DISCARD"));
  std::vector<Reply> replies = client.pipeline(requests);
  replies.erase(replies.begin());
  replies.pop_back();
  return replies;
}

/// Returns the error that names what the replies refuse: those to kNeededCommands, then to `names`.
absl::Status refusal_of(std::span<const Reply> replies, std::span<const std::string> names) {
  std::vector<std::string> commands;
  std::vector<std::string> keys;
  for (const NeededCommand& command : kNeededCommands) {
    const Reply& reply = replies.front();
    if (is_refused(reply) && !is_about_key(reply)) commands.emplace_back(command.name);
    replies = replies.subspan(1);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_about_key(replies[i])) keys.push_back(names[i]);
  }
  std::vector<std::string> refused;
  if (!commands.empty()) {
    refused.push_back(concat("the commands ", absl::StrJoin(commands, ", ")));
  }
  if (!keys.empty()) refused.push_back(concat("the keys ", absl::StrJoin(keys, ", ")));
  if (refused.empty()) return absl::OkStatus();
  return absl::PermissionDeniedError(concat(
      "the server refuses what the sale or its workers need: ", absl::StrJoin(refused, ", and "),
      " (docs/production.md has the rights of a user)"));
}

absl::Status check_permissions(Client& client, const SaleKeys& keys, spdlog::logger* logger) {
  const std::string names[] = {keys.vouchers(),     keys.stock(1),
                               keys.order_stream,   keys.stream_owner(),
                               keys.dead_letters(), concat(keys.id_prefix, "20220101")};
  const std::string unused = concat(keys.prefix, "permissions");
  std::vector<Request> requests;
  for (const NeededCommand& command : kNeededCommands) {
    requests.push_back(request_of(command, unused));
  }
  for (const std::string& name : names) requests.push_back(Request::of("HINCRBY", name, "f", "x"));
  ASSIGN_OR_RETURN(const auto replies, queue_and_discard(client, std::move(requests)));
  if (replies.empty()) {
    if (logger != nullptr) {
      log_warning(*logger,
                  "the server has no MULTI and DISCARD for this user, so the sale cannot "
                  "check whether it may run its commands");
    }
    return absl::OkStatus();
  }
  return refusal_of(replies, names);
}

/// Checks that the user may do what Client::sync_of() does here.
absl::Status check_sync(Client& client, const SaleKeys& keys) {
  const Reply synced = client.sync_of(keys.stream_owner());
  if (!is_refused(synced)) return absl::OkStatus();  // other errors may end
  return absl::PermissionDeniedError(
      concat("the server refuses to wait for replicas, which workers do: ", synced.text()));
}

// ---- Settings ----

/// Returns the value of a setting; nothing if the server does not let the user read it.
std::optional<std::string> read_setting(Client& client, std::string_view name) {
  const Reply reply = client("CONFIG", "GET", name);
  if (reply.elements().size() != 2) return std::nullopt;
  return std::string(reply.elements()[1].text());
}

/// Returns what a server with this maxmemory-policy may lose; empty if it is nothing.
std::string_view loss_of_eviction(std::string_view policy) {
  if (policy == "noeviction") return {};
  if (policy.starts_with("volatile-")) {
    return "a server whose memory is full deletes idempotency keys, so a repeated request may buy "
           "again";
  }
  return "a server whose memory is full deletes the stock, the buyers or the order stream, so that "
         "limits are broken and accepted orders are lost";
}

/// Logs each setting with which the server may lose data. What INFO reports is not read by CONFIG,
/// which many users may not run.
void warn_of_losses(Client& client, std::string_view info, spdlog::logger& logger) {
  std::optional<std::string> policy(info_value(info, "maxmemory_policy"));
  if (policy->empty()) policy = read_setting(client, "maxmemory-policy");
  const std::string_view aof = info_value(info, "aof_enabled");
  const auto appends = aof.empty() ? read_setting(client, "appendonly")
                                   : std::optional<std::string>(aof == "0" ? "no" : "yes");
  if (!policy || !appends) {
    log_warning(logger,
                "the server refuses INFO and CONFIG GET, so the sale cannot check whether its "
                "settings (maxmemory-policy, appendonly) may lose orders");
  }
  if (policy && !loss_of_eviction(*policy).empty()) {
    log_warning(logger, concat("maxmemory-policy is ", *policy, ": ", loss_of_eviction(*policy),
                               "; set it to noeviction"));
  }
  if (appends != "no") return;
  const auto snapshots = read_setting(client, "save");
  const bool has_none = snapshots && snapshots->empty();
  log_warning(logger, concat(has_none ? "appendonly is no and save is empty: a restart of the "
                                        "server loses"
                                      : "appendonly is no: a restart of the server loses, since "
                                        "its last snapshot,",
                             " the accepted orders that are not stored yet, and the waiting "
                             "lists; set appendonly to yes"));
}

/// Returns true for the errors of a cluster: about the slots of keys.
bool is_of_cluster(const Reply& reply) {
  constexpr std::string_view kCodes[] = {redis_error_code::kCrossSlot, redis_error_code::kMoved,
                                         redis_error_code::kClusterDown};
  return std::ranges::any_of(kCodes, [&](std::string_view code) { return has_code(reply, code); });
}

}  // namespace

absl::Status check_server(Client& client, const SaleKeys& keys, bool has_slots,
                          spdlog::logger* logger) {
  const Request requests[] = {Request::of("INFO"), Request::of("EXISTS", keys.order_stream,
                                                               keys.vouchers(), keys.id_prefix)};
  const std::vector<Reply> replies = client.pipeline(requests);
  const std::string_view info = replies[0].text();
  if (!has_slots && (info_value(info, "cluster_enabled") == "1" || is_of_cluster(replies[1]))) {
    return absl::UnimplementedError(
        "the server belongs to a Redis Cluster: open it by redis-cluster://, or use a server "
        "without cluster mode (cluster-enabled no)");
  }
  if (has_code(replies[1], redis_error_code::kCrossSlot)) {
    return absl::UnimplementedError(
        concat("the keys of a sale on a Redis Cluster need a common tag, such as {shop}, in "
               "SaleKeys::prefix, id_prefix and order_stream: ",
               replies[1].text()));
  }
  for (const Reply& reply : replies) {
    if (!reply.is_error() || is_refused(reply)) continue;
    absl::Status failed = to_status(reply, kChecking);
    if (absl::IsUnavailable(failed)) return failed;
  }
  RETURN_IF_ERROR(check_permissions(client, keys, logger));
  RETURN_IF_ERROR(check_sync(client, keys));
  if (logger != nullptr) warn_of_losses(client, replies[0].is_error() ? "" : info, *logger);
  return absl::OkStatus();
}

}  // namespace rushgate
