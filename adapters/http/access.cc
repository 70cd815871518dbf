#include "adapters/http/access.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "adapters/http/problem.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/letter_case.h"
#include "engine/core/base/secrets.h"
#include <rushgate/http_server.h>
#include <rushgate/maybe_integer.h>

namespace rushgate::http {
namespace {

// A token is "rg1.<user in hexadecimal>.<expiry in ms>.<HMAC-SHA256 of all before, in hexadecimal>".
constexpr std::string_view kTokenVersion = "rg1";

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    hex += kDigits[value / 16];
    hex += kDigits[value % 16];
  }
  return hex;
}

std::string signature_of(std::string_view text, std::string_view key) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const int key_size =
      static_cast<int>(std::min<std::size_t>(key.size(), std::numeric_limits<int>::max()));
  std::string bytes(text);
  HMAC(EVP_sha256(), key.data(), key_size, reinterpret_cast<const unsigned char*>(bytes.data()),
       bytes.size(), digest.data(), &size);
  return hex_of({reinterpret_cast<const char*>(digest.data()), size});
}

/// Returns the token of `Authorization: Bearer <token>`; empty if there is none.
std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  const bool is_bearer = equal_in_any_case(authorization.substr(0, kScheme.size()), kScheme);
  return is_bearer ? authorization.substr(kScheme.size()) : std::string_view();
}

/// Returns true if the host, without its port, names this machine. A page of another site can have its
/// own name lead here.
bool is_local_host(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1) == "[::1]";
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "localhost" ||
         (name.starts_with("127.") && name.find_first_not_of("0123456789.") == name.npos);
}

HttpAnswer demand_token(std::string_view detail) {
  HttpAnswer answer = problem(kUnauthorized, detail);
  answer.fields.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

}  // namespace

std::optional<UserId> find_signed_user(std::string_view token, std::string_view key,
                                       std::int64_t now_ms) {
  const std::size_t signature_at = token.rfind('.');
  if (key.empty() || signature_at == token.npos) return std::nullopt;
  const std::string_view text = token.substr(0, signature_at);
  if (!equals_secret(signature_of(text, key), token.substr(signature_at + 1))) return std::nullopt;
  const std::size_t expiry_at = text.rfind('.');
  if (!text.starts_with(kTokenVersion) || expiry_at <= kTokenVersion.size()) return std::nullopt;
  const auto expires_at_ms = parse_int64(text.substr(expiry_at + 1));
  if (!expires_at_ms || *expires_at_ms <= now_ms) return std::nullopt;
  const std::string_view hex = text.substr(0, expiry_at).substr(kTokenVersion.size() + 1);
  std::string name;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    name += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  }
  return UserId(name);
}

bool Guard::has_operator_token(const HttpCall& call) const {
  const std::string_view token = bearer_token(call.authorization);
  return !operator_token_.empty() && equals_secret(operator_token_, token);
}

std::optional<HttpAnswer> Guard::admit(Access access, const HttpCall& call, std::int64_t now_ms,
                                       Caller& caller) const {
  switch (access) {
    case Access::kAnyone:
      return std::nullopt;
    case Access::kBuyer:
      return admit_buyer(call, now_ms, caller);
    case Access::kOperator:
      return admit_operator(call, caller);
  }
  return problem(kForbidden);
}

std::optional<HttpAnswer> Guard::admit_operator(const HttpCall& call, Caller& caller) const {
  caller.is_operator = true;
  if (!operator_token_.empty()) {
    if (has_operator_token(call)) return std::nullopt;
    return demand_token("this route is for operators");
  }
  if (call.is_from_loopback && !call.is_forwarded && is_local_host(call.host)) return std::nullopt;
  return problem(kForbidden,
                 "this route is for operators: without a token file, it is served on the same "
                 "machine alone");
}

std::optional<HttpAnswer> Guard::admit_buyer(const HttpCall& call, std::int64_t now_ms,
                                             Caller& caller) const {
  caller.is_operator = has_operator_token(call);
  if (caller.is_operator || user_key_.empty()) return std::nullopt;
  caller.user = find_signed_user(bearer_token(call.authorization), user_key_, now_ms);
  if (caller.user) return std::nullopt;
  return demand_token("a user's token is missing, forged or expired");
}

std::optional<HttpAnswer> Guard::refuse_other_site(const HttpCall& call) const {
  const bool is_known = std::find(origins_.begin(), origins_.end(), call.origin) != origins_.end();
  const bool is_own =
      call.origin == concat("http://", call.host) || call.origin == concat("https://", call.host);
  if (!call.origin.empty() && !is_known && !is_own) {
    return problem(kForbidden, concat("pages of ", call.origin, " may not change anything here"));
  }
  if (call.origin.empty() && call.sec_fetch_site == "cross-site") {
    return problem(kForbidden, "pages of other sites may not change anything here");
  }
  return std::nullopt;
}

}  // namespace rushgate::http

namespace rushgate {

std::string sign_user(const UserId& user, std::int64_t expires_at_ms, std::string_view key) {
  const std::string text =
      concat(http::kTokenVersion, ".", http::hex_of(user.text()), ".", expires_at_ms);
  return concat(text, ".", http::signature_of(text, key));
}

}  // namespace rushgate
