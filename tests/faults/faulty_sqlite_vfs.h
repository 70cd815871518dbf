// A disk below SQLite that fails when it is told to.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include <sqlite3.h>

namespace rushgate::faults {

/// An SQLite VFS above the default one. It syncs nothing and sleeps never, so that a test can fail
/// every call in turn. Thread-safe. Destroyed after the last connection that uses it.
class FaultySqliteVfs {
 public:
  enum class Kind : std::uint8_t {
    kFull,     // SQLITE_FULL; writing, half of which is done
    kIoError,  // SQLITE_IOERR_…; opening, reading, writing, syncing, truncating, deleting, …
    kBusy,     // SQLITE_BUSY; taking a lock
  };
  enum class Lasting : std::uint8_t { kOnce, kForGood };

  FaultySqliteVfs();
  FaultySqliteVfs(const FaultySqliteVfs&) = delete;
  FaultySqliteVfs& operator=(const FaultySqliteVfs&) = delete;
  ~FaultySqliteVfs();

  [[nodiscard]] const std::string& name() const { return name_; }

  /// Fails the `nth` call of this kind from now on, 1 being the next.
  void fail(Kind kind, int nth, Lasting lasting = Lasting::kOnce);
  /// No further call fails. Returns whether one has failed since fail().
  bool stop();

  /// Calls that asked for a file to be on the disk.
  [[nodiscard]] int syncs() const;

 private:
  friend struct FaultySqliteFile;
  struct Plan {
    Kind kind;
    int calls_left;  // the fault comes when it reaches 0
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

  mutable std::mutex mutex_;  // guards what follows
  std::optional<Plan> plan_;
  int syncs_ = 0;
};

}  // namespace rushgate::faults
