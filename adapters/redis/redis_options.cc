#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "adapters/redis/text.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/percent_encoding.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

absl::Status bad_url(std::string_view what) {
  return absl::InvalidArgumentError(concat("Redis URL: ", what));
}

absl::StatusOr<std::string> decoded(std::string_view text, std::string_view part) {
  auto plain = percent_decoded(text);
  if (plain) return *std::move(plain);
  return bad_url(concat("'%' in the ", part, " is not followed by two hexadecimal digits"));
}

absl::Status parse_db(std::string_view text, RedisOptions& options) {
  const auto db = parse_int64(text);
  if (!db || *db < 0 || *db > std::numeric_limits<int>::max()) {
    return bad_url(concat("database \"", text, "\" is not a number from 0"));
  }
  options.db = static_cast<int>(*db);
  return absl::OkStatus();
}

absl::Status parse_replicas(std::string_view name, std::string_view text, int& replicas) {
  const auto number = parse_int64(text);
  if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) {
    return bad_url(concat("option ", name, ": \"", text, "\" is not a number from 0"));
  }
  replicas = static_cast<int>(*number);
  return absl::OkStatus();
}

absl::StatusOr<int> parse_port(std::string_view text) {
  const auto port = parse_int64(text);
  if (port && *port >= 1 && *port <= 65535) return static_cast<int>(*port);
  return bad_url(concat("port \"", text, "\" is not a number from 1 to 65535"));
}

/// Parses "user:password" or ":password". A user without a password cannot authenticate.
absl::Status parse_credentials(std::string_view text, RedisOptions& options) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) {
    return bad_url("a user without a password: write user:password@ or :password@");
  }
  ASSIGN_OR_RETURN(auto user, decoded(text.substr(0, colon), "user"));
  ASSIGN_OR_RETURN(auto password, decoded(text.substr(colon + 1), "password"));
  options.user = std::move(user);
  options.password = std::move(password);
  return absl::OkStatus();
}

/// Parses "host", "host:port", "[v6 address]" or "[v6 address]:port".
absl::StatusOr<RedisAddress> parse_address(std::string_view text, int usual_port) {
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
  RedisAddress address{std::string(host), usual_port};
  if (!rest.empty()) {
    ASSIGN_OR_RETURN(address.port, parse_port(rest.substr(1)));
  }
  return address;
}

/// The kind of a URL, on which its options depend.
struct UrlKind {
  bool has_tls = false;
  bool has_sentinels = false;
  bool is_cluster = false;
  bool has_database = true;  // behind the host; otherwise db is an option
};

template <class Options>
struct NumberOption {
  std::string_view name;
  std::int64_t Options::*value;
};

template <class Options>
struct TextOption {
  std::string_view name;
  std::string Options::*value;
};

constexpr std::array kNumberOptions = {
    NumberOption<RedisOptions>{"connect_timeout_ms", &RedisOptions::connect_timeout_ms},
    NumberOption<RedisOptions>{"command_timeout_ms", &RedisOptions::command_timeout_ms},
    NumberOption<RedisOptions>{"reconnect_max_ms", &RedisOptions::reconnect_max_ms},
    NumberOption<RedisOptions>{"sync_timeout_ms", &RedisOptions::sync_timeout_ms},
    NumberOption<RedisOptions>{"confirm_ms", &RedisOptions::confirm_ms},
};

constexpr std::array kTlsOptions = {
    TextOption<RedisOptions>{"tls_ca", &RedisOptions::tls_ca},
    TextOption<RedisOptions>{"tls_certificate", &RedisOptions::tls_certificate},
    TextOption<RedisOptions>{"tls_key", &RedisOptions::tls_key},
};

constexpr std::array kSentinelNumbers = {
    NumberOption<RedisSentinelOptions>{"sentinel_timeout_ms", &RedisSentinelOptions::timeout_ms},
    NumberOption<RedisSentinelOptions>{"sentinel_poll_ms", &RedisSentinelOptions::poll_ms},
};

constexpr std::array kSentinelTexts = {
    TextOption<RedisSentinelOptions>{"sentinel_user", &RedisSentinelOptions::user},
    TextOption<RedisSentinelOptions>{"sentinel_password", &RedisSentinelOptions::password},
};

