// Commands on sets: https://redis.io/docs/latest/commands/?group=set
#include "engine/keyspace/sets.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/commands/command_context.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/errors.h"

namespace rushgate {
namespace {

Reply membership_reply(Object* set, std::string_view member) {
  return Reply::integer(set != nullptr && set->set().contains(member) ? 1 : 0);
}

}  // namespace

// SADD key member [member ...]
Reply sadd_command(CommandContext& context) {
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  if (set == nullptr) set = &sets::create(context.db(), context[1]);
  std::int64_t added = 0;
  for (std::size_t i = 2; i < context.size(); ++i) {
    if (sets::add(context.db(), *set, context[i])) ++added;
  }
  return Reply::integer(added);
}

// SREM key member [member ...]
Reply srem_command(CommandContext& context) {
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  if (set == nullptr) return Reply::integer(0);
  std::int64_t removed = 0;
  for (std::size_t i = 2; i < context.size(); ++i) {
    const bool is_last = set->set().size() == 1;
    if (!sets::remove(context.db(), *set, context[i])) continue;
    ++removed;
    if (is_last) break;  // the key went with it
  }
  return Reply::integer(removed);
}

// SISMEMBER key member
Reply sismember_command(CommandContext& context) {
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  return membership_reply(set, context[2]);
}

// SMISMEMBER key member [member ...]
Reply smismember_command(CommandContext& context) {
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  std::vector<Reply> memberships;
  memberships.reserve(context.size() - 2);
  for (std::size_t i = 2; i < context.size(); ++i)
    memberships.push_back(membership_reply(set, context[i]));
  return Reply::array(std::move(memberships));
}

// SCARD key
Reply scard_command(CommandContext& context) {
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  return Reply::integer(set == nullptr ? 0 : static_cast<std::int64_t>(set->set().size()));
}

// SMEMBERS key
Reply smembers_command(CommandContext& context) {
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  if (set == nullptr) return Reply::set();
  std::vector<Reply> members;
  members.reserve(set->set().size());
  set->set().for_each([&](std::string_view member) { members.push_back(Reply::bulk(member)); });
  return Reply::set(std::move(members));
}

}  // namespace rushgate
