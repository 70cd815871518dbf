// A disk below RocksDB that loses unsynced data, fills up, and fails to sync.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

namespace rushgate::faults {

/// Works on the real files in `root`, and records the state that a power cut spares:
/// - the bytes of a file before its last sync;
/// - new names, renames and removals before the last sync of their directory. A log that was never
///   synced is lost. CURRENT points to the same MANIFEST as at the last sync of its directory;
/// - `root` and directories in it that existed at first, or whose parent was synced since.
///
///   PowerCutFileSystem::make(root) -> give env() to the store -> cut_power() -> destroy the store
///   -> power_on() -> open it again.
///
/// Thread-safe.
class PowerCutFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  /// `root` is the database's directory or contains it. Deleted files that may return are in
  /// `<root>.attic`.
  static std::shared_ptr<PowerCutFileSystem> make(const std::filesystem::path& root);

  /// Returns an environment for RocksDbStoreOptions. It lives as long as this object.
  [[nodiscard]] rocksdb::Env* env() { return env_.get(); }

  /// Cuts the power: from now on, every change fails.
  void cut_power();

  /// Cuts the power after this many further changes: writes, syncs, new names.
  void cut_power_after(int operations);

  /// Restores the files as the cut left them, and works again. Without a seed, everything unsynced
  /// is lost. With one, the seed chooses a part that survives: some of the bytes, in which sectors
  /// may be zero, and the first few changes of a directory.
  ///
  /// Nothing is really synced: only a real power cut could show the difference.
  void power_on(std::optional<std::uint64_t> seed = std::nullopt);

  /// Works again after cut_power() or cut_power_after(), and nothing is lost: only the connection to
  /// the disk was cut, as that of a network file system.
  void reconnect();

  /// Fails the next sync of a file whose name ends with `suffix`.
  void fail_next_sync(std::string suffix = ".log");

  /// Makes the disk full after `bytes` more. The failing write still writes the bytes that fit.
  void fill_up_after(std::uint64_t bytes);
  void make_space();

  /// Returns the number of syncs of log files.
  [[nodiscard]] int log_syncs() const;

  [[nodiscard]] const char* Name() const override { return "PowerCutFileSystem"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Truncate(const std::string& name, std::size_t size,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  /// Treats an info log like any other file: FileSystemWrapper would pass the call on.
  rocksdb::IOStatus NewLogger(const std::string& name, const rocksdb::IOOptions& options,
                              std::shared_ptr<rocksdb::Logger>* logger,
                              rocksdb::IODebugContext* debug) override {
    // NOLINTNEXTLINE(bugprone-parent-virtual-call)
    return FileSystem::NewLogger(name, options, logger, debug);
  }

 private:
  class File;
  class Directory;

  struct FileState {
    std::uint64_t size_bytes = 0;
    std::uint64_t synced_bytes = 0;
  };

  // A change of the directory, and how to undo it: a name is new, removed or replaced.
  struct Change {
    std::filesystem::path name;
    std::filesystem::path moved_from;   // where the file of this name came from, if renamed
    std::filesystem::path attic;        // where the previous file of this name is, if any
    std::shared_ptr<FileState> former;  // of the file in the attic; null if not written here
  };

  explicit PowerCutFileSystem(const std::filesystem::path& root);

  // Require mutex_.
  rocksdb::IOStatus begin_operation();
  Change move_to_attic(const std::filesystem::path& name);
  std::shared_ptr<FileState> take_state(const std::filesystem::path& name);
  void roll_back(const Change& change);
  void forget_changes();
  void keep_names_in(const std::filesystem::path& directory);
  std::vector<std::filesystem::path> new_directories() const;

  const std::filesystem::path root_;
  const std::filesystem::path attic_;
  std::unique_ptr<rocksdb::Env> env_;

  mutable std::mutex mutex_;  // guards the members below, and all changes of files
  bool power_ = true;
  std::optional<int> operations_left_;
  std::map<std::filesystem::path, std::shared_ptr<FileState>>
      files_;                    // written through this object
  std::vector<Change> changes_;  // since the last sync of their directory
  std::set<std::filesystem::path> kept_directories_;
  std::optional<std::string> failing_sync_;  // suffix
  std::optional<std::uint64_t> room_bytes_;
  int attic_files_ = 0;
  int log_syncs_ = 0;
};

}  // namespace rushgate::faults
