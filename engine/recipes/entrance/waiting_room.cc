#include <array>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/time_units.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/entrance/waiting_room_visit.lua.h"
#include "engine/recipes/option_ranges.h"
#include <rushgate/limits.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

const Script& visit_script() {
  static const Script* const kScript = new Script(lua::kWaitingRoomVisit);
  return *kScript;
}

std::array<std::string, 3> keys_of(std::string_view prefix, std::string_view name) {
  return {concat(prefix, "{", name, "}:queue"), concat(prefix, "{", name, "}:entered"),
          concat(prefix, "{", name, "}:state")};
}

}  // namespace

absl::StatusOr<std::unique_ptr<WaitingRoom>> WaitingRoom::create(Backend& backend,
                                                                 WaitingRoomOptions options) {
  OptionRanges ranges("waiting room");
  ranges.check("per_second", options.per_second, 1, kPerSecondMax)
      .check("burst", options.burst, 1, kPerSecondMax)
      .check("size_max", options.size_max, 1, kSizeMax)
      .check("entered_ms", options.entered_ms, 1, kEnteredMsMax);
  if (!ranges.fault().ok()) return ranges.fault();
  return std::unique_ptr<WaitingRoom>(new WaitingRoom(backend, std::move(options)));
}

WaitingRoom::WaitingRoom(Backend& backend, WaitingRoomOptions options)
    : options_(std::move(options)), client_(backend.open_client(options_.client)) {}

absl::StatusOr<WaitingRoom::Place> WaitingRoom::visit(std::string_view name, std::int64_t user) {
  return visit(name, concat(user));
}

absl::StatusOr<WaitingRoom::Place> WaitingRoom::visit(std::string_view name,
                                                      std::string_view user) {
  const std::array<std::string, 3> names = keys_of(options_.key_prefix, name);
  const std::string numbers[] = {concat(options_.per_second), concat(options_.burst),
                                 concat(options_.size_max), concat(options_.entered_ms),
                                 concat(kPortion)};
  const std::string_view keys[] = {names[0], names[1], names[2]};
  const std::string_view arguments[] = {user,       numbers[0], numbers[1],
                                        numbers[2], numbers[3], numbers[4]};
  const Reply position = client_->run(visit_script(), keys, arguments);
  if (!position.is_integer()) return to_status(position, "visiting a waiting room");
  if (position.integer() == lua::waiting_room_visit::kFull) {
    return absl::ResourceExhaustedError(
        concat("waiting room ", name, ": ", options_.size_max, " users wait already"));
  }
  return Place{.has_entered = position.integer() == lua::waiting_room_visit::kEntered,
               .position = position.integer(),
               .wait_ms = (position.integer() * kMsPerSecond + options_.per_second - 1) /
                          options_.per_second};
}

absl::Status WaitingRoom::leave(std::string_view name, std::int64_t user) {
  const std::array<std::string, 3> names = keys_of(options_.key_prefix, name);
  const std::string member = concat(user);
  const Request requests[] = {Request::of("ZREM", names[0], member),
                              Request::of("ZREM", names[1], member)};
  for (const Reply& reply : client_->pipeline(requests)) {
    if (!reply.is_integer()) return to_status(reply, "leaving a waiting room");
  }
  return absl::OkStatus();
}

}  // namespace rushgate
