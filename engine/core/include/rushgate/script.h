// Scripts, which run atomically: in Lua, and as native scripts, functions in C++. A request calls a
// native script by FCALL, as Redis Functions: https://redis.io/docs/latest/commands/fcall/
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/functional/function_ref.h"
#include <rushgate/maybe_integer.h>
#include <rushgate/reply.h>
#include <rushgate/request.h>
#include <rushgate/stream_id.h>

namespace rushgate {

/// Immutable and thread-safe. Create it once, not per call.
class Script {
 public:
  /// `native_name` names the native script with the same results. A backend
  /// that has a native script of this name runs it; others, such as Redis, run the Lua
  /// source.
  explicit Script(std::string text, std::string native_name = {});

  [[nodiscard]] const std::string& text() const { return text_; }
  /// Returns 40 lower-case hexadecimal digits, as SCRIPT LOAD does.
  [[nodiscard]] const std::string& sha1() const { return sha1_; }
  [[nodiscard]] const std::string& native_name() const { return native_name_; }

 private:
  std::string text_;
  std::string sha1_;
  std::string native_name_;
};

/// The engine's interface for a running native script. Valid only during the call. A typed
/// operation has the meaning of its command, and needs no conversion to strings. It throws
/// ScriptError with Redis's message (WRONGTYPE, not an integer, …), or with the store's if the
/// store fails. If the script does not catch it, the script is rolled back and replies with that
/// error.
class NativeCall {
 public:
  using Field = std::pair<std::string_view, MaybeInteger>;

  virtual ~NativeCall() = default;

  // ---- The call ----
  [[nodiscard]] virtual std::string_view key(std::size_t index) const = 0;
  [[nodiscard]] virtual std::size_t key_count() const = 0;
  [[nodiscard]] virtual std::string_view argument(std::size_t index) const = 0;
  [[nodiscard]] virtual std::size_t argument_count() const = 0;

  /// Returns the time, ms since 1970 UTC. It does not change while the script runs.
  [[nodiscard]] virtual std::int64_t now_ms() const = 0;

  // ---- Any command; an error is a value here ----
  virtual Reply call(const Request& request) = 0;

  /// Runs `part`. If it throws ScriptError, rolls back the changes of `part` alone and returns the
  /// error; the script continues.
  virtual Reply attempt(absl::FunctionRef<Reply()> part) = 0;

  /// Sets the expiry of an existing key, ms since 1970 UTC. Must be later than now_ms().
  virtual void expire_at(std::string_view key, std::int64_t at_ms) = 0;  // PEXPIREAT

  // ---- Strings ----
  virtual std::optional<std::string> get(std::string_view key) = 0;  // GET
  /// The same without a copy. Returns false if there is no value; else calls `visit`, which must
  /// not change anything.
  virtual bool get(std::string_view key, absl::FunctionRef<void(std::string_view value)> visit) = 0;
  /// Sets `key` to a string that expires at `at_ms`, as expire_at(). Replaces any value.
  virtual void set_until(std::string_view key, std::string_view value,
                         std::int64_t at_ms) = 0;                                    // SET … PXAT
  virtual std::optional<std::int64_t> get_integer(std::string_view key) = 0;         // GET
  virtual std::int64_t increment_by(std::string_view key, std::int64_t amount) = 0;  // INCRBY

  // ---- Hashes ----
  virtual std::optional<std::string> hash_get(std::string_view key,
                                              std::string_view field) = 0;  // HGET
  virtual std::optional<std::int64_t> hash_get_integer(std::string_view key,
                                                       std::string_view field) = 0;  // HGET
  /// HMGET. Sets values[i] to the value of fields[i]; empty if the field does not exist.
  virtual void hash_get_integers(std::string_view key, std::span<const std::string_view> fields,
                                 std::span<std::optional<std::int64_t>> values) = 0;
  virtual void hash_set(std::string_view key, std::string_view field,
                        std::string_view value) = 0;  // HSET
  virtual std::int64_t hash_increment_by(std::string_view key, std::string_view field,
                                         std::int64_t amount) = 0;  // HINCRBY
  virtual bool hash_remove(std::string_view key,
                           std::string_view field) = 0;  // HDEL, true if it was there
  /// Identifies one state of a hash. A script may cache values derived from the hash while the
  /// revision stays the same.
  struct Revision {
    std::uint64_t hash = 0;  // 0: no hash at this key
    std::uint64_t changes = 0;

