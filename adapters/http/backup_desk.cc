#include "adapters/http/backup_desk.h"

#include <exception>
#include <string>

#include "adapters/flash_sale/utc_time.h"
#include "adapters/http/json_body.h"
#include "adapters/http/route.h"
#include "adapters/http/sale_service.h"

namespace rushgate::http {

void BackupDesk::begin() {
  const std::lock_guard lock(mutex_);
  if (is_running_) return;
  is_running_ = thread_.submit([this] { run(); });
  if (!is_running_) return;
  state_ = {{"state", "running"}, {"began_at", format_utc(sale_.clock().now_ms())}};
}

void BackupDesk::run() {
  absl::StatusOr<BackupReport> report;
  try {
    report = sale_.backup(dir_);
  } catch (const std::exception& error) {  // of a user's order store, or for want of memory
    report = absl::UnknownError(error.what());
  }
  const std::lock_guard lock(mutex_);
  is_running_ = false;
  state_["state"] = report.ok() ? "done" : "failed";
  state_["ended_at"] = format_utc(sale_.clock().now_ms());
  if (!report.ok()) {
    const auto message = report.status().message();
    state_["reason"] = std::string(message.data(), message.size());
    return;
  }
  state_["name"] = report->path.filename().string();
  state_["has_keyspace"] = report->has_keyspace;
  state_["bytes"] = report->bytes;
  state_["took_ms"] = report->took_ms;
}

Json BackupDesk::state() {
  const std::lock_guard lock(mutex_);
  return state_;
}

HttpAnswer begin_backup(RouteCall& call) {
  if (auto wrong = BodyReader(call.body).finish()) return *std::move(wrong);
  BackupDesk& backups = call.service.backups();
  if (!backups.can_begin()) {
    return problem(kRefused, "the server has no directory for backups (serve --backups)");
  }
  backups.begin();
  constexpr int kAccepted = 202;
  HttpAnswer answer = json_answer(backups.state(), kAccepted);
  answer.fields.emplace_back("Location", "/v1/backup");
  return answer;
}

HttpAnswer get_backup(RouteCall& call) {
  const Json state = call.service.backups().state();
  if (state.is_null()) return problem(kNotFound, "there was no backup since the server started");
  return json_answer(state);
}

}  // namespace rushgate::http
