// A disk below SQLite that fails on request.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include <sqlite3.h>

namespace rushgate::faults {

/// An SQLite VFS on top of the default one. It never syncs or sleeps, so that a test can fail every
/// call in turn. Thread-safe. Must outlive the last connection that uses it.
class FaultySqliteVfs {
 public:
  enum class Kind : std::uint8_t {
    kFull,     // SQLITE_FULL; a write, half of which is done
    kIoError,  // SQLITE_IOERR_…; open, read, write, sync, truncate, delete, …
    kBusy,     // SQLITE_BUSY; taking a lock
  };
  enum class Lasting : std::uint8_t { kOnce, kForGood };

  FaultySqliteVfs();
  FaultySqliteVfs(const FaultySqliteVfs&) = delete;
  FaultySqliteVfs& operator=(const FaultySqliteVfs&) = delete;
  ~FaultySqliteVfs();

  [[nodiscard]] const std::string& name() const { return name_; }

  /// Fails the `nth` call of this kind from now on (1 is the next).
  void fail(Kind kind, int nth, Lasting lasting = Lasting::kOnce);
  /// Ends the failures. Returns true if a call has failed since fail().
  bool stop();

  /// Returns the number of requests to sync a file.
  [[nodiscard]] int syncs() const;

 private:
  friend struct FaultySqliteFile;
  struct Plan {
    Kind kind;
    int calls_left;  // the fault happens when it reaches 0
    Lasting lasting;
    bool has_failed = false;
  };

  bool fails(Kind kind);
  void count_sync();

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags,
                  int* flags_out);
  static int remove(sqlite3_vfs* vfs, const char* path, int sync_directory);
  static int access(sqlite3_vfs* vfs, const char* path, int flags, int* result);
  static int sleep(sqlite3_vfs* vfs, int microseconds);

  const std::string name_;
  sqlite3_vfs* const disk_;
  sqlite3_vfs vfs_;

  mutable std::mutex mutex_;  // guards the members below
  std::optional<Plan> plan_;
  int syncs_ = 0;
};

}  // namespace rushgate::faults
