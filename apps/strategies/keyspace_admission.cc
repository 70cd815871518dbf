#include "apps/strategies/keyspace_admission.h"

#include <string>

namespace rushgate::strategies {

void KeyspaceStrategy::publish() {
  Strategy::publish();
  must((*setting().backend->open_client())("SET", setting().stock_key(), setting().stock));
}

std::int64_t KeyspaceStrategy::stock_left() {
  const Reply stock = must((*setting().backend->open_client())("GET", setting().stock_key()));
  return std::stoll(stock.text());
}

Script admission_script(std::string_view then) {
  constexpr std::string_view kDecide = R"lua(
if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 1 end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then return 2 end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
)lua";
  return Script(std::string(kDecide).append(then).append("\nreturn 0\n"));
}

Decision admit(Client& client, const Script& script, const Setting& setting, std::string_view key,
               std::int64_t user, std::string_view order) {
  const std::string stock = setting.stock_key();
  const std::string buyers = setting.buyers_key();
  const std::string user_text = std::to_string(user);
  const std::string_view keys[] = {stock, buyers, key};
  const std::string_view arguments[] = {user_text, order};
  switch (must(client.run(script, keys, arguments)).integer()) {
    case 0:
      return Decision::kAccepted;
    case 1:
      return Decision::kSoldOut;
    default:
      return Decision::kHasOne;
  }
}

}  // namespace rushgate::strategies