constexpr std::array kClusterNumbers = {
    NumberOption<RedisClusterOptions>{"cluster_timeout_ms", &RedisClusterOptions::timeout_ms},
    NumberOption<RedisClusterOptions>{"cluster_poll_ms", &RedisClusterOptions::poll_ms},
};

/// Sets the option of this name. Returns false if there is none.
template <class Options, std::size_t size>
absl::StatusOr<bool> set_number(const std::array<NumberOption<Options>, size>& known,
                                std::string_view name, std::string_view value, Options& options) {
  for (const auto& option : known) {
    if (name != option.name) continue;
    const auto number = parse_int64(value);
    if (!number || *number < 1) {
      return bad_url(concat("option ", name, ": \"", value, "\" is not a number from 1"));
    }
    options.*option.value = *number;
    return true;
  }
  return false;
}

/// Sets the option of this name. Returns false if there is none.
template <class Options, std::size_t size>
bool set_text(const std::array<TextOption<Options>, size>& known, std::string_view name,
              std::string_view value, Options& options) {
  for (const auto& option : known) {
    if (name != option.name) continue;
    options.*option.value = std::string(value);
    return true;
  }
  return false;
}

absl::Status parse_option(std::string_view text, UrlKind kind, RedisOptions& options) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (equals == std::string_view::npos) {
    return bad_url(concat("option \"", name, "\" has no value: write ", name, "=…"));
  }
  ASSIGN_OR_RETURN(const auto value, decoded(text.substr(equals + 1), concat("option ", name)));
  if (!kind.has_database && !kind.is_cluster && name == "db") return parse_db(value, options);
  ASSIGN_OR_RETURN(const bool is_number, set_number(kNumberOptions, name, value, options));
  if (is_number) return absl::OkStatus();
  if (name == "sync_replicas") return parse_replicas(name, value, options.sync_replicas);
  if (name == "confirm_replicas") return parse_replicas(name, value, options.confirm_replicas);
  if (set_text(kTlsOptions, name, value, options)) {
    if (!kind.has_tls) {
      return bad_url(concat("option ", name,
                            " is for rediss://, rediss-sentinel:// and rediss-cluster:// alone"));
    }
    if (value.empty()) return bad_url(concat("option ", name, " names no file"));
    return absl::OkStatus();
  }
  if (kind.has_sentinels) {
    if (set_text(kSentinelTexts, name, value, options.sentinel)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const bool is_known,
                     set_number(kSentinelNumbers, name, value, options.sentinel));
    if (is_known) return absl::OkStatus();
  }
  if (kind.is_cluster) {
    ASSIGN_OR_RETURN(const bool is_known,
                     set_number(kClusterNumbers, name, value, options.cluster));
    if (is_known) return absl::OkStatus();
  }
  return bad_url(concat("unknown option \"", name, "\""));
}

/// Parses "name=value&name=value".
absl::Status parse_query(std::string_view text, UrlKind kind, RedisOptions& options) {
  while (!text.empty()) {
    const std::string_view option = text.substr(0, text.find('&'));
    RETURN_IF_ERROR(parse_option(option, kind, options));
    text.remove_prefix(std::min(option.size() + 1, text.size()));
  }
  return absl::OkStatus();
}

/// Removes "user:password@" from the beginning of `authority`, if present.
absl::Status take_credentials(std::string_view& authority, RedisOptions& options) {
  const std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return absl::OkStatus();
  absl::Status status = parse_credentials(authority.substr(0, at), options);
  authority.remove_prefix(at + 1);
  return status;
}

/// Refuses parts of a password in the host, database or options, which errors may show.
absl::Status check_no_password(std::string_view text) {
  if (text.find('#') != std::string_view::npos) {
    return bad_url("'#' has no meaning; in a password write %23");
  }
  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  if (text.substr(end).find('@') == std::string_view::npos) return absl::OkStatus();
  return bad_url(
      "'@' after '/' or '?'; in a password write %2F for '/' and %3F for '?', elsewhere %40 for "
      "'@'");
}

