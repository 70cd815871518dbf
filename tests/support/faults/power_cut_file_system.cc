#include "tests/support/faults/power_cut_file_system.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <utility>

#include <rocksdb/system_clock.h>

namespace rushgate::faults {
namespace {

namespace fs = std::filesystem;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

constexpr std::uint64_t kSectorBytes = 512;

IOStatus full_disk() { return IOStatus::NoSpace("injected: no space left on device"); }

// Zeroes some of the sectors in [begin, end).
void spoil_sectors(const fs::path& path, std::uint64_t begin, std::uint64_t end,
                   std::mt19937_64& random) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const std::string zeros(kSectorBytes, '\0');
  for (std::uint64_t at = begin; at < end; at = (at / kSectorBytes + 1) * kSectorBytes) {
    if (random() % 4 != 0) continue;
    const std::uint64_t length = std::min((at / kSectorBytes + 1) * kSectorBytes, end) - at;
    if (pwrite(file, zeros.data(), length, static_cast<off_t>(at)) < 0) break;
  }
  ::close(file);
}

// RocksDB waits a second before it closes after a failure. Tests have several hundred of them.
class ImpatientClock final : public rocksdb::SystemClockWrapper {
 public:
  using SystemClockWrapper::SystemClockWrapper;
  [[nodiscard]] const char* Name() const override { return "ImpatientClock"; }
  void SleepForMicroseconds(int us) override { target_->SleepForMicroseconds(std::min(us, 1000)); }
};

class ImpatientEnv final : public rocksdb::EnvWrapper {
 public:
  explicit ImpatientEnv(std::unique_ptr<rocksdb::Env> env) : EnvWrapper(std::move(env)) {
    system_clock_ = std::make_shared<ImpatientClock>(rocksdb::SystemClock::Default());
  }
};

}  // namespace

// A file open for writing.
class PowerCutFileSystem::File final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  File(PowerCutFileSystem& disk, std::string name, std::shared_ptr<FileState> state,
       std::unique_ptr<rocksdb::FSWritableFile> file)
      : FSWritableFileOwnerWrapper(std::move(file)),
        disk_(disk),
        name_(std::move(name)),
        state_(std::move(state)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    const std::lock_guard lock(disk_.mutex_);
    IOStatus status = disk_.begin_operation();
    if (!status.ok()) return status;
    const std::size_t room =
        disk_.room_bytes_ ? std::min<std::size_t>(data.size(), *disk_.room_bytes_) : data.size();
    status = target()->Append(Slice(data.data(), room), options, debug);
    if (!status.ok()) return status;
    state_->size_bytes += room;
    if (disk_.room_bytes_) *disk_.room_bytes_ -= room;
    return room == data.size() ? status : full_disk();
  }

  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }

  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    const std::lock_guard lock(disk_.mutex_);
    IOStatus status = disk_.begin_operation();
    if (status.ok()) status = target()->Truncate(size, options, debug);
    if (status.ok()) state_->size_bytes = size;
    return status;
  }

  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    const std::lock_guard lock(disk_.mutex_);
    if (disk_.failing_sync_ && name_.ends_with(*disk_.failing_sync_)) {
      disk_.failing_sync_.reset();
      return IOStatus::IOError("injected: sync failed", name_);
    }
    IOStatus status = disk_.begin_operation();
    if (!status.ok()) return status;
    state_->synced_bytes = state_->size_bytes;
    if (name_.ends_with(".log")) ++disk_.log_syncs_;
    return status;
  }

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }

 private:
  PowerCutFileSystem& disk_;
  const std::string name_;
  const std::shared_ptr<FileState> state_;
};

class PowerCutFileSystem::Directory final : public rocksdb::FSDirectoryWrapper {
 public:
  Directory(PowerCutFileSystem& disk, fs::path name,
            std::unique_ptr<rocksdb::FSDirectory> directory)
      : FSDirectoryWrapper(std::move(directory)), disk_(disk), name_(std::move(name)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return FsyncWithDirOptions(options, debug, rocksdb::DirFsyncOptions());
  }

  IOStatus FsyncWithDirOptions(const IOOptions&, IODebugContext*,
                               const rocksdb::DirFsyncOptions&) override {
    const std::lock_guard lock(disk_.mutex_);
    const IOStatus status = disk_.begin_operation();
    if (status.ok()) disk_.keep_names_in(name_);
    return status;
  }