    friend bool operator==(const Revision&, const Revision&) = default;
  };
  virtual Revision hash_revision(std::string_view key) = 0;
  /// HGETALL. Calls the function for every field and value, in no particular order.
  virtual void hash_for_each(
      std::string_view key,
      absl::FunctionRef<void(std::string_view field, std::string_view value)> visit) = 0;

  // ---- Sets ----
  virtual bool set_contains(std::string_view key, std::string_view member) = 0;  // SISMEMBER
  virtual bool set_add(std::string_view key,
                       const MaybeInteger& member) = 0;  // SADD, true if it was new
  virtual bool set_remove(std::string_view key,
                          std::string_view member) = 0;  // SREM, true if it was there
  /// Adds members in order (SADD) until `new_max` of them were new. Sets is_new[i] for each
  /// processed member; `is_new` must be large enough. Returns the number of processed members.
  virtual std::size_t set_add_integers(std::string_view key, std::span<const std::int64_t> members,
                                       std::size_t new_max, std::span<bool> is_new) = 0;
  virtual std::int64_t set_size(std::string_view key) = 0;  // SCARD

  // ---- Sorted sets ----
  virtual std::int64_t sorted_set_size(std::string_view key) = 0;  // ZCARD
  struct Scores {
    double lowest;
    double greatest;
  };
  /// ZRANGE … WITHSCORES of the first and the last member. Returns nothing if there is no sorted
  /// set.
  virtual std::optional<Scores> sorted_set_scores(std::string_view key) = 0;
  /// Returns true if the member is new; otherwise does nothing. The score must not be NaN.
  virtual bool sorted_set_add(std::string_view key, std::string_view member,
                              double score) = 0;  // ZADD … NX
  /// ZRANGE key rank rank WITHSCORES. Returns false if there is no such member; else calls `visit`,
  /// which must not change anything.
  virtual bool sorted_set_at(
      std::string_view key, std::size_t rank,
      absl::FunctionRef<void(std::string_view member, double score)> visit) = 0;
  virtual bool sorted_set_remove(std::string_view key,
                                 std::string_view member) = 0;  // ZREM, true if it was there
  /// Removes the members with scores of at most `score_max`. Returns their number.
  virtual std::size_t sorted_set_remove_up_to(std::string_view key,
                                              double score_max) = 0;  // ZREMRANGEBYSCORE … -inf

  // ---- Streams ----
  /// XINFO STREAM, last-generated-id. Returns the time in that id, ms since 1970 UTC; 0 if there is
  /// no stream.
  virtual std::int64_t stream_last_ms(std::string_view key) = 0;
  /// The value of a field of an entry; nothing if the entry does not have the field.
  using StreamValue = std::variant<std::monostate, std::int64_t, std::string_view>;
  /// XRANGE key (after + COUNT count_max, of the fields `names` alone. Calls `visit` with the
  /// values of each entry, in the order of `names`. An integer may come as such, or as text. Of a
  /// repeated field it has the last value. The values are valid during the visit, which must not
  /// change anything.
  virtual void stream_for_each(
      std::string_view key, StreamId after, std::size_t count_max,
      std::span<const std::string_view> names,
      absl::FunctionRef<void(StreamId id, std::span<const StreamValue> values)> visit) = 0;
  /// XADD key * field value …
  virtual StreamId stream_append(std::string_view key, std::span<const Field> fields) = 0;
  /// Appends an entry for each row of `values`, with the fields `names` (at least one). Rows must
  /// be complete. Throws if the current ms has too few ids left.
  virtual void stream_append_rows(std::string_view key, std::span<const std::string_view> names,
                                  std::span<const std::int64_t> values) = 0;
};

/// An error that ends a native script. The message has the form "<CODE> <message>".
class ScriptError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs inside the turn. Must not call a Client, wait, or keep the NativeCall. If it throws, all
/// its changes are rolled back.
using NativeScript = std::function<Reply(NativeCall&)>;

struct NamedScript {
  std::string name;
  NativeScript script;
};

}  // namespace rushgate
