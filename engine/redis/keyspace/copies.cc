#include "engine/redis/keyspace/copies.h"

#include <string>
#include <variant>

#include "engine/core/base/status_macros.h"
#include "engine/redis/keyspace/hashes.h"
#include "engine/redis/keyspace/lists.h"
#include "engine/redis/keyspace/sets.h"
#include "engine/redis/keyspace/sorted_sets.h"
#include "engine/redis/keyspace/streams.h"

namespace rushgate {
namespace {

void copy_list(const ListValue& from, Database& to, std::string_view key) {
  Object& made = lists::create(to, key);
  from.for_each(0, from.size(), [&](ListPosition, const std::string& element) {
    lists::push(to, made, lists::End::kTail, element);
  });
}

absl::Status copy_value(const Object& from, Database& to, std::string_view key) {
  switch (from.type()) {
    case ValueType::kString:
      to.create(key, from.string());
      return absl::OkStatus();
    case ValueType::kHash:
      hashes::copy(to, hashes::create(to, key), from.hash());
      return absl::OkStatus();
    case ValueType::kSet:
      sets::copy(to, sets::create(to, key), from.set());
      return absl::OkStatus();
    case ValueType::kStream:
      return streams::copy(from.stream(), to, key);
    case ValueType::kList:
      copy_list(from.list(), to, key);
      return absl::OkStatus();
    case ValueType::kSortedSet:
      sorted_sets::copy(to, sorted_sets::create(to, key), from.sorted_set());
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status copy_object(const Object& from, Database& to, std::string_view key) {
  RETURN_IF_ERROR(copy_value(from, to, key));
  if (from.expire_at_ms() != kNoExpiry) to.set_expiry(*to.find(key), from.expire_at_ms());
  return absl::OkStatus();
}

}  // namespace rushgate