 private:
  PowerCutFileSystem& disk_;
  const fs::path name_;
};

std::shared_ptr<PowerCutFileSystem> PowerCutFileSystem::make(const fs::path& root) {
  std::shared_ptr<PowerCutFileSystem> disk(new PowerCutFileSystem(root));
  // The environment refers to the file system without owning it: the ownership is reversed.
  disk->env_ = std::make_unique<ImpatientEnv>(rocksdb::NewCompositeEnv(
      std::shared_ptr<rocksdb::FileSystem>(std::shared_ptr<void>(), disk.get())));
  return disk;
}

PowerCutFileSystem::PowerCutFileSystem(const fs::path& root)
    : FileSystemWrapper(rocksdb::FileSystem::Default()),
      root_(root),
      attic_(root.string() + ".attic") {
  fs::create_directories(attic_);
  for (const fs::path& directory : new_directories()) kept_directories_.insert(directory);
}

void PowerCutFileSystem::cut_power() {
  const std::lock_guard lock(mutex_);
  power_ = false;
}

void PowerCutFileSystem::cut_power_after(int operations) {
  const std::lock_guard lock(mutex_);
  operations_left_ = operations;
}

void PowerCutFileSystem::power_on(std::optional<std::uint64_t> seed) {
  const std::lock_guard lock(mutex_);
  std::mt19937_64 random(seed.value_or(0));
  const std::size_t spared = seed ? random() % (changes_.size() + 1) : 0;
  while (changes_.size() > spared) {
    roll_back(changes_.back());
    changes_.pop_back();
  }
  forget_changes();
  for (const fs::path& directory : new_directories()) {
    if (!seed || random() % 2 == 0) fs::remove_all(directory);
  }
  for (const auto& [path, state] : files_) {
    const std::uint64_t unsynced = state->size_bytes - state->synced_bytes;
    const std::uint64_t kept = state->synced_bytes + (seed ? random() % (unsynced + 1) : 0);
    std::error_code gone;
    fs::resize_file(path, kept, gone);
    if (seed && random() % 2 == 0) spoil_sectors(path, state->synced_bytes, kept, random);
    *state = {kept, kept};
  }
  power_ = true;
  operations_left_.reset();
}

void PowerCutFileSystem::reconnect() {
  const std::lock_guard lock(mutex_);
  power_ = true;
  operations_left_.reset();
}

void PowerCutFileSystem::fail_next_sync(std::string suffix) {
  const std::lock_guard lock(mutex_);
  failing_sync_ = std::move(suffix);
}

void PowerCutFileSystem::fill_up_after(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  room_bytes_ = bytes;
}

void PowerCutFileSystem::make_space() {
  const std::lock_guard lock(mutex_);
  room_bytes_.reset();
}

int PowerCutFileSystem::log_syncs() const {
  const std::lock_guard lock(mutex_);
  return log_syncs_;
}

IOStatus PowerCutFileSystem::begin_operation() {
  if (operations_left_ && (*operations_left_)-- <= 0) power_ = false;
  return power_ ? IOStatus::OK() : IOStatus::IOError("injected: the power is off");
}

std::shared_ptr<PowerCutFileSystem::FileState> PowerCutFileSystem::take_state(
    const fs::path& name) {
  const auto found = files_.find(name);
  if (found == files_.end()) return nullptr;
  std::shared_ptr<FileState> state = std::move(found->second);
  files_.erase(found);
  return state;
}

// Moves the current file out of the way of another one with this name, or of none.
PowerCutFileSystem::Change PowerCutFileSystem::move_to_attic(const fs::path& name) {
  Change change{name, {}, {}, take_state(name)};
  if (!fs::exists(name)) return change;
  change.attic = attic_ / std::to_string(++attic_files_);
  fs::rename(name, change.attic);
  return change;
}

void PowerCutFileSystem::roll_back(const Change& change) {
  std::shared_ptr<FileState> state = take_state(change.name);
  if (change.moved_from.empty()) {
    fs::remove(change.name);
  } else {
    fs::rename(change.name, change.moved_from);
    if (state) files_[change.moved_from] = std::move(state);
  }
  if (change.attic.empty()) return;
  fs::rename(change.attic, change.name);
  if (change.former) files_[change.name] = change.former;
}

