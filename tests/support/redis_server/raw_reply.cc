#include "tests/support/redis_server/raw_reply.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"

namespace rushgate::testing {
namespace {

/// Reads from its position. A function that finds too few bytes returns nothing.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t position() const { return position_; }

  std::optional<Reply> read() {
    const auto line = read_line();
    if (!line) return std::nullopt;
    if (line->empty()) throw std::runtime_error("an empty line where a reply should begin");
    const std::string_view rest = line->substr(1);
    switch (line->front()) {
      case '+':
        return Reply::status(std::string(rest));
      case '-':
        return Reply::error(std::string(rest));
      case ':':
        return Reply::integer(number(rest));
      case '_':
        return Reply::nil();
      case '#':
        return Reply::boolean(rest == "t");
      case ',':
        return Reply::real(std::strtod(std::string(rest).c_str(), nullptr));
      case '(':
        return Reply::big_number(std::string(rest));
      case '$':
      case '=':
        return read_sized(line->front(), number(rest));
      case '*':
      case '~':
      case '%':
      case '>':
        return read_aggregate(line->front(), number(rest));
      default:
        throw std::runtime_error("not a reply: " + escaped(*line));
    }
  }

 private:
  std::optional<std::string_view> read_line() {
    const std::size_t end = bytes_.find("\r\n", position_);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = bytes_.substr(position_, end - position_);
    position_ = end + 2;
    return line;
  }

  std::optional<Reply> read_sized(char type, std::int64_t size) {
    if (size < 0) return Reply::nil();
    const auto length = static_cast<std::size_t>(size);
    if (bytes_.size() < position_ + length + 2) return std::nullopt;
    std::string text(bytes_.substr(position_, length));
    position_ += length + 2;
    return type == '=' ? Reply::verbatim(std::move(text)) : Reply::bulk(std::move(text));
  }

  std::optional<Reply> read_aggregate(char type, std::int64_t size) {
    if (size < 0) return Reply::nil_array();
    std::vector<Reply> elements;
    for (std::int64_t i = 0; i < (type == '%' ? 2 * size : size); ++i) {
      auto element = read();
      if (!element) return std::nullopt;
      elements.push_back(*std::move(element));
    }
    if (type == '%') return Reply::map(std::move(elements));
    if (type == '~') return Reply::set(std::move(elements));
    if (type == '>') return Reply::push(std::move(elements));
    return Reply::array(std::move(elements));
  }

  static std::int64_t number(std::string_view text) {
    const auto value = parse_int64(text);
    if (!value) throw std::runtime_error("not a number: " + escaped(text));
    return *value;
  }

  std::string_view bytes_;
  std::size_t position_ = 0;
};

/// Copies the item at the beginning of `rest`, with its elements, to `item`, and removes it from
/// `rest`. Messages in it go to `messages` instead. Returns false for a message.
bool take_item(std::string_view& rest, std::string& item, std::vector<std::string>& messages) {
  const std::size_t line_end = rest.find("\r\n");
  if (line_end == std::string_view::npos) throw std::runtime_error("an incomplete reply");
  const char type = rest.front();
  std::int64_t size = 0;
  const bool has_size = std::string_view("*~%>$=").find(type) != std::string_view::npos;
  if (has_size) size = parse_int64(rest.substr(1, line_end - 1)).value();
  const bool is_string = type == '$' || type == '=';
  const std::size_t bytes =
      line_end + 2 + (is_string && size >= 0 ? static_cast<std::size_t>(size) + 2 : 0);
  const bool is_message = type == '>';
  std::string message;
  std::string& copy = is_message ? message : item;
  copy += rest.substr(0, bytes);
  rest.remove_prefix(std::min(bytes, rest.size()));
  for (std::int64_t left = is_string ? 0 : size * (type == '%' ? 2 : 1); left > 0;) {
    if (take_item(rest, copy, messages)) --left;
  }
  if (is_message) messages.push_back(std::move(message));
  return !is_message;
}

std::string escape(unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  if (byte == '\r') return "\\r";
  if (byte == '\n') return "\\n";
  if (byte == '\\') return "\\\\";
  if (byte >= 0x20 && byte < 0x7f) return {static_cast<char>(byte)};
  return {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
}

}  // namespace

std::optional<ParsedReply> parse_raw_reply(std::string_view bytes) {
  Reader reader(bytes);
  auto reply = reader.read();
  if (!reply) return std::nullopt;
  return ParsedReply{*std::move(reply), reader.position()};
}

RawOutput separate_messages(std::string_view bytes) {
  RawOutput output;
  while (!bytes.empty()) {
    std::string item;
    if (take_item(bytes, item, output.messages)) output.replies.push_back(std::move(item));
  }
  return output;
}

std::string escaped(std::string_view bytes) {
  constexpr std::size_t kShownMax = 4'000;
  std::string shown;
  if (bytes.size() > kShownMax) {
    return escaped(bytes.substr(0, kShownMax / 2)) + " ... " +
           std::to_string(bytes.size() - kShownMax / 2 - 100) + " bytes ... " +
           escaped(bytes.substr(bytes.size() - 100));
  }
  for (const char c : bytes) shown += escape(static_cast<unsigned char>(c));
  return shown;
}

}  // namespace rushgate::testing
