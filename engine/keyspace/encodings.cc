#include "engine/keyspace/encodings.h"

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
      return encoding_name(std::get<StringValue>(object.value).encoding());
    case ValueType::kHash: {
      const auto& hash = std::get<HashValue>(object.value);
      if (hash.is_large()) return "hashtable";
      return hash.has_expiries() ? "listpackex" : "listpack";
    }
    case ValueType::kSet:
      return std::get<SetValue>(object.value).is_large() ? "hashtable" : "intset";
    case ValueType::kStream:
      return "stream";
    case ValueType::kList:
      return "quicklist";
    case ValueType::kSortedSet:
      return std::get<SortedSetValue>(object.value).is_small() ? "listpack" : "skiplist";
  }
  return "unknown";
}

}  // namespace rushgate
