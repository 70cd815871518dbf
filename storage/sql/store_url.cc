#include "storage/sql/store_url.h"

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/percent_encoding.h"
#include "engine/core/base/status_macros.h"

namespace rushgate::sql {
namespace {

absl::Status bad_option(std::string_view name, std::string_view what) {
  return absl::InvalidArgumentError(concat("URL of orders: ", name, " ", what));
}

absl::StatusOr<std::int64_t> parse_number(std::string_view name, std::string_view value,
                                          std::int64_t max) {
  const auto number = parse_int64(value);
  if (number && *number >= 1 && *number <= max) return *number;
  return bad_option(name, concat("is not from 1 to ", max));  // the value may be part of a password
}

absl::StatusOr<std::string> read_password(std::string_view value) {
  const auto path = percent_decoded(value);
  if (!path) return bad_option("password_file", "has a '%' without two hexadecimal digits");
  std::ifstream file(*path);
  std::string password;
  if (!std::getline(file, password)) {
    return bad_option("password_file", concat("cannot be read, or is empty: ", *path));
  }
  if (!password.empty() && password.back() == '\r') password.pop_back();
  return password;
}

/// Takes an option into `options`. Returns false if it is none of ours.
absl::StatusOr<bool> take_option(std::string_view name, std::string_view value,
                                 OwnOptions& options) {
  using std::chrono::milliseconds;
  if (name == "password_file") {
    ASSIGN_OR_RETURN(options.password, read_password(value));
  } else if (name == "pool_size") {
    ASSIGN_OR_RETURN(const std::int64_t size, parse_number(name, value, 100));
    options.pool_size = static_cast<std::size_t>(size);
  } else if (name == "connect_timeout") {
    ASSIGN_OR_RETURN(const std::int64_t seconds, parse_number(name, value, 3'600));
    options.connect_timeout = milliseconds(seconds * 1'000);
  } else if (name == "statement_timeout_ms") {
    ASSIGN_OR_RETURN(const std::int64_t ms, parse_number(name, value, 3'600'000));
    options.statement_timeout = milliseconds(ms);
  } else {
    return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<OwnOptions> take_own_options(std::string_view url) {
  const std::size_t query = std::min(url.find('?'), url.size());
  OwnOptions options{.rest = std::string(url.substr(0, query))};
  char before = '?';
  for (std::string_view rest = url.substr(std::min(query + 1, url.size())); !rest.empty();) {
    const std::string_view option = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(option.size() + 1, rest.size()));
    if (option.empty()) continue;
    const std::size_t equals = std::min(option.find('='), option.size());
    const std::string_view value = option.substr(std::min(equals + 1, option.size()));
    ASSIGN_OR_RETURN(const bool is_ours, take_option(option.substr(0, equals), value, options));
    if (is_ours) continue;
    options.rest += concat(std::string_view(&before, 1), option);
    before = '&';
  }
  return options;
}

namespace {

/// Takes the text before `end`, and `end` itself, from the front of `text`. Without `end`: all of it.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t size = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  return taken;
}

absl::StatusOr<std::string> decoded(std::string_view name, std::string_view part) {
  auto text = percent_decoded(part);
  if (text) return *std::move(text);
  return bad_option(name, "has a '%' without two hexadecimal digits");
}

/// Takes a host from the front of `text`, and the ':' behind it: a name, or an address of IPv6 in brackets.
absl::StatusOr<std::string> take_host(std::string_view& text) {
  if (!text.starts_with('[')) return decoded("the host", take_until(text, ':'));
  text.remove_prefix(1);
  const std::string_view address = take_until(text, ']');
  if (!text.empty() && !text.starts_with(':')) return bad_option("the host", "goes on behind ']'");
  text.remove_prefix(std::min<std::size_t>(1, text.size()));
  return std::string(address);
}

/// Reads user[:password]@[host[:port]].
absl::Status parse_authority(std::string_view authority, UrlParts& parts) {
  const std::size_t at = authority.rfind('@');
  std::string_view user = authority.substr(0, at == std::string_view::npos ? 0 : at);
  std::string_view host = authority.substr(at == std::string_view::npos ? 0 : at + 1);
  const bool has_password = user.find(':') != std::string_view::npos;
  ASSIGN_OR_RETURN(parts.user, decoded("the user", take_until(user, ':')));
  if (has_password) {
    ASSIGN_OR_RETURN(parts.password, decoded("the password", user));
  }
  ASSIGN_OR_RETURN(parts.host, take_host(host));
  if (host.empty()) return absl::OkStatus();
  constexpr std::int64_t kPortMax = 65'535;
  ASSIGN_OR_RETURN(const std::int64_t port, parse_number("the port", host, kPortMax));
  parts.port = static_cast<unsigned>(port);
  return absl::OkStatus();
}

/// Returns the part of a URL behind its "://" that has user, password, host and port.
std::string_view authority_of(std::string_view rest) {
  return rest.substr(0, rest.find_first_of("/?"));
}

/// Returns true if an '@' follows the authority of a URL behind its "://": then a '/' or a '?' is perhaps in
/// the middle of a password.
bool may_cut_password(std::string_view rest) {
  const std::string_view authority = authority_of(rest);
  return authority.find(':') != std::string_view::npos &&
         rest.find('@', authority.size()) != std::string_view::npos;
}

/// Replaces the values of libpq's options `password` and `sslpassword`.
std::string without_secret_options(std::string_view url) {
  constexpr std::string_view kSecret = "password=";
  std::size_t from = std::min(url.find('?'), url.size());
  std::string shown(url.substr(0, from));
  while (true) {
    const std::size_t found = url.find(kSecret, from);
    shown += url.substr(from, found == std::string_view::npos ? found : found - from);
    if (found == std::string_view::npos) return shown;
    shown += concat(kSecret, "x");
    from = std::min(url.find('&', found), url.size());
  }
}

}  // namespace

absl::StatusOr<UrlParts> parse_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos || url.find_first_of("/?") < scheme) {
    return bad_option("the scheme", "is not followed by ://");
  }
  std::string_view rest = url.substr(scheme + 3);
  if (may_cut_password(rest)) {
    return bad_option("an '@' behind the host",
                      "is written %40, and a '/' or '?' in a password %2F or %3F");
  }
  std::string_view place = take_until(rest, '?');
  UrlParts parts;
  RETURN_IF_ERROR(parse_authority(take_until(place, '/'), parts));
  ASSIGN_OR_RETURN(parts.database, decoded("the database", place));
  if (parts.database.empty()) return bad_option("the database", "is missing behind the host");
  while (!rest.empty()) {
    std::string_view option = take_until(rest, '&');
    ASSIGN_OR_RETURN(std::string name, decoded("an option", take_until(option, '=')));
    ASSIGN_OR_RETURN(std::string value, decoded(name, option));
    parts.options.emplace_back(std::move(name), std::move(value));
  }
  return parts;
}

std::string without_password(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string(url);
  const std::size_t place = scheme + 3;
  const std::string_view rest = url.substr(place);
  const std::size_t at = may_cut_password(rest) ? rest.rfind('@') : authority_of(rest).rfind('@');
  const std::size_t colon = rest.find(':');
  if (at == std::string_view::npos || colon > at) return without_secret_options(url);
  return without_secret_options(concat(url.substr(0, place + colon), ":x", rest.substr(at)));
}

}  // namespace rushgate::sql
