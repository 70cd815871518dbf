#include "engine/redis/keyspace/encodings.h"

#include <limits>

namespace rushgate {
namespace {

std::string_view encoding_name(StringEncoding encoding) {
  switch (encoding) {
    case StringEncoding::kInt:
      return "int";
    case StringEncoding::kEmbstr:
      return "embstr";
    case StringEncoding::kRaw:
      return "raw";
  }
  return "raw";
}

}  // namespace

std::string_view encoding_name(const Object& object) {
  switch (object.type()) {
    case ValueType::kString:
      return encoding_name(object.string().encoding());
    case ValueType::kHash: {
      const auto& hash = object.hash();
      if (hash.is_large()) return "hashtable";
      return hash.has_expiries() ? "listpackex" : "listpack";
    }
    case ValueType::kSet:
      return object.set().is_large() ? "hashtable" : "intset";
    case ValueType::kStream:
      return "stream";
    case ValueType::kList:
      return "quicklist";
    case ValueType::kSortedSet:
      return object.sorted_set().is_large() ? "skiplist" : "listpack";
  }
  return "unknown";
}

std::int64_t reference_count(const Object& object) {
  constexpr std::int64_t kSharedIntegers = 10'000;
  if (object.type() != ValueType::kString || !object.string().is_integer()) return 1;
  const std::int64_t value = *object.string().integer();
  const bool is_shared = value >= 0 && value < kSharedIntegers;
  return is_shared ? std::numeric_limits<std::int32_t>::max() : 1;
}

}  // namespace rushgate
