#include "engine/keyspace/object.h"

namespace rushgate {

std::string_view type_name(ValueType type) {
  switch (type) {
    case ValueType::kString:
      return "string";
    case ValueType::kHash:
      return "hash";
    case ValueType::kSet:
      return "set";
    case ValueType::kStream:
      return "stream";
    case ValueType::kList:
      return "list";
    case ValueType::kSortedSet:
      return "zset";
  }
  return "none";
}

}  // namespace rushgate
