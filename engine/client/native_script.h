// Scripts in C++: a function that the engine runs as it runs a Lua script, alone and from start to
// end. On the wire it is called by FCALL, as Redis Functions are:
// https://redis.io/docs/latest/commands/fcall/
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "engine/base/scalar.h"
#include "engine/base/stream_id.h"
#include "engine/client/reply.h"
#include "engine/client/request.h"

namespace rushgate {

/// What a native script sees of the engine while it runs. Valid only during the call.
///
/// The typed operations do what the command of the same meaning does, without text on the way. They
/// throw ScriptError with Redis's text (WRONGTYPE, not an integer, …), or the store's if it fails;
/// a script that lets it through is undone and answers with that error.
class NativeCall {
 public:
  using Field = std::pair<std::string_view, Scalar>;

  virtual ~NativeCall() = default;

  // ---- What it was called with ----
  [[nodiscard]] virtual std::string_view key(std::size_t index) const = 0;
  [[nodiscard]] virtual std::size_t key_count() const = 0;
  [[nodiscard]] virtual std::string_view argument(std::size_t index) const = 0;
  [[nodiscard]] virtual std::size_t argument_count() const = 0;

  /// Frozen while the script runs; ms since 1970 UTC.
  [[nodiscard]] virtual std::int64_t now_ms() const = 0;

  // ---- Any command; an error is a value here ----
  virtual Reply call(const Request& request) = 0;

  /// Runs a part of the script whose failure is not that of the whole: if it throws a ScriptError,
  /// what it did is undone, and the error is its answer.
  virtual Reply attempt(absl::FunctionRef<Reply()> part) = 0;

  /// Sets when a key expires, ms since 1970 UTC; later than now_ms(). There must be such a key.
  virtual void expire_at(std::string_view key, std::int64_t at_ms) = 0;  // PEXPIREAT

  // ---- Strings ----
  virtual std::optional<std::string> get(std::string_view key) = 0;  // GET
  /// Makes `key` a string that expires, whatever was there. As expire_at().
  virtual void set_until(std::string_view key, std::string_view value,
                         std::int64_t at_ms) = 0;                                    // SET … PXAT
  virtual std::optional<std::int64_t> get_integer(std::string_view key) = 0;         // GET
  virtual std::int64_t increment_by(std::string_view key, std::int64_t amount) = 0;  // INCRBY

  // ---- Hashes ----
  virtual std::optional<std::string> hash_get(std::string_view key,
                                              std::string_view field) = 0;  // HGET
  virtual std::optional<std::int64_t> hash_get_integer(std::string_view key,
                                                       std::string_view field) = 0;  // HGET
  /// HMGET: values[i] is that of fields[i]; nothing where there is none.
  virtual void hash_get_integers(std::string_view key, std::span<const std::string_view> fields,
                                 std::span<std::optional<std::int64_t>> values) = 0;
  virtual void hash_set(std::string_view key, std::string_view field,
                        std::string_view value) = 0;  // HSET
  virtual std::int64_t hash_increment_by(std::string_view key, std::string_view field,
                                         std::int64_t amount) = 0;  // HINCRBY
  /// Names a hash in one of its states. A script may keep what it made of the hash, and need not
  /// read it again as long as it finds the same name.
  struct Revision {
    std::uint64_t hash = 0;  // 0: there is none at this key
    std::uint64_t changes = 0;

    friend bool operator==(const Revision&, const Revision&) = default;
  };
  virtual Revision hash_revision(std::string_view key) = 0;
  /// Every field with its value, in no order. HGETALL.
  virtual void hash_for_each(
      std::string_view key,
      absl::FunctionRef<void(std::string_view field, std::string_view value)> visit) = 0;

  // ---- Sets ----
  virtual bool set_contains(std::string_view key, std::string_view member) = 0;  // SISMEMBER
  virtual bool set_add(std::string_view key, const Scalar& member) = 0;  // SADD, true if it was new
  /// SADD of one after the other, until `new_max` of them were new. Sets is_new[i] for each that it
  /// came to, for which there must be room; how many those are.
  virtual std::size_t set_add_integers(std::string_view key, std::span<const std::int64_t> members,
                                       std::size_t new_max, std::span<bool> is_new) = 0;
  virtual std::int64_t set_size(std::string_view key) = 0;  // SCARD

  // ---- Streams ----
  /// The time, ms since 1970 UTC, in the greatest id that the stream has given; 0 where there is no
  /// stream. XINFO STREAM, last-generated-id.
  virtual std::int64_t stream_last_ms(std::string_view key) = 0;
  /// XADD key * field value …
  virtual StreamId stream_append(std::string_view key, std::span<const Field> fields) = 0;
  /// As stream_append() for each row of `values`, whose fields have these names, at least one. Rows
  /// must be whole, and fails where not so many ids are left of one ms (after 2^64 in it).
  virtual void stream_append_rows(std::string_view key, std::span<const std::string_view> names,
                                  std::span<const std::int64_t> values) = 0;
};

/// An error that a native script ends with. The text is "<CODE> <message>".
class ScriptError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs inside the turn: it must not call a Client, wait, or keep the NativeCall. May throw: all it
/// did is undone then.
using NativeScript = std::function<Reply(NativeCall&)>;

struct NamedScript {
  std::string name;
  NativeScript script;
};

}  // namespace rushgate
