// The reply to a command, of one of the kinds of the Redis protocol. An error is a reply, too.
// Kinds: https://redis.io/docs/latest/develop/reference/protocol-spec/
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rushgate {

/// A value type; not synchronised. An accessor that does not fit the kind returns an empty value
/// (0, an empty string, no elements) and does not throw. So a reply can be read first and checked
/// for errors afterwards.
class Reply {
 public:
  enum class Kind : std::uint8_t {
    kNil,        // RESP2: null bulk string; RESP3: null
    kNilArray,   // RESP2: null array; RESP3: null
    kInteger,    //
    kDouble,     // RESP3; RESP2: bulk string
    kBoolean,    // RESP3; RESP2: integer 0 or 1
    kStatus,     // "simple string": OK, PONG
    kBulk,       // any bytes
    kError,      // "<CODE> <message>"
    kBigNumber,  // RESP3; RESP2: bulk string
    kVerbatim,   // RESP3, text() is "<three letters>:<string>"; RESP2: bulk string without
                 // the letters
    kArray,      //
    kMap,        // RESP3, elements are key, value, key, value, …; RESP2: flat array
    kSet,        // RESP3; RESP2: array
    kPush,       // RESP3, out of band; RESP2: array
    kSeveral,    // several replies to one request, one after another, as SUBSCRIBE to
                 // several channels returns
  };

  Reply() = default;  // kNil

  static Reply nil() { return {}; }
  static Reply nil_array() { return {Kind::kNilArray, std::monostate{}}; }
  static Reply integer(std::int64_t value) { return {Kind::kInteger, value}; }
  static Reply real(double value) { return {Kind::kDouble, value}; }
  /// Returns a kDouble that is written without an exponent and with up to 17 digits after the
  /// point, as coordinates are.
  static Reply decimal(double value) { return {Kind::kDouble, Decimal{value}}; }
  static Reply boolean(bool value) { return {Kind::kBoolean, std::int64_t{value}}; }
  static Reply status(std::string text) { return {Kind::kStatus, std::move(text)}; }
  static Reply ok() { return status("OK"); }
  static Reply bulk(std::string bytes) { return {Kind::kBulk, std::move(bytes)}; }
  static Reply bulk(std::string_view bytes) { return bulk(std::string(bytes)); }
  static Reply bulk(const char* text) { return bulk(std::string(text)); }
  static Reply error(std::string text) { return {Kind::kError, std::move(text)}; }
  static Reply big_number(std::string digits) { return {Kind::kBigNumber, std::move(digits)}; }
  static Reply verbatim(std::string format_and_text) {
    return {Kind::kVerbatim, std::move(format_and_text)};
  }
  static Reply array(std::vector<Reply> elements = {}) {
    return {Kind::kArray, std::move(elements)};
  }
  static Reply map(std::vector<Reply> keys_and_values = {}) {
    return {Kind::kMap, std::move(keys_and_values)};
  }
  static Reply set(std::vector<Reply> elements = {}) { return {Kind::kSet, std::move(elements)}; }
  static Reply push(std::vector<Reply> elements) { return {Kind::kPush, std::move(elements)}; }
  static Reply several(std::vector<Reply> replies) { return {Kind::kSeveral, std::move(replies)}; }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_nil() const { return kind_ == Kind::kNil || kind_ == Kind::kNilArray; }
  [[nodiscard]] bool is_error() const { return kind_ == Kind::kError; }
  [[nodiscard]] bool is_integer() const { return kind_ == Kind::kInteger; }
  /// Returns true for kArray, kMap, kSet, kPush and kSeveral.
  [[nodiscard]] bool is_aggregate() const { return std::holds_alternative<Elements>(value_); }
  /// Returns true for kStatus, kBulk, kBigNumber and kVerbatim. Not for kError, so that the message
  /// of an error is not read as data.
  [[nodiscard]] bool is_text() const { return has_text() && !is_error(); }
  /// Returns true if text() is the reply's value: is_text() or is_error().
  [[nodiscard]] bool has_text() const { return std::holds_alternative<std::string>(value_); }

  /// Returns the value of a kInteger, 1 for a kBoolean that is true, else 0.
  [[nodiscard]] std::int64_t integer() const {
    const auto* const value = std::get_if<std::int64_t>(&value_);
    return value != nullptr ? *value : 0;
  }
  [[nodiscard]] double real() const {
    if (is_decimal()) return std::get_if<Decimal>(&value_)->value;
    const auto* const value = std::get_if<double>(&value_);
    return value != nullptr ? *value : 0;
  }
  /// Returns true for a decimal().
  [[nodiscard]] bool is_decimal() const { return std::holds_alternative<Decimal>(value_); }
  [[nodiscard]] bool boolean() const { return integer() != 0; }
  /// Returns the string of a reply that has_text(). That of an error is for messages.
  [[nodiscard]] const std::string& text() const {
    const auto* const value = std::get_if<std::string>(&value_);
    return value != nullptr ? *value : no_text();
  }
  [[nodiscard]] const std::vector<Reply>& elements() const {
    const auto* const value = std::get_if<Elements>(&value_);
    return value != nullptr ? *value : no_elements();
  }

  /// Returns the string for changes in place. Another kind becomes an empty bulk string first.
  [[nodiscard]] std::string& mutable_text() {
    if (!has_text()) *this = bulk(std::string());
    return *std::get_if<std::string>(&value_);
  }
  /// Returns the elements for changes in place. Another kind becomes an empty array first.
  [[nodiscard]] std::vector<Reply>& mutable_elements() {
    if (!is_aggregate()) *this = array();
    return *std::get_if<Elements>(&value_);
  }

  /// Returns the first word of an error ("WRONGTYPE"); empty for other kinds.
  [[nodiscard]] std::string_view error_code() const;

  friend bool operator==(const Reply&, const Reply&) = default;

 private:
  struct Decimal {
    double value;
    friend bool operator==(const Decimal&, const Decimal&) = default;
  };
  using Elements = std::vector<Reply>;
  using Value = std::variant<std::monostate, std::int64_t, double, Decimal, std::string, Elements>;

  template <class T>
  Reply(Kind kind, T value) : kind_(kind), value_(std::in_place_type<T>, std::move(value)) {}

  static const std::string& no_text();
  static const std::vector<Reply>& no_elements();

  Kind kind_ = Kind::kNil;
  Value value_;
};

/// Converts a reply to RESP2's kinds, as Redis does for a client without HELLO
/// 3.
Reply to_resp2(Reply reply);

/// Returns about how many bytes of memory a reply takes.
std::size_t memory_bytes(const Reply& reply);

/// Returns the reply on one line, in the manner of redis-cli, for messages of failed tests and
/// logs. Not a format to parse.
std::string to_debug_string(const Reply& reply);

namespace error_code {

/// The request was sent, and its effect is unknown: the connection was lost, or the store failed
/// while writing. The caller may repeat the request with an idempotency key, or read the data.
inline constexpr std::string_view kOutcomeUnknown = "OUTCOMEUNKNOWN";

/// The queue was full, and the caller chose not to wait. The request did not run.
inline constexpr std::string_view kOverloaded = "OVERLOADED";

/// The request's deadline passed before it began. It did not run.
inline constexpr std::string_view kTimedOut = "TIMEDOUT";

/// The engine or the connection is closed. The request did not run.
inline constexpr std::string_view kClosed = "CLOSED";

/// A Client was called from inside the executor's turn. The request did not run.
inline constexpr std::string_view kReentrant = "REENTRANT";

}  // namespace error_code

inline bool has_code(const Reply& reply, std::string_view code) {
  return reply.error_code() == code;
}

/// Returns "nil", "nil array", "integer", …
std::string_view reply_kind_name(Reply::Kind kind);

}  // namespace rushgate
