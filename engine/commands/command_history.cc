// Changes of the commands since their first version of Redis, and arguments added later.
#include <algorithm>
#include <iterator>

#include "engine/commands/command_docs.h"

namespace rushgate {
namespace {

constexpr char kSeveralElements[] = "Takes several elements.";
constexpr char kTimeoutIsDouble[] = "The timeout may have a fraction.";
constexpr char kConditions[] = "NX, XX, GT and LT.";

// The changes of a command are adjacent, the oldest first.
constexpr CommandChange kChanges[] = {
    {"exists", "3.0.3", "Takes several keys."},
    {"scan", "6.0.0", "TYPE."},
    {"renamenx", "3.2.0", "The new name may equal the old one."},
    {"expire", "7.0.0", kConditions},
    {"pexpire", "7.0.0", kConditions},
    {"expireat", "7.0.0", kConditions},
    {"pexpireat", "7.0.0", kConditions},
    {"ttl", "2.8.0", "Returns -2 if there is no key."},
    {"pttl", "2.8.0", "Returns -2 if there is no key."},

    {"set", "2.6.12", "EX, PX, NX and XX."},
    {"set", "6.0.0", "KEEPTTL."},
    {"set", "6.2.0", "GET, EXAT and PXAT."},
    {"set", "7.0.0", "NX and GET may stand together."},

    {"hset", "4.0.0", "Takes several fields and values."},
    {"hdel", "2.4.0", "Takes several fields."},

    {"lpush", "2.4.0", kSeveralElements},
    {"rpush", "2.4.0", kSeveralElements},
    {"lpushx", "4.0.0", kSeveralElements},
    {"rpushx", "4.0.0", kSeveralElements},
    {"lpop", "6.2.0", "Takes a count."},
    {"rpop", "6.2.0", "Takes a count."},
    {"blpop", "6.0.0", kTimeoutIsDouble},
    {"brpop", "6.0.0", kTimeoutIsDouble},
    {"brpoplpush", "6.0.0", kTimeoutIsDouble},

    {"sadd", "2.4.0", "Takes several members."},
    {"srem", "2.4.0", "Takes several members."},
    {"spop", "3.2.0", "Takes a count."},
    {"srandmember", "2.6.0", "Takes a count."},

    {"zadd", "2.4.0", "Takes several members."},
    {"zadd", "3.0.2", "XX, NX, CH and INCR."},
    {"zadd", "6.2.0", "GT and LT."},
    {"zrem", "2.4.0", "Takes several members."},
    {"zrange", "6.2.0", "REV, BYSCORE, BYLEX and LIMIT."},
    {"zrangebyscore", "2.0.0", "WITHSCORES."},
    {"zrevrangebyscore", "2.1.6", "Bounds may be exclusive."},
    {"bzpopmin", "6.0.0", kTimeoutIsDouble},
    {"bzpopmax", "6.0.0", kTimeoutIsDouble},

    {"xadd", "6.2.0", "NOMKSTREAM, MINID and LIMIT."},
    {"xadd", "7.0.0", "An id may be a time alone: ms-*."},
    {"xtrim", "6.2.0", "MINID and LIMIT."},
    {"xrange", "6.2.0", "Bounds may be exclusive."},
    {"xrevrange", "6.2.0", "Bounds may be exclusive."},
    {"xgroup|create", "7.0.0", "ENTRIESREAD."},
    {"xgroup|setid", "7.0.0", "ENTRIESREAD."},
    {"xpending", "6.2.0", "IDLE; bounds may be exclusive."},
    {"xautoclaim", "7.0.0",
     "Also returns the ids that it dropped because their entries were deleted."},
    {"xinfo|stream", "6.0.0", "FULL."},
    {"xinfo|stream", "7.0.0",
     "max-deleted-entry-id, entries-added, recorded-first-entry-id, entries-read and lag."},
    {"xinfo|groups", "7.0.0", "entries-read and lag."},
    {"xsetid", "7.0.0", "ENTRIESADDED and MAXDELETEDID."},

    {"script|flush", "6.2.0", "ASYNC and SYNC."},
    {"auth", "6.0.0", "Takes a user's name."},
    {"hello", "6.2.0", "Without arguments, it describes the connection."},
    {"client|list", "2.8.12", "id."},
    {"client|list", "5.0.0", "TYPE."},
    {"client|list", "6.0.0", "user."},
    {"client|list", "6.2.0", "ID; argv-mem, tot-mem, laddr and redir."},
    {"client|list", "7.0.0", "resp, multi-mem, rbs and rbp."},
    {"client|list", "7.0.3", "ssub."},
    {"client|kill", "2.8.12", "Takes filters."},
    {"client|kill", "2.8.12", "ID."},
    {"client|kill", "3.2.0", "TYPE knows masters."},
    {"client|kill", "5.0.0", "TYPE knows replicas by that name, and still by the old one."},
    {"client|kill", "6.2.0", "LADDR."},
    {"command|info", "7.0.0", "Without names, it describes all commands."},
    {"config|get", "7.0.0", "Takes several patterns."},
    {"config|set", "7.0.0", "Takes several parameters."},
    {"info", "7.0.0", "Takes several sections."},
    {"flushall", "4.0.0", "ASYNC."},
    {"flushall", "6.2.0", "SYNC."},
    {"flushdb", "4.0.0", "ASYNC."},
    {"flushdb", "6.2.0", "SYNC."},
    {"shutdown", "7.0.0", "NOW, FORCE and ABORT."},
};

struct LaterArgument {
  std::string_view command;
  std::string_view argument;  // its word or, without one, its name in COMMAND DOCS
  std::string_view version;
};

constexpr LaterArgument kLaterArguments[] = {
    {"expire", "nx_xx_gt_lt", "7.0.0"},
    {"pexpire", "nx_xx_gt_lt", "7.0.0"},
    {"expireat", "nx_xx_gt_lt", "7.0.0"},
    {"pexpireat", "nx_xx_gt_lt", "7.0.0"},
    {"scan", "TYPE", "6.0.0"},

    {"set", "nx_xx", "2.6.12"},
    {"set", "EX", "2.6.12"},
    {"set", "PX", "2.6.12"},
    {"set", "KEEPTTL", "6.0.0"},
    {"set", "GET", "6.2.0"},
    {"set", "EXAT", "6.2.0"},
    {"set", "PXAT", "6.2.0"},

    {"lpop", "count", "6.2.0"},
    {"rpop", "count", "6.2.0"},

    {"spop", "count", "3.2.0"},
    {"srandmember", "count", "2.6.0"},

    {"zadd", "nx_xx", "3.0.2"},
    {"zadd", "gt_lt", "6.2.0"},
    {"zadd", "CH", "3.0.2"},
    {"zadd", "INCR", "3.0.2"},
    {"zrange", "byscore_bylex", "6.2.0"},
    {"zrange", "REV", "6.2.0"},
    {"zrange", "LIMIT", "6.2.0"},
    {"zrangebyscore", "WITHSCORES", "2.0.0"},

    {"xpending", "IDLE", "6.2.0"},
    {"xtrim", "MINID", "6.2.0"},
    {"xtrim", "LIMIT", "6.2.0"},
    {"xadd", "NOMKSTREAM", "6.2.0"},
    {"xadd", "MINID", "6.2.0"},
    {"xadd", "LIMIT", "6.2.0"},
    {"xsetid", "ENTRIESADDED", "7.0.0"},
    {"xsetid", "MAXDELETEDID", "7.0.0"},

    {"script|flush", "async_sync", "6.2.0"},
    {"auth", "username", "6.0.0"},
    {"client|list", "TYPE", "5.0.0"},
    {"client|list", "ID", "6.2.0"},
    {"client|kill", "ID", "2.8.12"},
    {"client|kill", "TYPE", "2.8.12"},
    {"client|kill", "MASTER", "3.2.0"},
    {"client|kill", "REPLICA", "5.0.0"},
    {"client|kill", "LADDR", "6.2.0"},
    {"flushall", "ASYNC", "4.0.0"},
    {"flushall", "SYNC", "6.2.0"},
    {"flushdb", "ASYNC", "4.0.0"},
    {"flushdb", "SYNC", "6.2.0"},
    {"shutdown", "NOW", "7.0.0"},
    {"shutdown", "FORCE", "7.0.0"},
    {"shutdown", "ABORT", "7.0.0"},
};

}  // namespace

std::span<const CommandChange> changes_of(std::string_view name) {
  const auto is_of_it = [name](const CommandChange& change) { return change.name == name; };
  const auto first = std::ranges::find_if(kChanges, is_of_it);
  return {first, std::find_if_not(first, std::end(kChanges), is_of_it)};
}

std::string_view since_of_argument(std::string_view command, std::string_view argument) {
  const auto later = std::ranges::find_if(kLaterArguments, [&](const LaterArgument& row) {
    return row.command == command && row.argument == argument;
  });
  return later == std::end(kLaterArguments) ? std::string_view() : later->version;
}

}  // namespace rushgate
