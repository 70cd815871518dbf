#include "storage/rocksdb/noted_logs.h"

#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "storage/rocksdb/layout.h"
#include "storage/rocksdb/rocksdb_status.h"

namespace rushgate {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr std::string_view kLogsNoteEnd = "end";  // the last line of a complete list

using Logs = std::set<std::uint64_t>;

std::string note_of(const Logs& logs) {
  std::string note;
  for (const std::uint64_t number : logs) note.append(log_name(number)) += '\n';
  return note.append(kLogsNoteEnd) += '\n';
}

/// Parses the list; empty if it is invalid.
std::optional<Logs> read_logs_note(std::string_view note) {
  Logs logs;
  for (std::size_t end = note.find('\n'); end != std::string_view::npos; end = note.find('\n')) {
    const std::string_view line = note.substr(0, end);
    note.remove_prefix(end + 1);
    if (line == kLogsNoteEnd) return note.empty() ? std::optional(std::move(logs)) : std::nullopt;
    const std::optional<std::uint64_t> number = log_number(line);
    if (!number) return std::nullopt;
    logs.insert(*number);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> log_of(const std::string& path) {
  return log_number(std::filesystem::path(path).filename().string());
}

/// Thread-safe.
class LogsNote {
 public:
  LogsNote(std::shared_ptr<rocksdb::FileSystem> file_system, const std::filesystem::path& dir)
      : file_system_(std::move(file_system)), path_((dir / kNotedLogsName).string()) {}

  void created(std::uint64_t log) {
    const std::lock_guard lock(mutex_);
    created_.insert(log);
  }
  void deleted(std::uint64_t log) {
    const std::lock_guard lock(mutex_);
    created_.erase(log);
    noted_.erase(log);
  }

  /// Returns the logs that a sync of the directory beginning now makes durable.
  [[nodiscard]] Logs not_yet_safe() const {
    const std::lock_guard lock(mutex_);
    return created_;
  }

  /// If the list cannot be written, it stays as it was. It never names a log that does not exist.
  void safe(const Logs& logs) {
    const std::lock_guard lock(mutex_);
    bool is_changed = false;
    for (const std::uint64_t log : logs) {
      if (created_.erase(log) == 1) is_changed |= noted_.insert(log).second;
    }
    if (!is_changed) return;
    const std::string written = path_ + ".new";
    if (!rocksdb::WriteStringToFile(file_system_.get(), note_of(noted_), written, false).ok()) {
      return;
    }
    file_system_->RenameFile(written, path_, IOOptions(), nullptr).PermitUncheckedError();
  }

 private:
  const std::shared_ptr<rocksdb::FileSystem> file_system_;
  const std::string path_;
  mutable std::mutex mutex_;  // guards the members below, and the file
  Logs created_;              // not durable yet
  Logs noted_;
};

class NotingDirectory final : public rocksdb::FSDirectoryWrapper {
 public:
  NotingDirectory(std::unique_ptr<rocksdb::FSDirectory> target, std::shared_ptr<LogsNote> note)
      : FSDirectoryWrapper(std::move(target)), note_(std::move(note)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    const Logs logs = note_->not_yet_safe();
    IOStatus status = FSDirectoryWrapper::Fsync(options, debug);
    if (status.ok()) note_->safe(logs);
    return status;
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& why) override {
    const Logs logs = note_->not_yet_safe();
    IOStatus status = FSDirectoryWrapper::FsyncWithDirOptions(options, debug, why);
    if (status.ok()) note_->safe(logs);
    return status;
  }

 private:
  const std::shared_ptr<LogsNote> note_;
};

class NotingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  NotingFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target,
                   const std::filesystem::path& dir)
      : FileSystemWrapper(target), note_(std::make_shared<LogsNote>(target, dir)) {}

  [[nodiscard]] const char* Name() const override { return "NotingFileSystem"; }

  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    IOStatus status = target()->NewWritableFile(name, options, file, debug);
    if (const auto log = log_of(name); log && status.ok()) note_->created(*log);
    return status;
  }
  IOStatus DeleteFile(const std::string& name, const IOOptions& options,
                      IODebugContext* debug) override {
    if (const auto log = log_of(name)) note_->deleted(*log);
    return target()->DeleteFile(name, options, debug);
  }
  IOStatus NewDirectory(const std::string& name, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* directory,
                        IODebugContext* debug) override {
    std::unique_ptr<rocksdb::FSDirectory> real;
    IOStatus status = target()->NewDirectory(name, options, &real, debug);
    if (status.ok()) *directory = std::make_unique<NotingDirectory>(std::move(real), note_);
    return status;
  }

 private:
  const std::shared_ptr<LogsNote> note_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> note_logs(const std::shared_ptr<rocksdb::FileSystem>& target,
                                               const std::filesystem::path& dir) {
  return std::make_shared<NotingFileSystem>(target, dir);
}

absl::Status check_noted_logs(rocksdb::Env& env, const std::filesystem::path& dir,
                              std::uint64_t first_needed) {
  std::string note;
  rocksdb::Status status = rocksdb::ReadFileToString(&env, (dir / kNotedLogsName).string(), &note);
  if (status.IsPathNotFound() || status.IsNotFound()) return absl::OkStatus();
  if (!status.ok()) return to_absl(status, "reading the names of the logs", dir);
  const std::optional<Logs> logs = read_logs_note(note);
  if (!logs) return absl::OkStatus();
  for (auto log = logs->lower_bound(first_needed); log != logs->end(); ++log) {
    const std::string path = (dir / log_name(*log)).string();
    status = env.FileExists(path);
    if (status.IsNotFound()) {
      return absl::DataLossError("the log " + path +
                                 " was deleted, and with it what it holds alone; to open the rest, "
                                 "delete " +
                                 (dir / kNotedLogsName).string());
    }
    if (!status.ok()) return to_absl(status, "looking for the log", dir);
  }
  return absl::OkStatus();
}

}  // namespace rushgate
