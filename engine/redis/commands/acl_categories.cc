#include "engine/redis/commands/acl_categories.h"

namespace rushgate {
namespace {

bool has(const CommandSpec& spec, CommandFlags flags) { return (spec.flags & flags) != 0; }

/// A container command without a function is in no group's category.
bool is_of(const CommandSpec& spec, CommandGroup group) {
  return spec.group == group && spec.function != nullptr;
}

/// Returns true for commands on a collection, and for SORT.
bool is_on(const CommandSpec& spec, CommandGroup collection) {
  return is_of(spec, collection) || has(spec, kAclSorts);
}

struct Category {
  std::string_view name;
  bool (*has_command)(const CommandSpec& spec);
};

constexpr Category kCategories[] = {
    {"keyspace",
     [](const CommandSpec& spec) {
       const bool is_general =
           is_of(spec, CommandGroup::kGeneric) && !has(spec, kAclSorts | kAclConnection);
       return is_general || has(spec, kAclKeyspace);
     }},
    {"read",
     [](const CommandSpec& spec) {
       return has(spec, kReadOnly) && !is_of(spec, CommandGroup::kScripting);
     }},
    {"write", [](const CommandSpec& spec) { return has(spec, kWrite); }},
    {"set", [](const CommandSpec& spec) { return is_on(spec, CommandGroup::kSet); }},
    {"sortedset", [](const CommandSpec& spec) { return is_on(spec, CommandGroup::kSortedSet); }},
    {"list", [](const CommandSpec& spec) { return is_on(spec, CommandGroup::kList); }},
    {"hash", [](const CommandSpec& spec) { return is_of(spec, CommandGroup::kHash); }},
    {"string", [](const CommandSpec& spec) { return is_of(spec, CommandGroup::kString); }},
    {"bitmap", [](const CommandSpec& spec) { return is_of(spec, CommandGroup::kBitmap); }},
    {"hyperloglog",
     [](const CommandSpec& spec) { return is_of(spec, CommandGroup::kHyperLogLog); }},
    {"geo", [](const CommandSpec& spec) { return is_of(spec, CommandGroup::kGeo); }},
    {"stream", [](const CommandSpec& spec) { return is_of(spec, CommandGroup::kStream); }},
    {"pubsub", [](const CommandSpec& spec) { return has(spec, kPubSub); }},
    {"admin", [](const CommandSpec& spec) { return has(spec, kAdmin | kAclAdmin); }},
    {"fast", [](const CommandSpec& spec) { return has(spec, kFast); }},
    {"slow", [](const CommandSpec& spec) { return !has(spec, kFast); }},
    {"blocking", [](const CommandSpec& spec) { return has(spec, kBlocking); }},
    {"dangerous", [](const CommandSpec& spec) { return has(spec, kAdmin | kAclDangerous); }},
    {"connection",
     [](const CommandSpec& spec) {
       return is_of(spec, CommandGroup::kConnection) || has(spec, kAclConnection);
     }},
    {"transaction",
     [](const CommandSpec& spec) { return is_of(spec, CommandGroup::kTransactions); }},
    {"scripting", [](const CommandSpec& spec) { return is_of(spec, CommandGroup::kScripting); }},
};

}  // namespace

std::vector<std::string_view> acl_categories(const CommandSpec& spec) {
  std::vector<std::string_view> names;
  for (const Category& category : kCategories) {
    if (category.has_command(spec)) names.push_back(category.name);
  }
  return names;
}

std::vector<std::string_view> all_acl_categories() {
  std::vector<std::string_view> names;
  for (const Category& category : kCategories) names.push_back(category.name);
  return names;
}

}  // namespace rushgate
