// Finds a command's record by its name, and derives facts from the record.
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "engine/core/base/bytes.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_table.h"

namespace rushgate {
namespace {

/// A hash table of the records without subcommands, and a list of those with long names.
class CommandIndex {
 public:
  CommandIndex() {
    assert(2 * command_table().size() <= kSlots);
    for (const CommandSpec& spec : command_table()) {
      if (is_subcommand(spec)) continue;
      if (spec.name.size() > kWordsBytesMax) {
        long_names_.push_back(&spec);
      } else {
        add(spec);
      }
    }
  }

  [[nodiscard]] const CommandSpec* find(std::string_view name) const {
    if (name.size() > kWordsBytesMax) return find_long(name);
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
    ByteWords case_bits;  // the bits in which lower and upper case differ
    const CommandSpec* spec = nullptr;
  };

  static constexpr char kCaseBit = 0x20;
  static constexpr std::size_t kSlots = 1'024;

  [[nodiscard]] const CommandSpec* find_long(std::string_view name) const {
    for (const CommandSpec* const spec : long_names_) {
      if (equal_in_any_case(name, spec->name)) return spec;
    }
    return nullptr;
  }

  void add(const CommandSpec& spec) {
    std::string case_bits(spec.name);
    for (char& c : case_bits)
      c = absl::ascii_isalpha(static_cast<unsigned char>(c)) ? kCaseBit : '\0';
    const ByteWords words = words_of(spec.name);
    std::size_t at = first_slot(words);
    while (slots_[at].spec != nullptr) at = next_slot(at);
    slots_[at] = {words, words_of(case_bits), &spec};
  }

  static std::size_t first_slot(const ByteWords& words) {
    constexpr std::uint64_t kCaseBits = 0x2020'2020'2020'2020;
    constexpr std::uint64_t kFactor = 0x9E37'79B9'7F4A'7C15;  // mixes into the upper bits
    constexpr int kUpperBits = 48;
    const std::uint64_t both = (words.first | kCaseBits) + 3 * (words.last | kCaseBits);
    return both * kFactor >> kUpperBits & (kSlots - 1);
  }
  static constexpr std::size_t next_slot(std::size_t slot) { return (slot + 1) % kSlots; }

  std::array<Slot, kSlots> slots_{};
  std::vector<const CommandSpec*> long_names_;
};

const CommandIndex& command_index() {
  static const CommandIndex kIndex;
  return kIndex;
}

const CommandSpec* find_subcommand(const CommandSpec& container, std::string_view name) {
  for (const CommandSpec& spec : subcommands_of(container)) {
    if (equal_in_any_case(name, spec.name.substr(container.name.size() + 1))) return &spec;
  }
  return nullptr;
}

}  // namespace

const CommandSpec* find_command(std::string_view name) { return command_index().find(name); }

const CommandSpec* find_command(RequestView request) {
  const CommandSpec* const spec = find_command(request[0]);
  if (spec == nullptr || (spec->flags & kContainer) == 0 || request.size() == 1) return spec;
  return find_subcommand(*spec, request[1]);
}

const CommandSpec* find_full_name(std::string_view name) {
  const std::size_t bar = name.find('|');
  const CommandSpec* const spec = find_command(name.substr(0, bar));
  if (spec == nullptr || bar == std::string_view::npos) return spec;
  return find_subcommand(*spec, name.substr(bar + 1));
}

std::span<const CommandSpec> subcommands_of(const CommandSpec& container) {
  if ((container.flags & kContainer) == 0) return {};
  const CommandSpec* const first = &container + 1;
  const CommandSpec* const end = command_table().data() + command_table().size();
  const CommandSpec* last = first;
  while (last != end && last->name.size() > container.name.size() &&
         last->name.starts_with(container.name) && last->name[container.name.size()] == '|') {
    ++last;
  }
  return {first, last};
}

std::vector<FoundKey> find_keys(const CommandSpec& spec, RequestView request) {
  if (spec.key_flags == nullptr) return find_keys(spec.keys, request);
  return {{static_cast<std::size_t>(spec.keys.begin()->first), spec.key_flags(request)}};
}

bool arity_fits(const CommandSpec& spec, std::size_t arguments) {
  const auto given = static_cast<std::int64_t>(arguments);
  return spec.arity >= 0 ? given == spec.arity : given >= -spec.arity;
}

std::vector<std::string_view> flag_names(const CommandSpec& spec) {
  // In the order of their bits.
  static constexpr std::string_view kNames[] = {
      "write",    "readonly",     "denyoom",           "admin",
      "pubsub",   "noscript",     "blocking",          "loading",
      "stale",    "skip_monitor", "skip_slowlog",      "asking",
      "fast",     "no_auth",      "no_mandatory_keys", "no_async_loading",
      "no_multi", "allow_busy",
  };
  std::vector<std::string_view> names;
  for (std::size_t bit = 0; bit < std::size(kNames); ++bit) {
    if ((spec.flags >> bit & 1U) != 0) names.push_back(kNames[bit]);
  }
  if (are_movable(spec.keys)) names.emplace_back("movablekeys");
  return names;
}

std::string_view group_name(CommandGroup group) {
  // In the order of the enumeration.
  static constexpr std::string_view kNames[] = {
      "generic",    "string",     "bitmap",    "hyperloglog", "hash",   "list",
      "set",        "sorted-set", "geo",       "stream",      "pubsub", "transactions",
      "connection", "server",     "scripting", "cluster",     "module",
  };
  return kNames[static_cast<std::size_t>(group)];
}

}  // namespace rushgate
