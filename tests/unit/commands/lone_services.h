// The services that commands need, for a keyspace without an executor.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/sessions.h"
#include "engine/redis/commands/tracking_table.h"

namespace rushgate {

/// Holds references: keyspace, Lua host and native host must outlive it.
class LoneServices : private BlockedClients {
 public:
  LoneServices(Keyspace& keyspace, LuaHost& lua, NativeHost& natives)
      : services_{.keyspace = keyspace,
                  .lua = lua,
                  .natives = natives,
                  .sessions = sessions_,
                  .channels = channels_,
                  .tracking = tracking_,
                  .blocked = *this,
                  .sync = [this] { return services_.keyspace.store().sync(); }} {}

  [[nodiscard]] CommandServices& get() { return services_; }

 private:
  [[nodiscard]] std::size_t count() const override { return 0; }
  [[nodiscard]] std::size_t count_with_timeout() const override { return 0; }
  [[nodiscard]] bool is_blocked(std::uint64_t /*session_id*/) const override { return false; }
  bool unblock(std::uint64_t /*session_id*/, std::optional<Reply> /*error*/) override {
    return false;
  }
  void end_pause() override { services_.pause.end(); }
  void drop_paused(std::uint64_t /*session_id*/) override {}

  Sessions sessions_;
  Channels channels_;
  TrackingTable tracking_{services_};
  CommandServices services_;
};

}  // namespace rushgate
