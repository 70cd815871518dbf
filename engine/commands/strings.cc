// Commands on strings: https://redis.io/docs/latest/commands/?group=string
#include "engine/keyspace/strings.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/numbers.h"
#include "engine/commands/arguments.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/errors.h"

namespace rushgate {
namespace {

constexpr std::size_t kStringBytesMax = 512ULL * 1024 * 1024;

Reply value_reply(Object* object) {
  return object == nullptr ? Reply::nil() : Reply::bulk(object->string().bytes());
}

/// strings::set() with an expiry, for a caller who has looked the key up already.
void put(Database& db, Object* object, std::string_view key, std::string_view value,
         std::int64_t expire_at_ms) {
  if (object == nullptr) {
    object = &db.create(key, StringValue(value));
  } else if (object->type() == ValueType::kString) {
    strings::assign(db, *object, StringValue(value));
  } else {
    object = &strings::set(db, key, StringValue(value));
  }
  db.set_expiry(*object, expire_at_ms);
}

// ---- SET ----

struct ExpiryOption {
  std::string_view keyword;
  std::int64_t unit_ms;
  bool from_now;
};

constexpr ExpiryOption kExpiryOptions[] = {
    {"EX", 1000, true},
    {"PX", 1, true},
    {"EXAT", 1000, false},
    {"PXAT", 1, false},
};

struct SetOptions {
  bool only_if_absent = false;           // NX
  bool only_if_present = false;          // XX
  bool answer_old = false;               // GET
  bool keep_expiry = false;              // KEEPTTL
  const ExpiryOption* expiry = nullptr;  // EX, PX, EXAT or PXAT, if given
  std::string_view expiry_text;          // its value; the last one, if it is given again
};

/// EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds. False if
/// the next argument is none of them.
bool accept_expiry(Arguments& arguments, SetOptions& options) {
  for (const ExpiryOption& option : kExpiryOptions) {
    if (!arguments.accept(option.keyword)) continue;
    if (options.expiry != nullptr && options.expiry != &option) arguments.fail(errors::syntax());
    options.expiry = &option;
    options.expiry_text = arguments.next();
    return true;
  }
  return false;
}

SetOptions read_set_options(Arguments& arguments) {
  SetOptions options;
  while (!arguments.at_end()) {
    if (arguments.accept("NX")) {
      options.only_if_absent = true;
    } else if (arguments.accept("XX")) {
      options.only_if_present = true;
    } else if (arguments.accept("GET")) {
      options.answer_old = true;
    } else if (arguments.accept("KEEPTTL")) {
      options.keep_expiry = true;
    } else if (!accept_expiry(arguments, options)) {
      arguments.fail(errors::syntax());
    }
  }
  const bool conditions_conflict = options.only_if_absent && options.only_if_present;
  const bool expiries_conflict = options.keep_expiry && options.expiry != nullptr;
  if (conditions_conflict || expiries_conflict) arguments.fail(errors::syntax());
  return options;
}

/// The moment that the options name. Unlike EXPIRE, SET takes no time of zero or less.
std::int64_t read_expiry(Arguments& arguments, const SetOptions& options, std::int64_t now_ms) {
  if (options.expiry == nullptr) return kNoExpiry;
  const auto [keyword, unit_ms, from_now] = *options.expiry;
  const std::int64_t amount = arguments.to_integer(options.expiry_text);
  if (!arguments.ok()) return kNoExpiry;

  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const std::int64_t start_ms = from_now ? now_ms : 0;
  if (amount <= 0 || amount > kMax / unit_ms || amount * unit_ms > kMax - start_ms) {
    arguments.fail(errors::invalid_expire_time("set"));
    return kNoExpiry;
  }
  return start_ms + amount * unit_ms;
}

// ---- INCR and its like ----

Reply increment(CommandContext& context, std::int64_t amount) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  if (object == nullptr) {
    context.db().create(context[1], StringValue(amount));
    return Reply::integer(amount);
  }
  const auto current = object->string().integer();
  if (!current) return errors::not_an_integer();
  const auto sum = checked_add(*current, amount);
  if (!sum) return errors::overflow();
  strings::assign(context.db(), *object, StringValue(*sum));
  return Reply::integer(*sum);
}

}  // namespace

// GET key
Reply get_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  return value_reply(object);
}

// SET key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT
// unix-time-milliseconds | KEEPTTL]
Reply set_command(CommandContext& context) {
  Arguments arguments(context.request(), 3);
  const SetOptions options = read_set_options(arguments);
  std::int64_t expire_at_ms = read_expiry(arguments, options, context.now_ms());
  if (!arguments.ok()) return arguments.take_error();
  if (context[2].size() > kStringBytesMax) return errors::string_too_long();

  Object* object = context.db().find(context[1]);
  if (options.answer_old && object != nullptr && object->type() != ValueType::kString)
    return errors::wrong_type();
  Reply old = options.answer_old ? value_reply(object) : Reply::nil();
  if (object == nullptr ? options.only_if_present : options.only_if_absent) return old;

  if (options.keep_expiry && object != nullptr) expire_at_ms = object->expire_at_ms;
  put(context.db(), object, context[1], context[2], expire_at_ms);
  return options.answer_old ? std::move(old) : Reply::ok();
}

// SETNX key value
Reply setnx_command(CommandContext& context) {
  if (context[2].size() > kStringBytesMax) return errors::string_too_long();
  if (context.db().find(context[1]) != nullptr) return Reply::integer(0);
  context.db().create(context[1], StringValue(context[2]));
  return Reply::integer(1);
}

// MGET key [key ...]
Reply mget_command(CommandContext& context) {
  std::vector<Reply> values;
  values.reserve(context.size() - 1);
  for (std::size_t i = 1; i < context.size(); ++i) {
    Object* object = nullptr;  // stays null for a key of another type: not an error here
    static_cast<void>(context.find(context[i], ValueType::kString, object));
    values.push_back(value_reply(object));
  }
  return Reply::array(std::move(values));
}

// MSET key value [key value ...]
Reply mset_command(CommandContext& context) {
  Arguments arguments(context.request());
  arguments.expect_pairs();
  if (!arguments.ok()) return arguments.take_error();
  for (std::size_t i = 2; i < context.size(); i += 2) {
    if (context[i].size() > kStringBytesMax) return errors::string_too_long();
  }
  while (!arguments.at_end()) {
    const std::string_view key = arguments.next();
    put(context.db(), context.db().find(key), key, arguments.next(), kNoExpiry);
  }
  return Reply::ok();
}

// INCR key
Reply incr_command(CommandContext& context) { return increment(context, 1); }

// INCRBY key increment
Reply incrby_command(CommandContext& context) {
  const auto amount = parse_int64(context[2]);
  if (!amount) return errors::not_an_integer();
  return increment(context, *amount);
}

// DECR key
Reply decr_command(CommandContext& context) { return increment(context, -1); }

// DECRBY key decrement
Reply decrby_command(CommandContext& context) {
  const auto amount = parse_int64(context[2]);
  if (!amount) return errors::not_an_integer();
  if (*amount == std::numeric_limits<std::int64_t>::min()) return errors::decrement_overflow();
  return increment(context, -*amount);
}

}  // namespace rushgate
