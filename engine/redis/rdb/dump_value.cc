#include "engine/redis/rdb/dump_value.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/redis/rdb/dump_stream.h"
#include "engine/redis/rdb/intset.h"
#include "engine/redis/rdb/listpack.h"
#include "engine/redis/rdb/parsed_value.h"
#include "engine/redis/rdb/payload.h"
#include "engine/redis/rdb/rdb_writer.h"

namespace rushgate::rdb {
namespace {

RdbWriter& type(RdbWriter& out, RdbType type) { return out.byte(static_cast<std::uint8_t>(type)); }

/// Writes a value as a listpack, unless it is too large for one.
bool write_listpack(RdbWriter& out, RdbType its_type, const ListpackWriter& listpack) {
  if (listpack.size_bytes() > ListpackWriter::kBytesMax) return false;
  type(out, its_type).string(listpack.bytes());
  return true;
}

void write(const StringValue& string, RdbWriter& out) {
  type(out, RdbType::kString);
  if (string.is_integer()) {
    out.string(DecimalText(*string.integer()));
  } else {
    out.string(string.text());
  }
}

void write(const ListValue& list, RdbWriter& out) {
  type(out, RdbType::kList).length(list.size());
  list.for_each(0, list.size(),
                [&](ListPosition, const std::string& element) { out.string(element); });
}

void write(const SetValue& set, RdbWriter& out) {
  if (!set.is_large()) {
    std::vector<std::int64_t> integers;
    set.for_each_integer([&](std::int64_t member) { integers.push_back(member); });
    type(out, RdbType::kSetIntset).string(write_intset(integers));
    return;
  }
  type(out, RdbType::kSet).length(set.size());
  set.for_each([&](std::string_view member) { out.string(member); });
}

bool write_as_listpack(const HashValue& hash, RdbWriter& out) {
  ListpackWriter listpack;
  hash.for_each([&](std::string_view field, std::string_view value) {
    listpack.append(field);
    listpack.append(value);
  });
  return write_listpack(out, RdbType::kHashListpack, listpack);
}

void write(const HashValue& hash, RdbWriter& out) {
  if (!hash.is_large() && write_as_listpack(hash, out)) return;
  type(out, RdbType::kHash).length(hash.size());
  hash.for_each(
      [&](std::string_view field, std::string_view value) { out.string(field).string(value); });
}

bool write_as_listpack(const SortedSetValue& set, RdbWriter& out) {
  ListpackWriter listpack;
  set.for_each(0, set.size(), [&](const ScoredElement& element) {
    listpack.append(element.member);
    listpack.append(DoubleText(element.score).view());
  });
  return write_listpack(out, RdbType::kSortedSetListpack, listpack);
}

/// Writes the members from the highest to the lowest, as Redis does: each one is inserted before
/// all others then.
void write(const SortedSetValue& set, RdbWriter& out) {
  if (!set.is_large() && write_as_listpack(set, out)) return;
  type(out, RdbType::kSortedSet).length(set.size());
  set.for_each_back(0, set.size(), [&](const ScoredElement& element) {
    out.string(element.member).real(element.score);
  });
}

}  // namespace

absl::StatusOr<std::string> dump(const Object& object, const EncodingLimits& limits,
                                 std::size_t bytes_max) {
  std::string payload;
  RdbWriter out(payload);
  switch (object.type()) {
    case ValueType::kString:
      write(object.string(), out);
      break;
    case ValueType::kHash:
      write(object.hash(), out);
      break;
    case ValueType::kSet:
      write(object.set(), out);
      break;
    case ValueType::kList:
      write(object.list(), out);
      break;
    case ValueType::kSortedSet:
      write(object.sorted_set(), out);
      break;
    case ValueType::kStream: {
      type(out, RdbType::kStream);
      const Stream& stream = object.stream();
      RETURN_IF_ERROR(write_stream(stream, limits, bytes_max, payload));
      break;
    }
  }
  seal(payload);
  return payload;
}

}  // namespace rushgate::rdb
