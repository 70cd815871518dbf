// SORT: https://redis.io/docs/latest/commands/sort/
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/reply_allowance.h"
#include "engine/redis/commands/sort_pattern.h"
#include "engine/redis/keyspace/lists.h"
#include "engine/redis/keyspace/sorted_sets.h"

namespace rushgate {
namespace {

Reply weight_not_a_double() {
  return Reply::error("ERR One or more scores can't be converted into double");
}

/// Ours.
Reply result_too_large() {
  return Reply::error("ERR SORT takes more memory than its client may leave unread");
}

// ---- Arguments ----

struct SortOptions {
  std::optional<SortPattern> by;  // with a '*'
  bool is_unsorted = false;       // BY a constant
  bool is_descending = false;
  bool by_bytes = false;  // ALPHA
  std::int64_t offset = 0;
  std::int64_t count = -1;  // negative: no limit
  std::vector<SortPattern> gets;
  std::optional<std::string_view> destination;
};

SortOptions read_options(Arguments& arguments, bool may_store) {
  SortOptions options;
  while (!arguments.at_end()) {
    const std::size_t left = arguments.left();
    if (arguments.accept("ASC")) {
      options.is_descending = false;
    } else if (arguments.accept("DESC")) {
      options.is_descending = true;
    } else if (arguments.accept("ALPHA")) {
      options.by_bytes = true;
    } else if (left >= 3 && arguments.accept("LIMIT")) {
      options.offset = arguments.next_integer();
      options.count = arguments.next_integer();
    } else if (may_store && left >= 2 && arguments.accept("STORE")) {
      options.destination = arguments.next();
    } else if (left >= 2 && arguments.accept("BY")) {
      options.by = SortPattern(arguments.next());
      // As in Redis, a later pattern with a '*' does not change it.
      if (!options.by->has_star()) options.is_unsorted = true;
    } else if (left >= 2 && arguments.accept("GET")) {
      options.gets.emplace_back(arguments.next());
    } else {
      arguments.fail(errors::syntax());
    }
  }
  return options;
}

// ---- The elements ----

struct SortElement {
  std::string text;
  std::size_t position;                    // in the collection
  double score = 0;                        // without ALPHA
  std::optional<std::string> weight = {};  // with BY and ALPHA
};
using SortElements = std::vector<SortElement>;

/// The positions of the result within all elements.
struct Slice {
  std::size_t first;
  std::size_t last;

  [[nodiscard]] std::size_t size() const { return last - first; }
};

Slice slice_of(const SortOptions& options, std::size_t size) {
  const auto all = static_cast<std::int64_t>(size);
  const std::int64_t first = std::clamp<std::int64_t>(options.offset, 0, all);
  const std::int64_t count = options.count < 0 ? all : options.count;
  return {static_cast<std::size_t>(first),
          static_cast<std::size_t>(first + std::min(count, all - first))};
}

bool is_sortable(const Object& object) {
  const ValueType type = object.type();
  return type == ValueType::kList || type == ValueType::kSet || type == ValueType::kSortedSet;
}

std::size_t size_of(Object& object) {
  if (object.type() == ValueType::kList) return object.list().size();
  if (object.type() == ValueType::kSet) return object.set().size();
  return object.sorted_set().size();
}

/// Calls visit(element) for all elements in the order of the collection.
template <class Visit>
void for_each_element(Object& object, Visit visit) {
  if (object.type() == ValueType::kList) {
    object.list().for_each(0, object.list().size(),
                           [&](ListPosition, std::string element) { visit(std::move(element)); });
  } else if (object.type() == ValueType::kSet) {
    object.set().for_each([&](std::string_view member) { visit(std::string(member)); });
  } else {
    const SortedSetValue& value = object.sorted_set();
    value.for_each(0, value.size(),
                   [&](const ScoredElement& element) { visit(std::string(element.member)); });
  }
}

SortElements all_elements(Object& object) {
  SortElements elements;
  elements.reserve(size_of(object));
  for_each_element(object, [&](std::string element) {
    elements.push_back({.text = std::move(element), .position = elements.size()});
  });
  return elements;
}

/// Returns a slice of the elements without sorting them. DESC reverses lists and sorted sets.
SortElements unsorted_elements(Object& object, Slice slice, bool is_descending) {
  SortElements elements;
  elements.reserve(slice.size());
  const auto add = [&](std::string element) {
    elements.push_back({.text = std::move(element), .position = elements.size()});
  };
  const bool is_reversed = is_descending && object.type() != ValueType::kSet;
  const std::size_t size = size_of(object);
  const Slice read = is_reversed ? Slice{size - slice.last, size - slice.first} : slice;
  if (object.type() == ValueType::kList) {
    object.list().for_each(read.first, read.size(),
                           [&](ListPosition, std::string element) { add(std::move(element)); });
  } else if (object.type() == ValueType::kSortedSet) {
    object.sorted_set().for_each(read.first, read.last, [&](const ScoredElement& element) {
      add(std::string(element.member));
    });
  } else {
    std::size_t position = 0;
    object.set().for_each([&](std::string_view member) {
      if (position >= read.first && position < read.last) add(std::string(member));
      ++position;
    });
  }
  if (is_reversed) std::ranges::reverse(elements);
  return elements;
}

// ---- Sorting ----

/// Parses as strtod does, up to a NUL. Spaces in front are allowed, and an empty string is 0. A
/// number out of range is an error, also one that is too small.
std::optional<double> parse_weight(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const double weight = std::strtod(text.c_str(), &end);
  if (*end != '\0' || errno == ERANGE || std::isnan(weight)) return std::nullopt;
  return weight;
}

/// Finds the weights by which the elements are sorted. Returns an error if one is invalid, or if
/// they take too much memory.
std::optional<Reply> find_weights(SortElements& elements, const SortOptions& options, Database& db,
                                  ReplyAllowance& allowance) {
  if (!options.by && options.by_bytes) return std::nullopt;
  for (SortElement& element : elements) {
    std::optional<std::string> weight;
    if (options.by) weight = options.by->find(db, element.text);
    if (options.by && !weight) continue;
    if (options.by_bytes) {
      if (!allowance.take(weight->size())) return result_too_large();
      element.weight = std::move(weight);
      continue;
    }
    const std::optional<double> score = parse_weight(options.by ? *weight : element.text);
    if (!score) return weight_not_a_double();
    element.score = *score;
  }
  return std::nullopt;
}

/// The order of the result. Equal elements keep the order of the collection, as in Redis.
class SortOrder {
 public:
  explicit SortOrder(const SortOptions& options) : options_(options) {}

