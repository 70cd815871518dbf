// A disk that loses what was not synced, fills up, and fails to sync: under RocksDB.
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

/// Works on the real files in `root` and remembers what of them a power cut would spare:
/// - of a file's bytes, those before its last sync;
/// - of making, renaming and deleting files, what came before the last sync of their directory.
///   So a log that was never synced is gone, and CURRENT points to the MANIFEST that it last
///   pointed to when its directory was synced.
/// - of `root` and the directories in it, by whatever means they were made, those that were there
/// at
///   first or whose parent was synced since.
///
///   PowerCutFileSystem::make(root) -> give env() to the store -> cut_power() -> destroy the store
///   -> power_on() -> open it again.
///
/// All of it may be called from any thread at any time.
class PowerCutFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  /// `root` is the database's directory or holds it. Deleted files that may have to come back are
  /// kept beside it, in `<root>.attic`.
  static std::shared_ptr<PowerCutFileSystem> make(const std::filesystem::path& root);

  /// For RocksDbStoreOptions. As long-lived as this object.
  [[nodiscard]] rocksdb::Env* env() { return env_.get(); }

  /// From here on nothing reaches the disk: every change fails.
  void cut_power();

  /// The same after so many more operations that change something: writes, syncs, new names.
  void cut_power_after(int operations);

  /// Puts the files into the state that the cut left behind, and works again. Without a seed, all
  /// is lost that can be. With one, a part of it, chosen by the seed, is there: some of the bytes,
  /// in which some sectors may be zeros; the first few of the directory's changes.
  ///
  /// Nothing is ever synced for real: only a real power cut could tell.
  void power_on(std::optional<std::uint64_t> seed = std::nullopt);

  /// Fails the next sync of a file whose name ends with `suffix`.
  void fail_next_sync(std::string suffix = ".log");

  /// The disk is full after `bytes` more: a write then writes what has room, and fails.
  void fill_up_after(std::uint64_t bytes);
  void make_room();

  /// Syncs of log files so far.
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
  /// A log of messages is a file like any other here.
  rocksdb::IOStatus NewLogger(const std::string& name, const rocksdb::IOOptions& options,
                              std::shared_ptr<rocksdb::Logger>* logger,
                              rocksdb::IODebugContext* debug) override {
    return FileSystem::NewLogger(name, options, logger, debug);
  }

 private:
  class File;
  class Directory;

  struct FileState {
    std::uint64_t size_bytes = 0;
    std::uint64_t synced_bytes = 0;
  };

  // A change of the directory, and what takes it back: a name is new, or gone, or other than
  // before.
  struct Change {
    std::filesystem::path name;
    std::filesystem::path
        moved_from;               // where the file that has the name now comes from, if renamed
    std::filesystem::path attic;  // where the file is that had the name before, if any
    std::shared_ptr<FileState>
        former;  // of the file in the attic; null if it was never written here
  };

  explicit PowerCutFileSystem(const std::filesystem::path& root);

  // All of these with mutex_ held.
  rocksdb::IOStatus begin_operation();
  Change move_to_attic(const std::filesystem::path& name);
  std::shared_ptr<FileState> take_state(const std::filesystem::path& name);
  void take_back(const Change& change);
  void forget_changes();
  void keep_names_in(const std::filesystem::path& directory);
  std::vector<std::filesystem::path> new_directories() const;

  const std::filesystem::path root_;
  const std::filesystem::path attic_;
  std::unique_ptr<rocksdb::Env> env_;

  mutable std::mutex mutex_;  // guards what follows, and every change of a file
  bool power_ = true;
  std::optional<int> operations_left_;
  std::map<std::filesystem::path, std::shared_ptr<FileState>>
      files_;                    // written through this object
  std::vector<Change> changes_;  // since their directory was last synced
  std::set<std::filesystem::path> kept_directories_;
  std::optional<std::string> failing_sync_;  // suffix
  std::optional<std::uint64_t> room_bytes_;
  int attic_files_ = 0;
  int log_syncs_ = 0;
};

}  // namespace rushgate::faults
