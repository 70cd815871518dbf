// (n) An atomic script decides and appends the order to a stream. A worker reads it as a consumer of
// a group, and acknowledges an order when its transaction has committed.
//
// A worker that is killed finds the orders that it had not acknowledged in its pending list. An order
// that it had stored already is stored once more, under the same id, which changes nothing.
#include <memory>
#include <string>

#include "apps/strategies/admission.h"
#include "apps/strategies/background.h"
#include "apps/strategies/strategies.h"
#include "engine/recipes/ids/id_generator.h"

namespace rushgate::strategies {
namespace {

class StreamGroup final : public KeyspaceStrategy {
 public:
  explicit StreamGroup(const Setting& setting)
      : KeyspaceStrategy(setting), ids_(*setting.backend, {.key_prefix = setting.prefix + "id:"}) {}

  void start() override {
    worker_.start([this] { work(); });
  }

  Answer buy(Desk& desk, UserId user) override {
    return admit(*desk.client, script_, setting(), stream_, user, ids_.next_id().value());
  }

  void finish() override { worker_.stop(); }

 private:
  void work() {
    const auto client = setting().backend->open_client();
    OrderFile orders(setting().dir);
    // From "0": orders that were admitted before the group existed are served, too.
    (*client)("XGROUP", "CREATE", stream_, "g1", "0", "MKSTREAM");
    // What a killed worker left pending comes first.
    while (store_some(*client, orders, "0") > 0) continue;
    while (store_some(*client, orders, ">") > 0 || !worker_.is_stopping()) continue;
  }

  /// Returns how many orders were read.
  std::size_t store_some(Client& client, OrderFile& orders, const char* after) {
    const int block_ms = 10;
    const Reply read = must(client("XREADGROUP", "GROUP", "g1", "c1", "COUNT", 100, "BLOCK",
                                   block_ms, "STREAMS", stream_, after));
    if (read.is_nil()) return 0;
    const Reply& entries = read.elements()[0].elements()[1];
    for (const Reply& entry : entries.elements()) store(client, orders, entry);
    return entries.elements().size();
  }

  void store(Client& client, OrderFile& orders, const Reply& entry) {
    const std::vector<Reply>& fields = entry.elements()[1].elements();
    setting().schedule->half_done();
    orders.insert_order(std::stoll(fields[3].text()), std::stoll(fields[1].text()));
    setting().schedule->half_done();
    must(client("XACK", stream_, "g1", entry.elements()[0].text()));
  }

  const std::string stream_ = setting().prefix + "orders";
  const Script script_ =
      admission_script("redis.call('XADD', KEYS[3], '*', 'userId', ARGV[1], 'id', ARGV[2])");
  IdGenerator ids_;
  Background worker_;
};

}  // namespace

StrategyKind stream_group() {
  return {.letter = "n",
          .name = "script + stream group",
          .has_keyspace = true,
          .forced = {},
          .faults = {},
          .make = make_strategy<StreamGroup>};
}

}  // namespace rushgate::strategies
