#include "adapters/http/backup_desk.h"

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <system_error>

#include "adapters/flash_sale/utc_time.h"
#include "adapters/http/json_body.h"
#include "adapters/http/route.h"
#include "adapters/http/sale_service.h"
#include "engine/core/base/concat.h"

namespace rushgate::http {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kWithinMaxMs = 86'400'000;  // a day

/// Returns the path without links and dots, as far as it exists.
fs::path plain_path(const fs::path& path) {
  std::error_code ignored;
  const fs::path plain = fs::weakly_canonical(path, ignored);
  return plain.has_filename() ? plain : plain.parent_path();  // without a '/' at the end
}

}  // namespace

BackupDesk::BackupDesk(FlashSale& sale, const fs::path& dir)
    : sale_(sale), dir_(dir.empty() ? dir : fs::absolute(dir)) {}

void BackupDesk::begin(const BackupOptions& options) {
  const std::lock_guard lock(mutex_);
  if (is_running_) return;
  is_running_ = thread_.submit([this, options] { run(options); });
  if (!is_running_) return;
  state_ = {{"state", "running"},
            {"began_at", format_utc(sale_.clock().now_ms())},
            {"directory", dir_.string()}};
}

void BackupDesk::run(const BackupOptions& options) {
  absl::StatusOr<BackupReport> report;
  try {
    report = sale_.backup(
        dir_, {.keep = options.keep, .within = options.within, .stop = stop_.get_token()});
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
  const BackupOptions defaults;
  auto keep = static_cast<std::int64_t>(defaults.keep);
  std::int64_t within_ms = defaults.within.count();
  std::string directory;
  BodyReader body(call.body);
  body->read("keep", keep);
  if (keep < 0) body->note("keep", "must not be negative");
  body->read("within_ms", within_ms);
  if (within_ms < 0 || within_ms > kWithinMaxMs) {
    body->note("within_ms", concat("must be in [0, ", kWithinMaxMs, "]"));
  }
  body->read("directory", directory);
  if (auto wrong = body.finish()) return *std::move(wrong);
  BackupDesk& backups = call.service.backups();
  if (!backups.can_begin()) {
    return problem(kRefused, "the server has no directory for backups (serve --backups)");
  }
  if (!directory.empty() && plain_path(directory) != plain_path(backups.directory())) {
    return problem(kRefused, concat("the server makes its backups in ",
                                    backups.directory().string(), " (serve --backups)"));
  }
  backups.begin(
      {.keep = static_cast<std::size_t>(keep), .within = std::chrono::milliseconds(within_ms)});
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
