// Commands that estimate the number of distinct elements:
// https://redis.io/docs/latest/commands/?group=hyperloglog
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/hyperloglog.h"
#include "engine/redis/commands/hyperloglog_errors.h"
#include "engine/redis/keyspace/strings.h"

namespace rushgate {
namespace {

// ---- Finding and changing ----

/// Sets `object` to the HyperLogLog at the key, or to null. Returns an error if the key has another
/// value.
std::optional<Reply> find_hyperloglog(CommandContext& context, std::string_view key,
                                      Object*& object) {
  if (!context.find(key, ValueType::kString, object)) return errors::wrong_type();
  if (object == nullptr) return std::nullopt;
  const StringValue& value = object->string();
  if (value.is_integer() || !hll::has_header(value.text())) return errors::not_a_hyperloglog();
  return std::nullopt;
}

std::size_t sparse_bytes_max(const CommandContext& context) {
  return static_cast<std::size_t>(context.keyspace().limits().hll_sparse_bytes);
}

/// Sets the whole string. Keeps the expiry.
void store(CommandContext& context, std::string_view key, Object* object, std::string bytes) {
  StringValue value = StringValue::as_buffer(std::move(bytes));
  if (object == nullptr) {
    context.db().create(key, std::move(value));
  } else {
    strings::assign(context.db(), *object, std::move(value));
  }
}

void note_change(std::string& bytes) { bytes[hll::kHeaderBytes - 1] = hll::byte_of_change(bytes); }

// ---- PFADD ----

/// Adds the elements in place. Returns true if a register has changed.
bool add_to_dense(CommandContext& context, Object& object) {
  const auto bytes = [&object]() -> std::string_view { return object.string().text(); };
  bool has_changed = false;
  for (const std::string_view element : context.request().subspan(2)) {
    const hll::Observation seen = hll::observe(element);
    if (hll::dense_register(bytes(), seen.index) >= seen.rank) continue;
    const hll::DensePatch patch = hll::patch_dense(bytes(), seen.index, seen.rank);
    strings::overwrite(context.db(), object, patch.offset, patch.view());
    has_changed = true;
  }
  if (has_changed) {
    const char last = hll::byte_of_change(bytes());
    strings::overwrite(context.db(), object, hll::kHeaderBytes - 1, {&last, 1});
  }
  return has_changed;
}

/// Adds the elements to a copy of the string. Returns false if it is damaged.
bool add_to_copy(const CommandContext& context, std::string& bytes, bool& has_changed) {
  for (const std::string_view element : context.request().subspan(2)) {
    const hll::Raised raised = hll::raise(bytes, hll::observe(element), sparse_bytes_max(context));
    if (raised == hll::Raised::kDamaged) return false;
    if (raised == hll::Raised::kYes) has_changed = true;
  }
  return true;
}

Reply pfadd_command(CommandContext& context) {
  const std::string_view key = context[1];
  Object* object = nullptr;
  if (auto error = find_hyperloglog(context, key, object)) return *std::move(error);
  bool has_changed = object == nullptr;
  if (object != nullptr) strings::make_buffer(context.db(), *object);  // also without a change
  if (object != nullptr && hll::is_dense(object->string().text())) {
    has_changed = add_to_dense(context, *object);
  } else {
    std::string bytes =
        object == nullptr ? hll::make_empty() : std::string(object->string().text());
    if (!add_to_copy(context, bytes, has_changed)) return errors::damaged_hyperloglog();
    if (has_changed) {
      note_change(bytes);
      store(context, key, object, std::move(bytes));
    }
  }
  if (has_changed) context.notify(kStringEvents, "pfadd", key);
  return Reply::integer(has_changed ? 1 : 0);
}

// ---- PFCOUNT ----

/// Raises the registers to those of the HyperLogLogs at the keys. Counts the dense ones. Returns an
/// error if one is damaged.
std::optional<Reply> merge_keys(CommandContext& context, hll::Registers& registers,
                                std::size_t& dense) {
  for (const std::string_view key : context.request().subspan(1)) {
    Object* object = nullptr;
    if (auto error = find_hyperloglog(context, key, object)) return error;
    if (object == nullptr) continue;
    const std::string_view bytes = object->string().text();
    if (hll::is_dense(bytes)) ++dense;
    if (!hll::merge(bytes, registers)) return errors::damaged_hyperloglog();
  }
  return std::nullopt;
}

Reply count_reply(std::uint64_t count) { return Reply::integer(static_cast<std::int64_t>(count)); }

/// Returns the count of all keys together.
Reply count_union(CommandContext& context) {
  hll::Registers registers{};
  std::size_t dense = 0;
  if (auto error = merge_keys(context, registers, dense)) return *std::move(error);
  return count_reply(hll::estimate(registers));
}

Reply pfcount_command(CommandContext& context) {
  // A read-only script must not count, because its replicas would store the count, too.
  if (context.read_only()) return errors::write_in_read_only_script();
  if (context.size() > 2) return count_union(context);
  Object* object = nullptr;
  if (auto error = find_hyperloglog(context, context[1], object)) return *std::move(error);
  if (object == nullptr) return Reply::integer(0);
  // After a failed write of the store nothing may change.
  const bool may_change = context.services().write_refusal.empty();
  if (may_change) strings::make_buffer(context.db(), *object);
  const std::string_view bytes = object->string().text();
  if (const auto count = hll::last_count(bytes)) return count_reply(*count);
  const auto count = hll::estimate(bytes);
  if (!count) return errors::damaged_hyperloglog();
  if (may_change) {
    const auto kept = hll::encode_count(*count);
    strings::overwrite(context.db(), *object, hll::kCountOffset, {kept.data(), kept.size()});
  }
  return count_reply(*count);
}

// ---- PFMERGE ----

Reply pfmerge_command(CommandContext& context) {
  hll::Registers registers{};
  std::size_t dense = 0;
  if (auto error = merge_keys(context, registers, dense)) return *std::move(error);

  const std::string_view key = context[1];
  Object* const object = context.db().find(key);
  std::string bytes = object == nullptr ? hll::make_empty() : std::string(object->string().text());
  if (dense > 0) bytes = hll::to_dense(bytes).value();  // merge_keys() has checked it
  for (std::size_t i = 0; i < registers.size(); ++i) {
    if (registers[i] > 0)
      static_cast<void>(hll::raise(bytes, {i, registers[i]}, sparse_bytes_max(context)));
  }
  note_change(bytes);
  store(context, key, object, std::move(bytes));
  context.notify(kStringEvents, "pfadd", key);
  return Reply::ok();
}

// ---- PFDEBUG ----

/// Converts the value at the key. Returns false if it is damaged.
bool make_dense(CommandContext& context, Object& object) {
  auto dense = hll::to_dense(object.string().text());
  if (!dense) return false;
  store(context, context[2], &object, *std::move(dense));
  return true;
}

Reply registers_reply(CommandContext& context, Object& object) {
  if (!hll::is_dense(object.string().text()) && !make_dense(context, object))
    return errors::damaged_hyperloglog();
  std::vector<Reply> replies;
  replies.reserve(hll::kRegisters);
  for (std::size_t i = 0; i < hll::kRegisters; ++i)
    replies.push_back(Reply::integer(hll::dense_register(object.string().text(), i)));
  return Reply::array(std::move(replies));
}

Reply runs_reply(const CommandContext& context, std::string_view bytes) {
  if (hll::is_dense(bytes)) return errors::not_sparse();
  const std::size_t bytes_max = context.session().reply_bytes_max;
  std::string description = hll::describe_runs(bytes, bytes_max);
  if (description.size() > bytes_max) return errors::reply_too_large();
  return Reply::bulk(std::move(description));
}

Reply pfdebug_command(CommandContext& context) {
  const std::string_view subcommand = context[1];
  Object* object = nullptr;
  if (auto error = find_hyperloglog(context, context[2], object)) return *std::move(error);
  if (object == nullptr) return errors::no_hyperloglog();
  strings::make_buffer(context.db(), *object);  // as in PFADD, whatever the subcommand
  const std::string_view bytes = object->string().text();
  if (is_keyword(subcommand, "GETREG")) return registers_reply(context, *object);
  if (is_keyword(subcommand, "DECODE")) return runs_reply(context, bytes);
  if (is_keyword(subcommand, "ENCODING"))
    return Reply::status(hll::is_dense(bytes) ? "dense" : "sparse");
  if (!is_keyword(subcommand, "TODENSE")) return errors::unknown_pfdebug_subcommand(subcommand);
  if (hll::is_dense(bytes)) return Reply::integer(0);
  return make_dense(context, *object) ? Reply::integer(1) : errors::damaged_hyperloglog();
}

// ---- PFSELFTEST ----

/// Returns true if each dense register keeps its value while all others change.
bool registers_are_separate() {
  constexpr std::size_t kStep = 7;  // visits all registers, because it is odd
  const auto value_of = [](std::size_t index) {
    return static_cast<std::uint8_t>(index * 37 % 64);
  };
  std::string bytes = hll::to_dense(hll::make_empty()).value();
  for (std::size_t i = 0; i < hll::kRegisters; ++i) {
    const std::size_t index = i * kStep % hll::kRegisters;
    const hll::DensePatch patch = hll::patch_dense(bytes, index, value_of(index));
    bytes.replace(patch.offset, patch.size, patch.view());
  }
  for (std::size_t i = 0; i < hll::kRegisters; ++i) {
    if (hll::dense_register(bytes, i) != value_of(i)) return false;
  }
  return true;
}

/// Returns true if the counts of 1, 10, … elements are nearly right, and the same in both forms.
bool counts_are_near() {
  constexpr int kElements = 100'000;
  constexpr std::size_t kSparseBytesMax = 3'000;
  constexpr double kErrorMax = 6 * 1.04 / 128;  // six standard errors
  std::string sparse = hll::make_empty();
  std::string dense = hll::to_dense(sparse).value();
  int next_checked = 1;
  for (int i = 1; i <= kElements; ++i) {
    const hll::Observation seen = hll::observe(std::to_string(i));
    hll::raise(sparse, seen, kSparseBytesMax);
    hll::raise(dense, seen, 0);
    if (i != next_checked) continue;
    next_checked *= 10;
    const auto count = hll::estimate(dense);
    if (hll::estimate(sparse) != count) return false;
    if (std::abs(static_cast<double>(*count) - i) > i * kErrorMax) return false;
  }
  return true;
}

Reply pfselftest_command(CommandContext&) {
  if (!registers_are_separate()) return errors::selftest_failed("registers are not separate");
  if (!counts_are_near()) return errors::selftest_failed("a count is wrong");
  return Reply::ok();
}

// ---- The records ----

constexpr CommandSpec kHyperloglogCommands[] = {
    {.name = "pfadd",
     .function = pfadd_command,
     .arity = -2,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key [element [element ...]]",
     .summary = "Adds elements to a HyperLogLog.",
     .since = "2.8.9",
     .complexity = "O(1) an element"},
    {.name = "pfcount",
     .function = pfcount_command,
     .arity = -2,
     .flags = kReadOnly | kPausedWithWrites,
     .syntax = "key [key ...]",
     .summary = "Estimates how many distinct elements were added to HyperLogLogs.",
     .since = "2.8.9",
     .complexity = "O(1) for a key without changes since its last count, else O(N), N keys"},
    {.name = "pfmerge",
     .function = pfmerge_command,
     .arity = -2,
     .flags = kWrite | kDenyOom,
     .syntax = "destkey [sourcekey [sourcekey ...]]",
     .summary = "Merges HyperLogLogs into one.",
     .since = "2.8.9",
     .complexity = "O(N), N keys"},
    {.name = "pfdebug",
     .function = pfdebug_command,
     .arity = 3,
     .flags = kWrite | kDenyOom | kAdmin | kSystemCommand,
     .syntax = "subcommand key",
     .summary = "Shows the registers or the form of a HyperLogLog, or changes the form.",
     .since = "2.8.9",
     .complexity = "O(1)"},
    {.name = "pfselftest",
     .function = pfselftest_command,
     .arity = 1,
     .flags = kAdmin | kSystemCommand,
     .summary = "Tests the implementation of HyperLogLogs.",
     .since = "2.8.9",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily hyperloglog_commands() { return {CommandGroup::kHyperLogLog, kHyperloglogCommands}; }

}  // namespace rushgate
