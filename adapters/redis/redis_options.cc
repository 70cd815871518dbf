#include "adapters/redis/redis_options.h"

#include <cstddef>
#include <limits>
#include <optional>

#include "adapters/redis/text.h"
#include "engine/base/numbers.h"

namespace rushgate {
namespace {

absl::Status bad_url(std::string_view what) {
  return absl::InvalidArgumentError(concat("Redis URL: ", what));
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

absl::StatusOr<std::string> percent_decoded(std::string_view text, std::string_view part) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const auto high = i + 1 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
    if (!high || !low) {
      return bad_url(concat("'%' in the ", part, " is not followed by two hexadecimal digits"));
    }
    decoded += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return decoded;
}

absl::Status parse_db(std::string_view text, RedisOptions& options) {
  const auto db = parse_int64(text);
  if (!db || *db < 0 || *db > std::numeric_limits<int>::max()) {
    return bad_url(concat("database \"", text, "\" is not a number from 0"));
  }
  options.db = static_cast<int>(*db);
  return absl::OkStatus();
}

absl::Status parse_port(std::string_view text, RedisOptions& options) {
  const auto port = parse_int64(text);
  if (!port || *port < 1 || *port > 65535) {
    return bad_url(concat("port \"", text, "\" is not a number from 1 to 65535"));
  }
  options.port = static_cast<int>(*port);
  return absl::OkStatus();
}

/// "user:password", ":password"; a user without a password has nothing to show the server.
absl::Status parse_credentials(std::string_view text, RedisOptions& options) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) {
    return bad_url("a user without a password: write user:password@ or :password@");
  }
  auto user = percent_decoded(text.substr(0, colon), "user");
  if (!user.ok()) return user.status();
  auto password = percent_decoded(text.substr(colon + 1), "password");
  if (!password.ok()) return password.status();
  options.user = *std::move(user);
  options.password = *std::move(password);
  return absl::OkStatus();
}

/// "host", "host:port", "[v6 address]", "[v6 address]:port".
absl::Status parse_host_and_port(std::string_view text, RedisOptions& options) {
  std::string_view host = text;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return bad_url("no ']' after '['");
    host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') {
      return bad_url(concat("\"", rest, "\" after ']' where \":port\" may stand"));
    }
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (host.empty()) return bad_url("no host");
  options.host = std::string(host);
  return rest.empty() ? absl::OkStatus() : parse_port(rest.substr(1), options);
}

absl::Status parse_tcp(std::string_view text, RedisOptions& options) {
  // A password may hold anything but '@' and '/', which are written as %40 and %2F.
  if (const std::size_t query = text.find_first_of("?#"); query != std::string_view::npos) {
    return bad_url("'?' and '#' have no meaning in redis://; in a password write %3F and %23");
  }
  const std::size_t slash = text.find('/');
  std::string_view authority = text.substr(0, slash);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    if (auto status = parse_credentials(authority.substr(0, at), options); !status.ok()) {
      return status;
    }
    authority = authority.substr(at + 1);
  }
  if (auto status = parse_host_and_port(authority, options); !status.ok()) return status;
  if (slash == std::string_view::npos || slash + 1 == text.size()) return absl::OkStatus();
  return parse_db(text.substr(slash + 1), options);
}

absl::Status parse_unix(std::string_view text, RedisOptions& options) {
  const std::size_t query = text.find('?');
  auto path = percent_decoded(text.substr(0, query), "path");
  if (!path.ok()) return path.status();
  if (path->empty() || path->front() != '/') {
    return bad_url("unix:// needs an absolute path: unix:///run/redis.sock");
  }
  options.unix_path = *std::move(path);
  if (query == std::string_view::npos) return absl::OkStatus();
  const std::string_view parameter = text.substr(query + 1);
  if (!parameter.starts_with("db=")) {
    return bad_url(concat("\"", parameter, "\" where db=N may stand"));
  }
  return parse_db(parameter.substr(3), options);
}

absl::Status must_be_positive(std::string_view name, std::int64_t value) {
  if (value > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      concat(name, " must be more than 0, not ", std::to_string(value)));
}

}  // namespace

absl::StatusOr<RedisOptions> RedisOptions::from_url(std::string_view url) {
  const std::size_t end = url.find("://");
  if (end == std::string_view::npos) {
    return bad_url("no \"redis://\" or \"unix://\" at its beginning");
  }
  RedisOptions options;
  const std::string_view scheme = url.substr(0, end);
  const std::string_view rest = url.substr(end + 3);
  absl::Status status;
  if (scheme == "redis") {
    status = parse_tcp(rest, options);
  } else if (scheme == "unix") {
    status = parse_unix(rest, options);
  } else if (scheme == "rediss") {
    status = bad_url("rediss:// (TLS) is not supported");
  } else {
    status = bad_url(concat("unknown scheme \"", scheme, "\": redis or unix"));
  }
  if (!status.ok()) return status;
  return options;
}

absl::Status RedisOptions::check() const {
  if (unix_path.empty() && host.empty()) return absl::InvalidArgumentError("no host");
  if (unix_path.empty() && (port < 1 || port > 65535)) {
    return absl::InvalidArgumentError(
        concat("port must be from 1 to 65535, not ", std::to_string(port)));
  }
  if (db < 0)
    return absl::InvalidArgumentError(concat("db must not be negative: ", std::to_string(db)));
  if (!user.empty() && password.empty()) {
    return absl::InvalidArgumentError("a user without a password");
  }
  for (const auto& status : {must_be_positive("connect_timeout_ms", connect_timeout_ms),
                             must_be_positive("command_timeout_ms", command_timeout_ms),
                             must_be_positive("connections_max", connections_max),
                             must_be_positive("reconnect_max_ms", reconnect_max_ms),
                             must_be_positive("keepalive_seconds", keepalive_seconds),
                             must_be_positive("sync_timeout_ms", sync_timeout_ms)}) {
    if (!status.ok()) return status;
  }
  if (sync_replicas < 0) {
    return absl::InvalidArgumentError(
        concat("sync_replicas must not be negative: ", std::to_string(sync_replicas)));
  }
  if (queue_capacity == 0) return absl::InvalidArgumentError("queue_capacity must be at least 1");
  if (tls && !unix_path.empty()) return absl::InvalidArgumentError("a unix socket has no TLS");
  if (tls_certificate.empty() != tls_key.empty()) {
    return absl::InvalidArgumentError("tls_certificate and tls_key need each other");
  }
  return absl::OkStatus();
}

std::string RedisOptions::address() const {
  if (!unix_path.empty()) return unix_path;
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? concat("[", host, "]:", std::to_string(port))
            : concat(host, ":", std::to_string(port));
}

}  // namespace rushgate
