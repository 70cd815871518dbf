#include "engine/core/client/command_traits.h"

#include <array>

#include "engine/core/client/command_names.h"

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

const CommandNames<NamedCommandTraits>& by_name() {
  static const CommandNames<NamedCommandTraits> kByName(kNamed);
  return kByName;
}

}  // namespace

std::span<const NamedCommandTraits> named_command_traits() { return kNamed; }

CommandTraits command_traits(std::string_view name) {
  const NamedCommandTraits* found = by_name().find(name);
  if (found == nullptr) found = by_name().find(name.substr(0, name.find('|')));
  return found != nullptr ? found->traits : CommandTraits();
}

CommandTraits command_traits(const Request& request) {
  const NamedCommandTraits* const found = by_name().find(request);
  return found != nullptr ? found->traits : CommandTraits();
}

}  // namespace rushgate