  bool operator()(const SortElement& a, const SortElement& b) const {
    const int order = compare(a, b);
    if (order == 0) return a.position < b.position;
    return options_.is_descending ? order > 0 : order < 0;
  }

 private:
  [[nodiscard]] int compare(const SortElement& a, const SortElement& b) const {
    if (!options_.by_bytes) {
      if (a.score != b.score) return a.score < b.score ? -1 : 1;
      return a.text.compare(b.text);
    }
    if (!options_.by) return compare(a.text, b.text);
    if (a.weight && b.weight) return compare(*a.weight, *b.weight);
    return static_cast<int>(a.weight.has_value()) - static_cast<int>(b.weight.has_value());
  }

  /// With STORE all bytes count, else those before a NUL.
  [[nodiscard]] int compare(const std::string& a, const std::string& b) const {
    return options_.destination ? a.compare(b) : std::strcmp(a.c_str(), b.c_str());
  }

  const SortOptions& options_;
};

/// Leaves the elements of the slice, in order. The others are not sorted.
void sort_slice(SortElements& elements, Slice slice, const SortOrder& order) {
  const auto at = [&](std::size_t position) {
    return elements.begin() + static_cast<std::ptrdiff_t>(position);
  };
  if (slice.size() > 0) {
    if (slice.first > 0) std::nth_element(elements.begin(), at(slice.first), elements.end(), order);
    if (slice.last < elements.size())
      std::nth_element(at(slice.first), at(slice.last), elements.end(), order);
    std::sort(at(slice.first), at(slice.last), order);
  }
  elements.erase(at(slice.last), elements.end());
  elements.erase(elements.begin(), at(slice.first));
}

/// Returns the elements of the result, in order; an error if they cannot be sorted.
std::optional<Reply> find_elements(const CommandContext& context, Object& object,
                                   SortOptions& options, ReplyAllowance& allowance,
                                   SortElements& elements) {
  const Slice slice = slice_of(options, size_of(object));
  // As in Redis, the order of a set must not depend on its table in a script or a stored list.
  const bool must_be_sorted = context.in_script() || options.destination;
  if (options.is_unsorted && must_be_sorted && object.type() == ValueType::kSet) {
    options.is_unsorted = false;
    options.by_bytes = true;
    options.by = std::nullopt;
  }
  if (options.is_unsorted) {
    elements = unsorted_elements(object, slice, options.is_descending);
    return std::nullopt;
  }
  elements = all_elements(object);
  std::optional<Reply> error = find_weights(elements, options, context.db(), allowance);
  if (!error) sort_slice(elements, slice, SortOrder(options));
  return error;
}

// ---- The result ----

/// Calls add(std::optional<std::string>) for each value of the result: the elements, or the strings
/// that GET's patterns denote. Returns false if they take too much memory.
template <class Add>
bool for_each_value(SortElements elements, const SortOptions& options, Database& db,
                    ReplyAllowance& allowance, Add add) {
  for (SortElement& element : elements) {
    if (options.gets.empty()) add(std::optional(std::move(element.text)));
    for (const SortPattern& pattern : options.gets) {
      std::optional<std::string> value = pattern.find(db, element.text);
      if (value && !allowance.take(value->size())) return false;
      add(std::move(value));
    }
  }
  return true;
}

Reply show(SortElements elements, const SortOptions& options, Database& db,
           ReplyAllowance& allowance) {
  const std::size_t size = elements.size() * std::max<std::size_t>(options.gets.size(), 1);
  if (!options.gets.empty() && !allowance.take(size * sizeof(Reply))) return result_too_large();
  std::vector<Reply> replies;
  replies.reserve(size);
  const bool fits = for_each_value(
      std::move(elements), options, db, allowance, [&](std::optional<std::string> value) {
        replies.push_back(value ? Reply::bulk(*std::move(value)) : Reply::nil());
      });
  return fits ? Reply::array(std::move(replies)) : result_too_large();
}

/// Replaces the value at `key` by a list; removes it if the list is empty.
void store_list(const CommandContext& context, std::string_view key,
                const std::vector<std::string>& values) {
  Database& db = context.db();
  context.keyspace().events().set_reading(false);
  Object* const old = db.find(key);
  if (values.empty()) {
    if (old == nullptr) return;
    db.remove(*old);
    context.notify(kGenericEvents, "del", key);
    return;
  }
  Object& list = old == nullptr ? lists::create(db, key) : db.replace(*old, ListValue());
  for (const std::string& value : values) lists::push(db, list, lists::End::kTail, value);
  context.notify(kListEvents, "sortstore", key);
}

Reply store(const CommandContext& context, SortElements elements, const SortOptions& options,
            ReplyAllowance& allowance) {
  const std::size_t size = elements.size() * std::max<std::size_t>(options.gets.size(), 1);
  if (!options.gets.empty() && !allowance.take(size * sizeof(std::string)))
    return result_too_large();
  std::vector<std::string> values;
  values.reserve(size);
  const bool fits = for_each_value(
      std::move(elements), options, context.db(), allowance,
      [&](std::optional<std::string> value) { values.push_back(std::move(value).value_or("")); });
  if (!fits) return result_too_large();
  store_list(context, *options.destination, values);
  return Reply::integer(static_cast<std::int64_t>(values.size()));
}

Reply sort(CommandContext& context, bool may_store) {
  Arguments arguments(context.request(), 2);
  SortOptions options = read_options(arguments, may_store);
  if (!arguments.ok()) return arguments.take_error();

  KeyEvents& events = context.keyspace().events();
  events.set_reading(true);  // SORT looks for keys like a command that only reads
  const absl::Cleanup end_reading = [&events] { events.set_reading(false); };
  ReplyAllowance allowance(context.session().reply_bytes_max);
  SortElements elements;
  if (Object* const object = context.db().find(context[1])) {
    if (!is_sortable(*object)) return errors::wrong_type();
    // As in Redis, sorting changes the encoding.
    if (object->type() == ValueType::kSortedSet) sorted_sets::grow(context.db(), *object);
    if (auto error = find_elements(context, *object, options, allowance, elements))
      return *std::move(error);
  }
  if (!options.destination) return show(std::move(elements), options, context.db(), allowance);
  return store(context, std::move(elements), options, allowance);
}

Reply sort_command(CommandContext& context) { return sort(context, true); }

Reply sort_ro_command(CommandContext& context) { return sort(context, false); }

// ---- The records ----

constexpr CommandSpec kSortCommands[] = {
    {.name = "sort",
     .function = sort_command,
     .arity = -2,
     .flags = kWrite | kDenyOom | kAclSorts | kAclDangerous,
     .syntax = "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] "
               "[ALPHA] [STORE destination]",
     .summary = "Sorts a list, set or sorted set, and returns or stores the result.",
     .since = "1.0.0",
     .complexity = "O(N + M log M), N elements, M returned; O(N) without sorting"},
    {.name = "sort_ro",
     .function = sort_ro_command,
     .arity = -2,
     .flags = kReadOnly | kAclSorts | kAclDangerous,
     .syntax = "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] "
               "[ALPHA]",
     .summary = "Returns the sorted elements of a list, set or sorted set.",
     .since = "7.0.0",
     .complexity = "O(N + M log M), N elements, M returned; O(N) without sorting"},
};

}  // namespace

CommandFamily sort_commands() { return {CommandGroup::kGeneric, kSortCommands}; }

}  // namespace rushgate
