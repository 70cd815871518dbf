#include "engine/core/client/command_traits.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"

namespace rushgate {
namespace {

constexpr CommandTraits kMayBlockFirstSeconds = {ConnectionUse::kMayBlock,
                                                 BlockTimeout::kFirstSeconds};
constexpr CommandTraits kMayBlockLastSeconds = {ConnectionUse::kMayBlock,
                                                BlockTimeout::kLastSeconds};
constexpr CommandTraits kMayBlockLastMs = {ConnectionUse::kMayBlock, BlockTimeout::kLastMs};
constexpr CommandTraits kMayBlockByOption = {ConnectionUse::kMayBlock, BlockTimeout::kBlockOption};

// Most subcommands of CLIENT are about the connection, probably also those of later versions.
constexpr std::array kNamed = {
    NamedCommandTraits{"asking", {ConnectionUse::kChangesState}},
    NamedCommandTraits{"auth", {ConnectionUse::kChangesState}},
    NamedCommandTraits{"blmove", kMayBlockLastSeconds},
    NamedCommandTraits{"blmpop", kMayBlockFirstSeconds},
    NamedCommandTraits{"blpop", kMayBlockLastSeconds},
    NamedCommandTraits{"brpop", kMayBlockLastSeconds},
    NamedCommandTraits{"brpoplpush", kMayBlockLastSeconds},
    NamedCommandTraits{"bzmpop", kMayBlockFirstSeconds},
    NamedCommandTraits{"bzpopmax", kMayBlockLastSeconds},
    NamedCommandTraits{"bzpopmin", kMayBlockLastSeconds},
    NamedCommandTraits{"client", {ConnectionUse::kChangesState}},
    NamedCommandTraits{"client|caching", {ConnectionUse::kUnsupported}},
    NamedCommandTraits{"client|kill", {ConnectionUse::kOrdinary}},
    NamedCommandTraits{"client|list", {ConnectionUse::kOrdinary}},
    NamedCommandTraits{"client|pause", {ConnectionUse::kOrdinary}},
    NamedCommandTraits{"client|reply", {ConnectionUse::kUnsupported}},
    NamedCommandTraits{"client|tracking", {ConnectionUse::kUnsupported}},
    NamedCommandTraits{"client|unblock", {ConnectionUse::kOrdinary}},
    NamedCommandTraits{"client|unpause", {ConnectionUse::kOrdinary}},
    NamedCommandTraits{"discard", {ConnectionUse::kEndsTransaction}},
    NamedCommandTraits{"exec", {ConnectionUse::kEndsTransaction}},
    NamedCommandTraits{"hello", {ConnectionUse::kUnsupported}},
    NamedCommandTraits{"monitor", {ConnectionUse::kUnsupported}},
    NamedCommandTraits{"multi", {ConnectionUse::kBeginsTransaction}},
    NamedCommandTraits{"psubscribe", {ConnectionUse::kSubscribes}},
    NamedCommandTraits{"psync", {ConnectionUse::kUnsupported}},
    NamedCommandTraits{"punsubscribe", {ConnectionUse::kSubscribes}},
    NamedCommandTraits{"quit", {ConnectionUse::kChangesState}},
    NamedCommandTraits{"readonly", {ConnectionUse::kChangesState}},
    NamedCommandTraits{"readwrite", {ConnectionUse::kChangesState}},
    NamedCommandTraits{"replconf", {ConnectionUse::kUnsupported}},
    NamedCommandTraits{"reset", {ConnectionUse::kChangesState}},
    NamedCommandTraits{"script|debug", {ConnectionUse::kUnsupported}},
    NamedCommandTraits{"select", {ConnectionUse::kChangesState}},
    NamedCommandTraits{"ssubscribe", {ConnectionUse::kSubscribes}},
    NamedCommandTraits{"subscribe", {ConnectionUse::kSubscribes}},
    NamedCommandTraits{"sunsubscribe", {ConnectionUse::kSubscribes}},
    NamedCommandTraits{"sync", {ConnectionUse::kUnsupported}},
    NamedCommandTraits{"unsubscribe", {ConnectionUse::kSubscribes}},
    NamedCommandTraits{"unwatch", {ConnectionUse::kUnwatches}},
    NamedCommandTraits{"wait", kMayBlockLastMs},
    NamedCommandTraits{"waitaof", kMayBlockLastMs},
    NamedCommandTraits{"watch", {ConnectionUse::kWatches}},
    NamedCommandTraits{"xread", kMayBlockByOption},
    NamedCommandTraits{"xreadgroup", kMayBlockByOption},
};

constexpr std::size_t kNameMax = std::ranges::max(kNamed, {}, [](const NamedCommandTraits& named) {
                                   return named.name.size();
                                 }).name.size();

const CommandTraits* find_traits(std::string_view name) {
  static const auto by_name = [] {
    absl::flat_hash_map<std::string_view, CommandTraits> map;
    for (const auto& [its_name, traits] : kNamed) map.emplace(its_name, traits);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : &found->second;
}

/// A name in lower case, of up to kNameMax letters: longer ones have no row.
class ShortName {
 public:
  /// Appends a word. Returns false if it is too long.
  bool append(std::string_view word) {
    if (word.size() > kNameMax - size_) return false;
    for (const char letter : word)
      letters_[size_++] = absl::ascii_tolower(static_cast<unsigned char>(letter));
    return true;
  }
  [[nodiscard]] std::string_view text() const { return {letters_.data(), size_}; }

 private:
  std::array<char, kNameMax> letters_{};
  std::size_t size_ = 0;
};

}  // namespace

std::span<const NamedCommandTraits> named_command_traits() { return kNamed; }

CommandTraits command_traits(std::string_view name) {
  if (const CommandTraits* const own = find_traits(name)) return *own;
  const CommandTraits* const containers = find_traits(name.substr(0, name.find('|')));
  return containers != nullptr ? *containers : CommandTraits();
}

CommandTraits command_traits(const Request& request) {
  ShortName name;
  if (!name.append(request[0])) return {};
  if (request.size() == 1) return command_traits(name.text());
  const CommandTraits* const containers = find_traits(name.text());
  if (name.append("|") && name.append(request[1])) {
    if (const CommandTraits* const own = find_traits(name.text())) return *own;
  }
  return containers != nullptr ? *containers : CommandTraits();
}

}  // namespace rushgate
