#include "engine/commands/command_table.h"

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "engine/base/bytes.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/errors.h"
#include "engine/commands/transactions.h"

namespace rushgate {
namespace {

constexpr CommandSpec kCommands[] = {
    // name, function, arity, flags, keys: first, last, step
    {"auth", auth_command, -2, kNoScript | kAllowBusy | kFast | kNoAuth | kEndsBatch, 0, 0, 0},
    {"client", client_command, -2, kNoScript | kContainer | kEndsBatch, 0, 0, 0},
    {"echo", echo_command, 2, kFast, 0, 0, 0},
    {"hello", hello_command, -1, kNoScript | kAllowBusy | kFast | kNoAuth | kEndsBatch, 0, 0, 0},
    {"ping", ping_command, -1, kFast | kPubSub, 0, 0, 0},
    {"quit", quit_command, -1,
     kNoScript | kAllowBusy | kFast | kNoAuth | kNotQueued | kPubSub | kEndsBatch, 0, 0, 0},
    {"reset", reset_command, 1,
     kNoScript | kAllowBusy | kFast | kNoAuth | kNotQueued | kPubSub | kEndsBatch, 0, 0, 0},
    {"select", select_command, 2, kFast, 0, 0, 0},

    {"subscribe", subscribe_command, -2, kNoScript | kPubSub, 0, 0, 0},
    {"unsubscribe", unsubscribe_command, -1, kNoScript | kPubSub, 0, 0, 0},
    {"psubscribe", psubscribe_command, -2, kNoScript | kPubSub, 0, 0, 0},
    {"punsubscribe", punsubscribe_command, -1, kNoScript | kPubSub, 0, 0, 0},
    {"ssubscribe", ssubscribe_command, -2, kNoScript | kPubSub, 1, -1, 1},
    {"sunsubscribe", sunsubscribe_command, -1, kNoScript | kPubSub, 1, -1, 1},
    {"publish", publish_command, 3, kFast, 0, 0, 0},
    {"spublish", spublish_command, 3, kFast, 1, 1, 1},
    {"pubsub", pubsub_command, -2, kContainer, 0, 0, 0},

    {"multi", multi_command, 1, kNoScript | kAllowBusy | kFast | kNotQueued, 0, 0, 0},
    {"exec", exec_command, 1, kNoScript | kNotQueued | kEndsBatch, 0, 0, 0},
    {"discard", discard_command, 1, kNoScript | kAllowBusy | kFast | kNotQueued, 0, 0, 0},
    {"watch", watch_command, -2, kNoScript | kAllowBusy | kFast | kNotQueued, 1, -1, 1},
    {"unwatch", unwatch_command, 1, kNoScript | kAllowBusy | kFast, 0, 0, 0},

    {"time", time_command, 1, kFast, 0, 0, 0},
    {"dbsize", dbsize_command, 1, kReadOnly | kFast, 0, 0, 0},
    {"flushdb", flushdb_command, -1, kWrite, 0, 0, 0},
    {"flushall", flushall_command, -1, kWrite, 0, 0, 0},

    {"swapdb", swapdb_command, 3, kWrite | kFast, 0, 0, 0},
    {"config", config_command, -2, kNoScript, 0, 0, 0},

    {"del", del_command, -2, kWrite, 1, -1, 1},
    {"unlink", del_command, -2, kWrite | kFast, 1, -1, 1},
    {"exists", exists_command, -2, kReadOnly | kFast, 1, -1, 1},
    {"type", type_command, 2, kReadOnly | kFast, 1, 1, 1},
    {"touch", touch_command, -2, kReadOnly | kFast, 1, -1, 1},
    {"object", object_command, -2, kReadOnly, 2, 2, 1},
    {"keys", keys_command, 2, kReadOnly, 0, 0, 0},
    {"scan", scan_command, -2, kReadOnly, 0, 0, 0},
    {"randomkey", randomkey_command, 1, kReadOnly, 0, 0, 0},
    {"rename", rename_command, 3, kWrite, 1, 2, 1},
    {"renamenx", renamenx_command, 3, kWrite | kFast, 1, 2, 1},
    {"move", move_command, 3, kWrite | kFast, 1, 1, 1},
    {"copy", copy_command, -3, kWrite | kDenyOom, 1, 2, 1},
    {"expire", expire_command, -3, kWrite | kFast, 1, 1, 1},
    {"pexpire", pexpire_command, -3, kWrite | kFast, 1, 1, 1},
    {"expireat", expireat_command, -3, kWrite | kFast, 1, 1, 1},
    {"pexpireat", pexpireat_command, -3, kWrite | kFast, 1, 1, 1},
    {"expiretime", expiretime_command, 2, kReadOnly | kFast, 1, 1, 1},
    {"pexpiretime", pexpiretime_command, 2, kReadOnly | kFast, 1, 1, 1},
    {"ttl", ttl_command, 2, kReadOnly | kFast, 1, 1, 1},
    {"pttl", pttl_command, 2, kReadOnly | kFast, 1, 1, 1},
    {"persist", persist_command, 2, kWrite | kFast, 1, 1, 1},

    {"get", get_command, 2, kReadOnly | kFast, 1, 1, 1},
    {"set", set_command, -3, kWrite | kDenyOom, 1, 1, 1},
    {"setnx", setnx_command, 3, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"mget", mget_command, -2, kReadOnly | kFast, 1, -1, 1},
    {"mset", mset_command, -3, kWrite | kDenyOom, 1, -1, 2},
    {"msetnx", msetnx_command, -3, kWrite | kDenyOom, 1, -1, 2},
    {"setex", setex_command, 4, kWrite | kDenyOom, 1, 1, 1},
    {"psetex", psetex_command, 4, kWrite | kDenyOom, 1, 1, 1},
    {"getset", getset_command, 3, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"getdel", getdel_command, 2, kWrite | kFast, 1, 1, 1},
    {"getex", getex_command, -2, kWrite | kFast, 1, 1, 1},
    {"strlen", strlen_command, 2, kReadOnly | kFast, 1, 1, 1},
    {"append", append_command, 3, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"setrange", setrange_command, 4, kWrite | kDenyOom, 1, 1, 1},
    {"getrange", getrange_command, 4, kReadOnly, 1, 1, 1},
    {"substr", getrange_command, 4, kReadOnly, 1, 1, 1},
    {"lcs", lcs_command, -3, kReadOnly, 1, 2, 1},
    {"incrbyfloat", incrbyfloat_command, 3, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"incr", incr_command, 2, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"incrby", incrby_command, 3, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"decr", decr_command, 2, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"decrby", decrby_command, 3, kWrite | kDenyOom | kFast, 1, 1, 1},

    {"hget", hget_command, 3, kReadOnly | kFast, 1, 1, 1},
    {"hset", hset_command, -4, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"hmget", hmget_command, -3, kReadOnly | kFast, 1, 1, 1},
    {"hgetall", hgetall_command, 2, kReadOnly, 1, 1, 1},
    {"hincrby", hincrby_command, 4, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"hdel", hdel_command, -3, kWrite | kFast, 1, 1, 1},
    {"hlen", hlen_command, 2, kReadOnly | kFast, 1, 1, 1},
    {"hexists", hexists_command, 3, kReadOnly | kFast, 1, 1, 1},
    {"hsetnx", hsetnx_command, 4, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"hmset", hmset_command, -4, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"hincrbyfloat", hincrbyfloat_command, 4, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"hkeys", hkeys_command, 2, kReadOnly, 1, 1, 1},
    {"hvals", hvals_command, 2, kReadOnly, 1, 1, 1},
    {"hstrlen", hstrlen_command, 3, kReadOnly | kFast, 1, 1, 1},
    {"hrandfield", hrandfield_command, -2, kReadOnly, 1, 1, 1},
    {"hscan", hscan_command, -3, kReadOnly, 1, 1, 1},

    {"sadd", sadd_command, -3, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"srem", srem_command, -3, kWrite | kFast, 1, 1, 1},
    {"sismember", sismember_command, 3, kReadOnly | kFast, 1, 1, 1},
    {"smismember", smismember_command, -3, kReadOnly | kFast, 1, 1, 1},
    {"scard", scard_command, 2, kReadOnly | kFast, 1, 1, 1},
    {"smembers", smembers_command, 2, kReadOnly, 1, 1, 1},
    {"smove", smove_command, 4, kWrite | kFast, 1, 2, 1},
    {"spop", spop_command, -2, kWrite | kFast, 1, 1, 1},
    {"srandmember", srandmember_command, -2, kReadOnly, 1, 1, 1},
    {"sscan", sscan_command, -3, kReadOnly, 1, 1, 1},
    {"sinter", sinter_command, -2, kReadOnly, 1, -1, 1},
    {"sinterstore", sinterstore_command, -3, kWrite | kDenyOom, 1, -1, 1},
    {"sintercard", sintercard_command, -3, kReadOnly | kMovableKeys, 0, 0, 0},
    {"sunion", sunion_command, -2, kReadOnly, 1, -1, 1},
    {"sunionstore", sunionstore_command, -3, kWrite | kDenyOom, 1, -1, 1},
    {"sdiff", sdiff_command, -2, kReadOnly, 1, -1, 1},
    {"sdiffstore", sdiffstore_command, -3, kWrite | kDenyOom, 1, -1, 1},

    {"lpush", lpush_command, -3, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"rpush", rpush_command, -3, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"lpushx", lpushx_command, -3, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"rpushx", rpushx_command, -3, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"lpop", lpop_command, -2, kWrite | kFast, 1, 1, 1},
    {"rpop", rpop_command, -2, kWrite | kFast, 1, 1, 1},
    {"llen", llen_command, 2, kReadOnly | kFast, 1, 1, 1},
    {"lindex", lindex_command, 3, kReadOnly, 1, 1, 1},
    {"lrange", lrange_command, 4, kReadOnly, 1, 1, 1},
    {"lset", lset_command, 4, kWrite | kDenyOom, 1, 1, 1},
    {"linsert", linsert_command, 5, kWrite | kDenyOom, 1, 1, 1},
    {"lrem", lrem_command, 4, kWrite, 1, 1, 1},
    {"ltrim", ltrim_command, 4, kWrite, 1, 1, 1},
    {"lpos", lpos_command, -3, kReadOnly, 1, 1, 1},
    {"lmpop", lmpop_command, -4, kWrite | kMovableKeys, 0, 0, 0},
    {"lmove", lmove_command, 5, kWrite | kDenyOom, 1, 2, 1},
    {"rpoplpush", rpoplpush_command, 3, kWrite | kDenyOom, 1, 2, 1},
    {"blpop", blpop_command, -3, kWrite | kNoScript | kBlocking, 1, -2, 1},
    {"brpop", brpop_command, -3, kWrite | kNoScript | kBlocking, 1, -2, 1},
    {"blmpop", blmpop_command, -5, kWrite | kBlocking | kMovableKeys, 0, 0, 0},
    {"blmove", blmove_command, 6, kWrite | kDenyOom | kNoScript | kBlocking, 1, 2, 1},
    {"brpoplpush", brpoplpush_command, 4, kWrite | kDenyOom | kNoScript | kBlocking, 1, 2, 1},
    {"zadd", zadd_command, -4, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"zincrby", zincrby_command, 4, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"zrem", zrem_command, -3, kWrite | kFast, 1, 1, 1},
    {"zcard", zcard_command, 2, kReadOnly | kFast, 1, 1, 1},
    {"zscore", zscore_command, 3, kReadOnly | kFast, 1, 1, 1},
    {"zmscore", zmscore_command, -3, kReadOnly | kFast, 1, 1, 1},
    {"zrank", zrank_command, 3, kReadOnly | kFast, 1, 1, 1},
    {"zrevrank", zrevrank_command, 3, kReadOnly | kFast, 1, 1, 1},
    {"zrandmember", zrandmember_command, -2, kReadOnly, 1, 1, 1},
    {"zscan", zscan_command, -3, kReadOnly, 1, 1, 1},

    {"zcount", zcount_command, 4, kReadOnly | kFast, 1, 1, 1},
    {"zlexcount", zlexcount_command, 4, kReadOnly | kFast, 1, 1, 1},
    {"zrange", zrange_command, -4, kReadOnly, 1, 1, 1},
    {"zrangestore", zrangestore_command, -5, kWrite | kDenyOom, 1, 2, 1},
    {"zrevrange", zrevrange_command, -4, kReadOnly, 1, 1, 1},
    {"zrangebyscore", zrangebyscore_command, -4, kReadOnly, 1, 1, 1},
    {"zrevrangebyscore", zrevrangebyscore_command, -4, kReadOnly, 1, 1, 1},
    {"zrangebylex", zrangebylex_command, -4, kReadOnly, 1, 1, 1},
    {"zrevrangebylex", zrevrangebylex_command, -4, kReadOnly, 1, 1, 1},
    {"zremrangebyrank", zremrangebyrank_command, 4, kWrite, 1, 1, 1},
    {"zremrangebyscore", zremrangebyscore_command, 4, kWrite, 1, 1, 1},
    {"zremrangebylex", zremrangebylex_command, 4, kWrite, 1, 1, 1},

    {"zpopmin", zpopmin_command, -2, kWrite | kFast, 1, 1, 1},
    {"zpopmax", zpopmax_command, -2, kWrite | kFast, 1, 1, 1},
    {"zmpop", zmpop_command, -4, kWrite | kMovableKeys, 0, 0, 0},
    {"bzpopmin", bzpopmin_command, -3, kWrite | kNoScript | kBlocking | kFast, 1, -2, 1},
    {"bzpopmax", bzpopmax_command, -3, kWrite | kNoScript | kBlocking | kFast, 1, -2, 1},
    {"bzmpop", bzmpop_command, -5, kWrite | kBlocking | kMovableKeys, 0, 0, 0},

    {"zunion", zunion_command, -3, kReadOnly | kMovableKeys, 0, 0, 0},
    {"zunionstore", zunionstore_command, -4, kWrite | kDenyOom | kMovableKeys, 1, 1, 1},
    {"zinter", zinter_command, -3, kReadOnly | kMovableKeys, 0, 0, 0},
    {"zinterstore", zinterstore_command, -4, kWrite | kDenyOom | kMovableKeys, 1, 1, 1},
    {"zintercard", zintercard_command, -3, kReadOnly | kMovableKeys, 0, 0, 0},
    {"zdiff", zdiff_command, -3, kReadOnly | kMovableKeys, 0, 0, 0},
    {"zdiffstore", zdiffstore_command, -4, kWrite | kDenyOom | kMovableKeys, 1, 1, 1},

    {"xadd", xadd_command, -5, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"xlen", xlen_command, 2, kReadOnly | kFast, 1, 1, 1},
    {"xrange", xrange_command, -4, kReadOnly, 1, 1, 1},
    {"xrevrange", xrevrange_command, -4, kReadOnly, 1, 1, 1},
    {"xdel", xdel_command, -3, kWrite | kFast, 1, 1, 1},
    {"xtrim", xtrim_command, -4, kWrite, 1, 1, 1},
    {"xread", xread_command, -4, kReadOnly | kBlocking | kMovableKeys, 0, 0, 0},

    {"xgroup", xgroup_command, -2, kWrite | kDenyOom | kContainer, 2, 2, 1},
    {"xreadgroup", xreadgroup_command, -7, kWrite | kBlocking | kMovableKeys, 0, 0, 0},
    {"xack", xack_command, -4, kWrite | kFast, 1, 1, 1},
    {"xpending", xpending_command, -3, kReadOnly, 1, 1, 1},
    {"xclaim", xclaim_command, -6, kWrite | kFast, 1, 1, 1},
    {"xautoclaim", xautoclaim_command, -6, kWrite | kFast, 1, 1, 1},
    {"xinfo", xinfo_command, -2, kReadOnly | kContainer, 2, 2, 1},

    {"eval", eval_command, -3, kNoScript | kMovableKeys, 0, 0, 0},
    {"evalsha", evalsha_command, -3, kNoScript | kMovableKeys, 0, 0, 0},
    {"eval_ro", eval_ro_command, -3, kNoScript | kReadOnly | kMovableKeys, 0, 0, 0},
    {"evalsha_ro", evalsha_ro_command, -3, kNoScript | kReadOnly | kMovableKeys, 0, 0, 0},
    {"fcall", fcall_command, -3, kNoScript | kWrite | kMovableKeys, 0, 0, 0},
    {"script", script_command, -2, kNoScript | kAllowBusy | kContainer, 0, 0, 0},
};

// ---- Finding a row by its name ----

/// A hash table of the rows.
class CommandIndex {
 public:
  CommandIndex() {
    for (const CommandSpec& spec : kCommands) {
      assert(spec.name.size() <= kWordsBytesMax);
      std::string case_bits(spec.name);
      for (char& c : case_bits)
        c = absl::ascii_isalpha(static_cast<unsigned char>(c)) ? kCaseBit : '\0';
      const ByteWords words = words_of(spec.name);
      std::size_t at = first_slot(words);
      while (slots_[at].spec != nullptr) at = next_slot(at);
      slots_[at] = {words, words_of(case_bits), &spec};
    }
  }

