// A value in a payload of DUMP, read and checked.
//
//   type                                            value
//   0 string                                        string
//   1 list, 2 set                                   n, string * n
//   3 sorted set (before Redis 4)                   n, (string, decimal score) * n
//   4 hash                                          n, (string, string) * n
//   5 sorted set                                    n, (string, real) * n
//   10 list, 12 sorted set, 13 hash (before 7.0)    string: a ziplist
//   11 set                                          string: an intset
//   14 list (before 7.0)                            n, string * n: ziplists
//   15 stream (before 7.0), 19 stream               parsed_stream.h
//   16 hash, 17 sorted set                          string: a listpack
//   18 list                                         n, (length, string) * n: 1 and an element,
//                                                   or 2 and a listpack
//
// n is a length. Lists in one ziplist or listpack hold elements; those of hashes fields and values
// in turn; those of sorted sets members and scores in turn, ascending. Types 6 and 7 belong to
// modules, and 9 to a Redis without DUMP: they are not read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/redis/keyspace/sorted_sets.h"
#include "engine/redis/rdb/parsed_stream.h"

namespace rushgate::rdb {

enum class RdbType : std::uint8_t {
  kString = 0,
  kList = 1,
  kSet = 2,
  kSortedSetOfDecimals = 3,
  kHash = 4,
  kSortedSet = 5,
  kListZiplist = 10,
  kSetIntset = 11,
  kSortedSetZiplist = 12,
  kHashZiplist = 13,
  kListOfZiplists = 14,
  kStreamBefore7 = 15,
  kHashListpack = 16,
  kSortedSetListpack = 17,
  kListOfListpacks = 18,
  kStream = 19,
};

// No collection but a stream is empty, and names in one are distinct.

struct ParsedString {
  std::string bytes;
};
struct ParsedList {
  std::vector<std::string> elements;
};
struct ParsedSet {
  std::vector<std::string> members;
};
struct ParsedHash {
  std::vector<std::string> fields_and_values;  // in turn
  bool is_compact;                             // it was a listpack or ziplist
};
struct ParsedSortedSet {
  std::vector<sorted_sets::ScoredMember> members;
  bool is_compact;
};

using ParsedValue =
    std::variant<ParsedString, ParsedList, ParsedSet, ParsedHash, ParsedSortedSet, ParsedStream>;

/// Parses type and value. Returns empty if anything in them is invalid. Bytes after the value are
/// allowed, as in Redis.
std::optional<ParsedValue> parse_value(std::string_view bytes);

}  // namespace rushgate::rdb
