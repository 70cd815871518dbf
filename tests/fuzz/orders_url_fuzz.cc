// The URL of an order database on a server: one that is accepted names a database, and no message shows
// a password.
#include <string>
#include <string_view>

#include "storage/sql/store_url.h"
#include "tests/fuzz/fuzz.h"

namespace rushgate {
namespace {

void check_own_options(std::string_view url) {
  const auto options = sql::take_own_options(url);
  if (!options.ok()) return;
  constexpr std::size_t kPoolMax = 100;
  fuzz::expect(options->pool_size >= 1 && options->pool_size <= kPoolMax, "the pool is bounded");
  fuzz::expect(options->statement_timeout.count() > 0, "a statement has time");
  const auto again = sql::take_own_options(options->rest);
  fuzz::expect(again.ok() && again->rest == options->rest, "nothing of ours is left");
}

void check_parts(std::string_view url) {
  const auto parts = sql::parse_url(url);
  if (!parts.ok()) return;
  constexpr unsigned kPortMax = 65'535;
  fuzz::expect(!parts->database.empty() && parts->port <= kPortMax, "it names a database");
  if (!parts->password) return;
  const auto shown = sql::parse_url(sql::without_password(url));
  fuzz::expect(shown.ok() && shown->password == "x", "the password is replaced");
  fuzz::expect(shown->user == parts->user && shown->host == parts->host &&
                   shown->port == parts->port && shown->database == parts->database,
               "the rest stays");
}

/// A password that was not percent-encoded stands between the first ':' and the last '@'.
void check_secret(std::string_view text) {
  constexpr std::string_view kSecret = "hunter2";
  std::string url = "mysql://shop:";
  url += text.substr(0, text.size() / 2);
  url += kSecret;
  url += text.substr(text.size() / 2);
  url += "@db.example/sale?pool_size=0";
  const auto shows = [&](const auto& message) {  // of the standard library or of Abseil
    return message.find(kSecret.data()) != message.npos;
  };
  fuzz::expect(!shows(sql::without_password(url)), "the shown URL has no password");
  fuzz::expect(!shows(sql::parse_url(url).status().message()), "an error has no password");
  fuzz::expect(!shows(sql::take_own_options(url).status().message()), "nor has one of ours");
}

}  // namespace
}  // namespace rushgate

RUSHGATE_FUZZER(orders_url) {
  using namespace rushgate;
  const std::string_view text = fuzz::to_text(data, size);
  // It would be read, and might be a pipe.
  if (text.find("password_file") != std::string_view::npos) return 0;
  check_own_options(text);
  check_parts(text);
  check_secret(text);
  return 0;
}