  [[nodiscard]] const CommandSpec* find(std::string_view name) const {
    if (name.size() > kWordsBytesMax) return nullptr;
    const ByteWords words = words_of(name);
    for (std::size_t at = first_slot(words); slots_[at].spec != nullptr; at = next_slot(at)) {
      const Slot& slot = slots_[at];
      if (slot.spec->name.size() == name.size() &&
          ((words.first ^ slot.words.first) & ~slot.case_bits.first) == 0 &&
          ((words.last ^ slot.words.last) & ~slot.case_bits.last) == 0) {
        return slot.spec;
      }
    }
    return nullptr;
  }

 private:
  struct Slot {
    ByteWords words;
    ByteWords case_bits;  // in which small letters and capitals differ
    const CommandSpec* spec = nullptr;
  };

  static constexpr char kCaseBit = 0x20;
  static constexpr std::size_t kSlots = std::bit_ceil(2 * std::size(kCommands));

  static std::size_t first_slot(const ByteWords& words) {
    constexpr std::uint64_t kCaseBits = 0x2020'2020'2020'2020;
    constexpr std::uint64_t kFactor = 0x9E37'79B9'7F4A'7C15;  // mixes into the upper bits
    constexpr int kUpperBits = 48;
    const std::uint64_t both = (words.first | kCaseBits) + 3 * (words.last | kCaseBits);
    return both * kFactor >> kUpperBits & (kSlots - 1);
  }
  static constexpr std::size_t next_slot(std::size_t slot) { return (slot + 1) % kSlots; }

