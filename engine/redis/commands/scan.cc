// Iteration in steps: https://redis.io/docs/latest/commands/scan/
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/glob.h"

namespace rushgate {
namespace {

// A cursor is the next position of the walk (table_walk.h). 0 begins and ends a walk.
constexpr std::uint64_t kScanEnd = SegmentedTable<TextMember>::kPositionEnd;

/// Parses a cursor; empty if it is invalid.
std::optional<std::uint64_t> parse_cursor(std::string_view text) {
  text = errors::as_c_string(text);
  if (text.empty()) return 0;
  const bool begins_with_space = text.find_first_of(" \t\n\v\f\r") == 0;
  return begins_with_space ? std::nullopt : parse_wrapping_uint64(text);
}

struct ScanOptions {
  std::string_view pattern = "*";        // MATCH
  std::size_t count = 10;                // COUNT
  std::optional<std::string_view> type;  // TYPE

  [[nodiscard]] bool match(std::string_view name) const {
    return pattern == "*" || glob_matches(pattern, name);
  }
};

ScanOptions read_scan_options(Arguments& arguments, bool with_type) {
  ScanOptions options;
  while (!arguments.at_end()) {
    if (arguments.left() >= 2 && arguments.accept("COUNT")) {
      const std::int64_t count = arguments.next_integer();
      if (count < 1) arguments.fail(errors::syntax());
      options.count = static_cast<std::size_t>(count);
    } else if (arguments.left() >= 2 && arguments.accept("MATCH")) {
      options.pattern = arguments.next();
    } else if (with_type && arguments.left() >= 2 && arguments.accept("TYPE")) {
      options.type = arguments.next();
    } else {
      arguments.fail(errors::syntax());
    }
  }
  return options;
}

/// [cursor, elements]
Reply scan_reply(std::uint64_t next, std::vector<Reply> elements) {
  std::vector<Reply> reply;
  reply.push_back(Reply::bulk(std::to_string(next < kScanEnd ? next : 0)));
  reply.push_back(Reply::array(std::move(elements)));
  return Reply::array(std::move(reply));
}

/// Visits the elements of the next step, or all if the collection is small. Returns the end of the
/// step.
template <class Collection, class Visit>
std::uint64_t visit_step(const Collection& collection, std::uint64_t cursor, std::size_t count,
                         Visit visit) {
  if (!collection.is_large()) {
    collection.for_each(visit);
    return kScanEnd;
  }
  const std::uint64_t end = collection.step_end(cursor, count);
  collection.for_each_between(cursor, end, visit);
  return end;
}

/// Runs a scan command on the object at argument 1, if it exists. `step(const Object&, cursor,
/// options, elements)` adds the elements of a step and returns its end.
template <class Step>
Reply scan_elements(CommandContext& context, ValueType type, Step step) {
  const auto cursor = parse_cursor(context[2]);
  if (!cursor) return errors::invalid_cursor();
  Object* object = nullptr;
  if (!context.find(context[1], type, object)) return errors::wrong_type();
  if (object == nullptr) return scan_reply(0, {});
  Arguments arguments(context.request(), 3);
  const ScanOptions options = read_scan_options(arguments, false);
  if (!arguments.ok()) return arguments.take_error();
  std::vector<Reply> elements;
  const std::uint64_t next = step(*object, *cursor, options, elements);
  return scan_reply(next, std::move(elements));
}

/// Returns the score in Redis's form: integral scores of a listpack are integers.
Reply scanned_score(double score, bool is_small) {
  constexpr double kIntegerMax = 0x1p62;
  if (is_small && score == std::trunc(score) && std::fabs(score) <= kIntegerMax) {
    return Reply::bulk(DecimalText(static_cast<std::int64_t>(score)));
  }
  return Reply::bulk(DoubleText(score).view());
}

Reply scan_command(CommandContext& context) {
  const auto cursor = parse_cursor(context[1]);
  if (!cursor) return errors::invalid_cursor();
  Arguments arguments(context.request(), 2);
  const ScanOptions options = read_scan_options(arguments, true);
  if (!arguments.ok()) return arguments.take_error();
  std::vector<Reply> keys;
  Database& db = context.db();
  const std::uint64_t end = db.step_end(*cursor, options.count);
  db.for_each_between(*cursor, end, [&](const Object& object) {
    if (context.db().has_expired(object) || !options.match(object.key())) return;
    if (!options.type || is_keyword(*options.type, type_name(object.type())))
      keys.push_back(Reply::bulk(object.key()));
  });
  return scan_reply(end, std::move(keys));
}

Reply hscan_command(CommandContext& context) {
  return scan_elements(
      context, ValueType::kHash,
      [](Object& object, std::uint64_t cursor, const ScanOptions& options, auto& elements) {
        const HashValue& hash = object.hash();
        return visit_step(hash, cursor, options.count,
                          [&](std::string_view field, std::string_view value) {
                            if (!options.match(field)) return;
                            elements.push_back(Reply::bulk(field));
                            elements.push_back(Reply::bulk(value));
                          });
      });
}

Reply sscan_command(CommandContext& context) {
  return scan_elements(
      context, ValueType::kSet,
      [](Object& object, std::uint64_t cursor, const ScanOptions& options, auto& elements) {
        const SetValue& set = object.set();
        return visit_step(set, cursor, options.count, [&](std::string_view member) {
          if (options.match(member)) elements.push_back(Reply::bulk(member));
        });
      });
}

Reply zscan_command(CommandContext& context) {
  return scan_elements(
      context, ValueType::kSortedSet,
      [](Object& object, std::uint64_t cursor, const ScanOptions& options, auto& elements) {
        const SortedSetValue& value = object.sorted_set();
        const bool is_small = !value.is_large();
        const auto add = [&](const ScoredElement& element) {
          if (!options.match(element.member)) return;
          elements.push_back(Reply::bulk(element.member));
          elements.push_back(scanned_score(element.score, is_small));
        };
        if (is_small) {
          value.for_each(0, value.size(), add);
          return kScanEnd;
        }
        const std::uint64_t end = value.step_end(cursor, options.count);
        value.for_each_between(cursor, end, add);
        return end;
      });
}

// ---- The records ----

constexpr CommandSpec kScan[] = {
    {.name = "scan",
     .function = scan_command,
     .arity = -2,
     .flags = kReadOnly,
     .syntax = "cursor [MATCH pattern] [COUNT count] [TYPE type]",
     .summary = "Iterates over the keys, some per call.",
     .since = "2.8.0",
     .complexity = "O(1) a call, O(N) for all, N keys"},
};

constexpr CommandSpec kHashScan[] = {
    {.name = "hscan",
     .function = hscan_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "key cursor [MATCH pattern] [COUNT count]",
     .summary = "Iterates over a hash, some fields per call.",
     .since = "2.8.0",
     .complexity = "O(1) a call, O(N) for all, N fields"},
};

constexpr CommandSpec kSetScan[] = {
    {.name = "sscan",
     .function = sscan_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "key cursor [MATCH pattern] [COUNT count]",
     .summary = "Iterates over a set, some members per call.",
     .since = "2.8.0",
     .complexity = "O(1) a call, O(N) for all, N members"},
};

constexpr CommandSpec kSortedSetScan[] = {
    {.name = "zscan",
     .function = zscan_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "key cursor [MATCH pattern] [COUNT count]",
     .summary = "Iterates over a sorted set, some members per call.",
     .since = "2.8.0",
     .complexity = "O(1) a call, O(N) for all, N members"},
};

}  // namespace

CommandFamily scan_commands() { return {CommandGroup::kGeneric, kScan}; }

CommandFamily hash_scan_commands() { return {CommandGroup::kHash, kHashScan}; }

CommandFamily set_scan_commands() { return {CommandGroup::kSet, kSetScan}; }

CommandFamily sorted_set_scan_commands() { return {CommandGroup::kSortedSet, kSortedSetScan}; }

}  // namespace rushgate
