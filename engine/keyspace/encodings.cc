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

}  // namespace rushgate