/// Parses "[[user]:password@]host[:port][/db][?options]".
absl::Status parse_tcp(std::string_view text, UrlKind kind, RedisOptions& options) {
  RETURN_IF_ERROR(check_no_password(text));
  const std::size_t query = text.find('?');
  const std::string_view location = text.substr(0, query);
  const std::size_t slash = location.find('/');
  std::string_view authority = location.substr(0, slash);
  RETURN_IF_ERROR(take_credentials(authority, options));
  constexpr int kUsualPort = 6379;
  ASSIGN_OR_RETURN(auto address, parse_address(authority, kUsualPort));
  options.host = std::move(address.host);
  options.port = address.port;
  if (slash != std::string_view::npos && slash + 1 != location.size()) {
    RETURN_IF_ERROR(parse_db(location.substr(slash + 1), options));
  }
  return query == std::string_view::npos ? absl::OkStatus()
                                         : parse_query(text.substr(query + 1), kind, options);
}

/// Parses "path[?options]" or "//[[user]:password@]/absolute path[?options]".
absl::Status parse_unix(std::string_view text, RedisOptions& options) {
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    RETURN_IF_ERROR(check_no_password(text));
    std::string_view authority = text.substr(0, text.find('/'));
    const std::size_t authority_size = authority.size();
    RETURN_IF_ERROR(take_credentials(authority, options));
    if (!authority.empty() || authority_size == text.size()) {
      return bad_url("unix:// needs an absolute path: unix:///run/redis.sock");
    }
    text.remove_prefix(authority_size);
  }
  const std::size_t query = text.find('?');
  ASSIGN_OR_RETURN(auto path, decoded(text.substr(0, query), "path"));
  if (path.empty()) return bad_url("unix: needs the path of a socket");
  options.unix_path = std::move(path);
  return query == std::string_view::npos
             ? absl::OkStatus()
             : parse_query(text.substr(query + 1), {.has_database = false}, options);
}

/// Parses "[[user]:password@]host[:port][,host[:port]…]".
absl::StatusOr<std::vector<RedisAddress>> parse_addresses(std::string_view authority,
                                                          int usual_port, RedisOptions& options) {
  RETURN_IF_ERROR(take_credentials(authority, options));
  std::vector<RedisAddress> addresses;
  while (true) {
    const std::string_view each = authority.substr(0, authority.find(','));
    ASSIGN_OR_RETURN(auto address, parse_address(each, usual_port));
    addresses.push_back(std::move(address));
    if (each.size() == authority.size()) return addresses;
    authority.remove_prefix(each.size() + 1);
  }
}

/// Parses "[[user]:password@]host[:port][,host[:port]…]/master[?options]", and the same without
/// "/master" for a cluster.
absl::Status parse_several(std::string_view text, UrlKind kind, RedisOptions& options) {
  RETURN_IF_ERROR(check_no_password(text));
  const std::size_t query = text.find('?');
  const std::string_view location = text.substr(0, query);
  const std::size_t slash = std::min(location.find('/'), location.size());
  const std::string_view name = location.substr(std::min(slash + 1, location.size()));
  constexpr int kUsualPort = 6379;
  constexpr int kUsualPortOfSentinel = 26379;
  ASSIGN_OR_RETURN(auto addresses,
                   parse_addresses(location.substr(0, slash),
                                   kind.is_cluster ? kUsualPort : kUsualPortOfSentinel, options));
  if (kind.is_cluster) {
    options.cluster.addresses = std::move(addresses);
    if (!name.empty())
      return bad_url("a cluster has database 0 alone: nothing may follow the hosts");
  } else {
    options.sentinel.addresses = std::move(addresses);
    ASSIGN_OR_RETURN(options.sentinel.master, decoded(name, "name of the master"));
    if (options.sentinel.master.empty()) {
      return bad_url("no name of a master: write redis-sentinel://host:port,host:port/name");
    }
  }
  return query == std::string_view::npos ? absl::OkStatus()
                                         : parse_query(text.substr(query + 1), kind, options);
}

absl::Status must_be_positive(std::string_view name, std::int64_t value) {
  if (value > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      concat(name, " must be more than 0, not ", std::to_string(value)));
}

absl::Status check_address(const RedisAddress& address) {
  if (address.host.empty()) return absl::InvalidArgumentError("no host");
  if (address.port >= 1 && address.port <= 65535) return absl::OkStatus();
  return absl::InvalidArgumentError(
      concat("port must be from 1 to 65535, not ", std::to_string(address.port)));
}

}  // namespace