void PowerCutFileSystem::forget_changes() {
  for (const Change& change : changes_) {
    if (!change.attic.empty()) fs::remove(change.attic);
  }
  changes_.clear();
}

void PowerCutFileSystem::keep_names_in(const fs::path& directory) {
  std::erase_if(changes_, [&](const Change& change) {
    if (change.name.parent_path() != directory) return false;
    if (!change.attic.empty()) fs::remove(change.attic);
    return true;
  });
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.is_directory()) kept_directories_.insert(entry.path());
  }
}

std::vector<fs::path> PowerCutFileSystem::new_directories() const {
  std::vector<fs::path> found;
  if (!fs::exists(root_)) return found;
  if (!kept_directories_.contains(root_)) found.push_back(root_);
  for (const auto& entry : fs::recursive_directory_iterator(root_)) {
    if (entry.is_directory() && !kept_directories_.contains(entry.path())) {
      found.push_back(entry.path());
    }
  }
  return found;
}

IOStatus PowerCutFileSystem::NewWritableFile(const std::string& name,
                                             const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* file,
                                             IODebugContext* debug) {
  const std::lock_guard lock(mutex_);
  IOStatus status = begin_operation();
  if (!status.ok()) return status;
  changes_.push_back(move_to_attic(name));
  std::unique_ptr<rocksdb::FSWritableFile> real;
  status = target()->NewWritableFile(name, options, &real, debug);
  if (!status.ok()) return status;
  const auto state = std::make_shared<FileState>();
  files_[name] = state;
  *file = std::make_unique<File>(*this, name, state, std::move(real));
  return status;
}

IOStatus PowerCutFileSystem::ReopenWritableFile(const std::string&, const rocksdb::FileOptions&,
                                                std::unique_ptr<rocksdb::FSWritableFile>*,
                                                IODebugContext*) {
  return IOStatus::NotSupported("a database like ours opens no file for writing twice");
}

IOStatus PowerCutFileSystem::ReuseWritableFile(const std::string&, const std::string&,
                                               const rocksdb::FileOptions&,
                                               std::unique_ptr<rocksdb::FSWritableFile>*,
                                               IODebugContext*) {
  return IOStatus::NotSupported("a database like ours recycles no file");
}

IOStatus PowerCutFileSystem::NewDirectory(const std::string& name, const IOOptions& options,
                                          std::unique_ptr<rocksdb::FSDirectory>* directory,
                                          IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSDirectory> real;
  const IOStatus status = target()->NewDirectory(name, options, &real, debug);
  if (status.ok()) *directory = std::make_unique<Directory>(*this, name, std::move(real));
  return status;
}

IOStatus PowerCutFileSystem::RenameFile(const std::string& from, const std::string& to,
                                        const IOOptions& options, IODebugContext* debug) {
  const std::lock_guard lock(mutex_);
  IOStatus status = begin_operation();
  if (!status.ok()) return status;
  if (!fs::exists(from)) return IOStatus::PathNotFound(from);
  Change change = move_to_attic(to);
  change.moved_from = from;
  changes_.push_back(std::move(change));
  status = target()->RenameFile(from, to, options, debug);
  if (std::shared_ptr<FileState> state = take_state(from)) files_[to] = std::move(state);
  return status;
}

IOStatus PowerCutFileSystem::DeleteFile(const std::string& name, const IOOptions&,
                                        IODebugContext*) {
  const std::lock_guard lock(mutex_);
  IOStatus status = begin_operation();
  if (!status.ok()) return status;
  if (!fs::exists(name)) return IOStatus::PathNotFound(name);
  changes_.push_back(move_to_attic(name));
  return status;
}

IOStatus PowerCutFileSystem::Truncate(const std::string& name, std::size_t size,
                                      const IOOptions& options, IODebugContext* debug) {
  const std::lock_guard lock(mutex_);
  IOStatus status = begin_operation();
  if (status.ok()) status = target()->Truncate(name, size, options, debug);
  const auto found = files_.find(name);
  if (status.ok() && found != files_.end()) found->second->size_bytes = size;
  return status;
}

}  // namespace rushgate::faults
