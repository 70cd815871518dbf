#include "engine/redis/rdb/parsed_value.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "engine/core/base/numbers.h"
#include "engine/redis/rdb/intset.h"
#include "engine/redis/rdb/listpack.h"
#include "engine/redis/rdb/rdb_reader.h"
#include "engine/redis/rdb/ziplist.h"

namespace rushgate::rdb {
namespace {

using Strings = std::vector<std::string>;
using sorted_sets::ScoredMember;

/// Sorts the names, because hash sets of Abseil do not survive a lack of memory.
bool are_distinct(std::vector<std::string_view> names) {
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end();
}

/// Returns true if the strings, or every second one, differ from each other.
bool are_distinct(const Strings& strings, std::size_t step) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < strings.size(); i += step) names.emplace_back(strings[i]);
  return are_distinct(std::move(names));
}

bool are_distinct(const std::vector<ScoredMember>& members) {
  std::vector<std::string_view> names;
  for (const ScoredMember& element : members) names.emplace_back(element.member);
  return are_distinct(std::move(names));
}

/// Reads a number, and that many groups of `group_size` strings.
Strings read_strings(RdbReader& reader, std::size_t group_size = 1) {
  Strings strings;
  for (std::uint64_t left = reader.length(); left > 0 && reader.ok(); --left) {
    for (std::size_t i = 0; i < group_size; ++i) strings.push_back(reader.string());
  }
  return strings;
}

/// Reads a string with the encoded elements.
Strings read_encoded(RdbReader& reader, std::optional<Strings> (&decode)(std::string_view)) {
  std::optional<Strings> elements = decode(reader.string());
  if (!elements) reader.fail();
  return std::move(elements).value_or(Strings());
}

// ---- Lists ----

void append(Strings& elements, Strings more) {
  elements.insert(elements.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

Strings read_list_of_ziplists(RdbReader& reader) {
  Strings elements;
  for (std::uint64_t left = reader.length(); left > 0 && reader.ok(); --left) {
    append(elements, read_encoded(reader, read_ziplist));
  }
  return elements;
}

Strings read_list_of_listpacks(RdbReader& reader) {
  constexpr std::uint64_t kElement = 1;
  constexpr std::uint64_t kListpack = 2;
  Strings elements;
  for (std::uint64_t left = reader.length(); left > 0 && reader.ok(); --left) {
    const std::uint64_t kind = reader.length();
    if (kind == kElement) {
      elements.push_back(reader.string());
      if (elements.back().empty()) reader.fail();  // as in Redis
    } else if (kind == kListpack) {
      append(elements, read_encoded(reader, read_listpack));
    } else {
      reader.fail();
    }
  }
  return elements;
}

// ---- Sorted sets ----

std::vector<ScoredMember> read_members(RdbReader& reader, double (RdbReader::*read_score)()) {
  std::vector<ScoredMember> members;
  for (std::uint64_t left = reader.length(); left > 0 && reader.ok(); --left) {
    std::string member = reader.string();
    const double score = (reader.*read_score)();
    if (std::isnan(score)) reader.fail();
    members.push_back({std::move(member), score});
  }
  return members;
}

bool are_ascending(const ScoredMember& a, const ScoredMember& b) {
  return a.score == b.score ? a.member < b.member : a.score < b.score;
}

/// Converts members and scores in turn.
std::vector<ScoredMember> to_members(RdbReader& reader, Strings elements) {
  std::vector<ScoredMember> members;
  if (elements.size() % 2 != 0) reader.fail();
  for (std::size_t i = 0; i + 1 < elements.size() && reader.ok(); i += 2) {
    const std::optional<double> score = parse_double(elements[i + 1]);
    if (!score) reader.fail();
    members.push_back({std::move(elements[i]), score.value_or(0)});
    const std::size_t size = members.size();
    if (size > 1 && !are_ascending(members[size - 2], members[size - 1])) reader.fail();
  }
  return members;
}

// ---- Checked values ----

ParsedList to_list(RdbReader& reader, Strings elements) {
  if (elements.empty()) reader.fail();
  return {std::move(elements)};
}

ParsedSet to_set(RdbReader& reader, Strings members) {
  if (members.empty() || !are_distinct(members, 1)) reader.fail();
  return {std::move(members)};
}

ParsedHash to_hash(RdbReader& reader, Strings fields_and_values, bool is_compact) {
  const bool are_pairs = !fields_and_values.empty() && fields_and_values.size() % 2 == 0;
  if (!are_pairs || !are_distinct(fields_and_values, 2)) reader.fail();
  return {std::move(fields_and_values), is_compact};
}

ParsedSortedSet to_sorted_set(RdbReader& reader, std::vector<ScoredMember> members,
                              bool is_compact) {
  if (members.empty() || !are_distinct(members)) reader.fail();
  return {std::move(members), is_compact};
}

ParsedValue read_value(RdbReader& reader, RdbType type) {
  switch (type) {
    case RdbType::kString:
      return ParsedString{reader.string()};
    case RdbType::kList:
      return to_list(reader, read_strings(reader));
    case RdbType::kListZiplist:
      return to_list(reader, read_encoded(reader, read_ziplist));
    case RdbType::kListOfZiplists:
      return to_list(reader, read_list_of_ziplists(reader));
    case RdbType::kListOfListpacks:
      return to_list(reader, read_list_of_listpacks(reader));
    case RdbType::kSet:
      return to_set(reader, read_strings(reader));
    case RdbType::kSetIntset:
      return to_set(reader, read_encoded(reader, read_intset));
    case RdbType::kHash:
      return to_hash(reader, read_strings(reader, 2), false);
    case RdbType::kHashZiplist:
      return to_hash(reader, read_encoded(reader, read_ziplist), true);
    case RdbType::kHashListpack:
      return to_hash(reader, read_encoded(reader, read_listpack), true);
    case RdbType::kSortedSetOfDecimals:
      return to_sorted_set(reader, read_members(reader, &RdbReader::decimal_real), false);
    case RdbType::kSortedSet:
      return to_sorted_set(reader, read_members(reader, &RdbReader::real), false);
    case RdbType::kSortedSetZiplist:
      return to_sorted_set(reader, to_members(reader, read_encoded(reader, read_ziplist)), true);
    case RdbType::kSortedSetListpack:
      return to_sorted_set(reader, to_members(reader, read_encoded(reader, read_listpack)), true);
    case RdbType::kStreamBefore7:
      return read_stream(reader, StreamFormat::kBefore7);
    case RdbType::kStream:
      return read_stream(reader, StreamFormat::k7);
  }
  reader.fail();
  return {};
}

}  // namespace

std::optional<ParsedValue> parse_value(std::string_view bytes) {
  RdbReader reader(bytes);
  const auto type = static_cast<RdbType>(reader.byte());
  ParsedValue value = read_value(reader, type);
  if (!reader.ok()) return std::nullopt;
  return value;
}

}  // namespace rushgate::rdb