absl::StatusOr<RedisOptions> RedisOptions::from_url(std::string_view url) {
  constexpr std::string_view kSchemes =
      "redis://, rediss://, redis-sentinel://, rediss-sentinel://, redis-cluster://, "
      "rediss-cluster:// or unix:";
  const std::size_t colon = url.find(':');
  const std::string_view scheme = url.substr(0, colon);
  UrlKind kind{.has_tls = scheme.starts_with("rediss"),
               .has_sentinels = scheme == "redis-sentinel" || scheme == "rediss-sentinel",
               .is_cluster = scheme == "redis-cluster" || scheme == "rediss-cluster"};
  const bool has_several = kind.has_sentinels || kind.is_cluster;
  kind.has_database = !has_several;
  RedisOptions options;
  absl::Status status;
  if (colon == std::string_view::npos) {
    status = bad_url(concat("no ", kSchemes, " at its beginning"));
  } else if (scheme == "unix") {
    status = parse_unix(url.substr(colon + 1), options);
  } else if ((scheme == "redis" || scheme == "rediss" || has_several) &&
             url.substr(colon).starts_with("://")) {
    options.tls = kind.has_tls;
    const std::string_view rest = url.substr(colon + 3);
    status = has_several ? parse_several(rest, kind, options) : parse_tcp(rest, kind, options);
  } else {
    status = bad_url(concat("\"", scheme, ":\" is none of ", kSchemes));
  }
  if (status.ok() && options.tls_certificate.empty() != options.tls_key.empty()) {
    status = bad_url("the options tls_certificate and tls_key need each other");
  }
  if (!status.ok()) return status;
  return options;
}

absl::Status RedisOptions::check() const {
  const bool has_sentinels = !sentinel.addresses.empty();
  const bool is_cluster = !cluster.addresses.empty();
  const bool is_one_server = !has_sentinels && !is_cluster;
  if (unix_path.empty() && is_one_server) RETURN_IF_ERROR(check_address({host, port}));
  for (const RedisAddress& address : sentinel.addresses) RETURN_IF_ERROR(check_address(address));
  for (const RedisAddress& address : cluster.addresses) RETURN_IF_ERROR(check_address(address));
  if (has_sentinels && is_cluster) {
    return absl::InvalidArgumentError("a cluster has no sentinels");
  }
  if (has_sentinels && sentinel.master.empty()) {
    return absl::InvalidArgumentError("sentinels without the name of a master");
  }
  if (!is_one_server && !unix_path.empty()) {
    return absl::InvalidArgumentError(has_sentinels ? "a unix socket has no sentinels"
                                                    : "a unix socket leads to no cluster");
  }
  if (is_cluster && db != 0) {
    return absl::InvalidArgumentError(
        concat("a cluster has database 0 alone: ", std::to_string(db)));
  }
  if (!sentinel.user.empty() && sentinel.password.empty()) {
    return absl::InvalidArgumentError("a user of the sentinels without a password");
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
                             must_be_positive("sync_timeout_ms", sync_timeout_ms),
                             must_be_positive("confirm_ms", confirm_ms),
                             must_be_positive("sentinel.timeout_ms", sentinel.timeout_ms),
                             must_be_positive("sentinel.poll_ms", sentinel.poll_ms),
                             must_be_positive("cluster.timeout_ms", cluster.timeout_ms),
                             must_be_positive("cluster.poll_ms", cluster.poll_ms)}) {
    if (!status.ok()) return status;
  }
  for (const auto& [name, replicas] :
       {std::pair{"sync_replicas", sync_replicas}, {"confirm_replicas", confirm_replicas}}) {
    if (replicas >= 0) continue;
    return absl::InvalidArgumentError(
        concat(name, " must not be negative: ", std::to_string(replicas)));
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
  const bool is_cluster = !cluster.addresses.empty();
  if (!is_cluster && sentinel.addresses.empty()) return RedisAddress{host, port}.text();
  std::string text = is_cluster ? "the cluster of" : concat(sentinel.master, " of");
  for (const RedisAddress& each : is_cluster ? cluster.addresses : sentinel.addresses) {
    text += concat(" ", each.text());
  }
  return text;
}

std::string RedisAddress::text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? concat("[", host, "]:", std::to_string(port))
            : concat(host, ":", std::to_string(port));
}

}  // namespace rushgate
