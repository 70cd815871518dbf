#include "apps/strategies/keyspace_admission.h"

#include <utility>

#include "apps/strategies/shards.h"

namespace rushgate::strategies {

void KeyspaceStrategy::publish() {
  Strategy::publish();
  const auto client = setting().backend->open_client();
  for (int shard = 0; shard < shards_; ++shard) {
    const std::int64_t share = (setting().stock + shards_ - 1 - shard) / shards_;
    must((*client)("SET", on_shard(setting().stock_key(), shard), share));
  }
}

std::int64_t KeyspaceStrategy::stock_left() {
  const auto client = setting().backend->open_client();
  std::int64_t left = 0;
  for (int shard = 0; shard < shards_; ++shard) {
    left += std::stoll(must((*client)("GET", on_shard(setting().stock_key(), shard))).text());
  }
  return left;
}

std::string KeyspaceStrategy::on_shard(std::string key, int shard) const {
  if (shards_ > 1) key.append(":").append(std::to_string(shard));
  return key;
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

Decision KeyspaceStrategy::admit(Client& client, const Script& script, std::string_view key,
                                 std::int64_t user, std::string_view order) {
  const int shard = shards_ == 1 ? 0 : shard_of(user);
  const std::string stock = on_shard(setting().stock_key(), shard);
  const std::string buyers = on_shard(setting().buyers_key(), shard);
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
