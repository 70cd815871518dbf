#include "engine/commands/command_table.h"

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/errors.h"

namespace rushgate {
namespace {

constexpr CommandSpec kCommands[] = {
    // name, function, arity, flags, keys: first, last, step
    {"ping", ping_command, -1, kFast, 0, 0, 0},
    {"select", select_command, 2, kFast, 0, 0, 0},

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

    {"xadd", xadd_command, -5, kWrite | kDenyOom | kFast, 1, 1, 1},
    {"xlen", xlen_command, 2, kReadOnly | kFast, 1, 1, 1},
    {"xrange", xrange_command, -4, kReadOnly, 1, 1, 1},
    {"xrevrange", xrevrange_command, -4, kReadOnly, 1, 1, 1},
    {"xdel", xdel_command, -3, kWrite | kFast, 1, 1, 1},
    {"xtrim", xtrim_command, -4, kWrite, 1, 1, 1},
    {"xread", xread_command, -4, kReadOnly | kBlocking | kMovableKeys, 0, 0, 0},

    {"xgroup", xgroup_command, -2, kWrite | kDenyOom, 2, 2, 1},
    {"xreadgroup", xreadgroup_command, -7, kWrite | kBlocking | kMovableKeys, 0, 0, 0},
    {"xack", xack_command, -4, kWrite | kFast, 1, 1, 1},
    {"xpending", xpending_command, -3, kReadOnly, 1, 1, 1},
    {"xclaim", xclaim_command, -6, kWrite | kFast, 1, 1, 1},
    {"xautoclaim", xautoclaim_command, -6, kWrite | kFast, 1, 1, 1},
    {"xinfo", xinfo_command, -2, kReadOnly, 2, 2, 1},

    {"eval", eval_command, -3, kNoScript | kMovableKeys, 0, 0, 0},
    {"evalsha", evalsha_command, -3, kNoScript | kMovableKeys, 0, 0, 0},
    {"eval_ro", eval_ro_command, -3, kNoScript | kReadOnly | kMovableKeys, 0, 0, 0},
    {"evalsha_ro", evalsha_ro_command, -3, kNoScript | kReadOnly | kMovableKeys, 0, 0, 0},
    {"fcall", fcall_command, -3, kNoScript | kWrite | kMovableKeys, 0, 0, 0},
    {"script", script_command, -2, kNoScript | kAllowBusy, 0, 0, 0},
};

// ---- Finding a row by its name ----

constexpr std::size_t kNameBytesMax = 16;

/// A name in two words, the first bytes and the last, which overlap in a short one: those of two
/// names of one length are equal only if the names are.
struct NameWords {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

template <class Word>
NameWords ends_of(std::string_view name) {
  Word first = 0;
  Word last = 0;
  std::memcpy(&first, name.data(), sizeof(Word));
  std::memcpy(&last, name.data() + name.size() - sizeof(Word), sizeof(Word));
  return {first, last};
}

/// `name` has at most kNameBytesMax bytes.
NameWords words_of(std::string_view name) {
  if (name.size() >= sizeof(std::uint64_t)) return ends_of<std::uint64_t>(name);
  if (name.size() >= sizeof(std::uint32_t)) return ends_of<std::uint32_t>(name);
  if (name.size() >= sizeof(std::uint16_t)) return ends_of<std::uint16_t>(name);
  return name.empty() ? NameWords{} : ends_of<std::uint8_t>(name);
}

/// A hash table of the rows.
class CommandIndex {
 public:
  CommandIndex() {
    for (const CommandSpec& spec : kCommands) {
      assert(spec.name.size() <= kNameBytesMax);
      std::string case_bits(spec.name);
      for (char& c : case_bits)
        c = absl::ascii_isalpha(static_cast<unsigned char>(c)) ? kCaseBit : '\0';
      const NameWords words = words_of(spec.name);
      std::size_t at = first_slot(words);
      while (slots_[at].spec != nullptr) at = next_slot(at);
      slots_[at] = {words, words_of(case_bits), &spec};
    }
  }

  [[nodiscard]] const CommandSpec* find(std::string_view name) const {
    if (name.size() > kNameBytesMax) return nullptr;
    const NameWords words = words_of(name);
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
    NameWords words;
    NameWords case_bits;  // in which small letters and capitals differ
    const CommandSpec* spec = nullptr;
  };

  static constexpr char kCaseBit = 0x20;
  static constexpr std::size_t kSlots = std::bit_ceil(2 * std::size(kCommands));

  static std::size_t first_slot(const NameWords& words) {
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

Reply run_command(CommandContext& context) {
  const CommandSpec* spec = find_command(context[0]);
  if (spec == nullptr)
    return context.in_script() ? errors::unknown_in_script()
                               : errors::unknown_command(context.request());
  if (!arity_fits(*spec, context.size())) {
    return context.in_script() ? errors::arity_in_script() : errors::wrong_arity(spec->name);
  }
  if (context.in_script() && (spec->flags & kNoScript) != 0) return errors::not_from_script();
  if ((spec->flags & kWrite) != 0) {
    if (context.read_only()) return errors::write_in_read_only_script();
    if (!context.services().write_refusal.empty())
      return Reply::error(context.services().write_refusal);
  }
  return spec->function(context);
}

}  // namespace rushgate