  std::array<Slot, kSlots> slots_{};
};

const CommandIndex& command_index() {
  static const CommandIndex kIndex;
  return kIndex;
}

bool arity_fits(const CommandSpec& spec, std::size_t arguments) {
  const auto given = static_cast<std::int64_t>(arguments);
  return spec.arity >= 0 ? given == spec.arity : given >= -spec.arity;
}

}  // namespace

std::span<const CommandSpec> command_table() { return kCommands; }

const CommandSpec* find_command(std::string_view name) { return command_index().find(name); }

namespace {

/// May the command, whose row is `spec`, not run here? Then `why` says why.
bool is_refused(const CommandContext& context, const CommandSpec* spec, Reply& why) {
  const auto refuse = [&why](Reply refusal) {
    why = std::move(refusal);
    return true;
  };
  if (spec == nullptr)
    return refuse(context.in_script() ? errors::unknown_in_script()
                                      : errors::unknown_command(context.request()));
  if (!arity_fits(*spec, context.size())) {
    return refuse(context.in_script() ? errors::arity_in_script()
                                      : errors::wrong_arity(spec->name));
  }
  if (!context.session().is_authenticated && (spec->flags & kNoAuth) == 0)
    return refuse(errors::not_authenticated());
  const Session& session = context.session();
  // What EXEC runs was taken before.
  if (context.may_wait() && session.protocol == 2 && !session.subscriptions.empty() &&
      (spec->flags & kPubSub) == 0)
    return refuse(errors::only_subscriptions(spec->name));
  if (context.in_script() && (spec->flags & kNoScript) != 0)
    return refuse(errors::not_from_script());
  if ((spec->flags & kWrite) != 0) {
    if (context.read_only()) return refuse(errors::write_in_read_only_script());
    if (!context.services().write_refusal.empty())
      return refuse(Reply::error(context.services().write_refusal));
  }
  return false;
}

/// For CLIENT LIST.
void note_command(Session& session, const CommandSpec* spec, const CommandContext& context) {
  session.last_ms = context.now_ms();
  session.last_command = spec;
  if (spec != nullptr && (spec->flags & kContainer) != 0 && context.size() > 1) {
    session.last_subcommand = context[1];
  }
}

}  // namespace

Reply run_command(CommandContext& context) {
  const CommandSpec* const spec = find_command(context[0]);
  Reply why;
  return is_refused(context, spec, why) ? why : spec->function(context);
}

Reply run_client_command(CommandContext& context) {
  Session& session = context.session();
  const CommandSpec* const spec = find_command(context[0]);
  Reply why;
  const bool refused = is_refused(context, spec, why);
  note_command(session, spec, context);
  if (refused && spec != nullptr && spec->function == exec_command) {
    end_transaction(context);
    return errors::transaction_aborted(why);
  }
  if (!session.transaction) return refused ? why : spec->function(context);
  if (refused) {
    session.transaction->is_broken = true;
    return why;
  }
  if ((spec->flags & kNotQueued) != 0) return spec->function(context);
  session.transaction->requests.emplace_back(context.request());
  return Reply::status("QUEUED");
}

}  // namespace rushgate
