#include "tests/support/faults/faulty_sqlite_vfs.h"

#include <atomic>
#include <cstddef>
#include <new>

namespace rushgate::faults {

using Kind = FaultySqliteVfs::Kind;

// A file as SQLite sees it: our part first, the disk's own after it.
struct FaultySqliteFile {
  sqlite3_file base;
  FaultySqliteVfs* vfs;

  static FaultySqliteFile& of(sqlite3_file* file) {
    return *reinterpret_cast<FaultySqliteFile*>(file);
  }
  static sqlite3_file* disk(sqlite3_file* file) {
    return reinterpret_cast<sqlite3_file*>(reinterpret_cast<FaultySqliteFile*>(file) + 1);
  }
  static bool fails(sqlite3_file* file, Kind kind) { return of(file).vfs->fails(kind); }

  static const sqlite3_io_methods kMethods;

  static int close(sqlite3_file* file) {
    sqlite3_file* const on_disk = disk(file);
    return on_disk->pMethods != nullptr ? on_disk->pMethods->xClose(on_disk) : SQLITE_OK;
  }
  static int read(sqlite3_file* file, void* to, int bytes, sqlite3_int64 at) {
    if (fails(file, Kind::kIoError)) return SQLITE_IOERR_READ;
    return disk(file)->pMethods->xRead(disk(file), to, bytes, at);
  }
  static int write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at) {
    const bool full = fails(file, Kind::kFull);
    const bool broken = fails(file, Kind::kIoError);
    if (full || broken) bytes /= 2;
    const int result = disk(file)->pMethods->xWrite(disk(file), from, bytes, at);
    return full ? SQLITE_FULL : broken ? SQLITE_IOERR_WRITE : result;
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 bytes) {
    if (fails(file, Kind::kIoError)) return SQLITE_IOERR_TRUNCATE;
    return disk(file)->pMethods->xTruncate(disk(file), bytes);
  }
  static int sync(sqlite3_file* file, int) {
    if (fails(file, Kind::kIoError)) return SQLITE_IOERR_FSYNC;
    of(file).vfs->count_sync();
    return SQLITE_OK;
  }
  static int file_size(sqlite3_file* file, sqlite3_int64* bytes) {
    if (fails(file, Kind::kIoError)) return SQLITE_IOERR_FSTAT;
    return disk(file)->pMethods->xFileSize(disk(file), bytes);
  }
  static int lock(sqlite3_file* file, int level) {
    if (fails(file, Kind::kBusy)) return SQLITE_BUSY;
    return disk(file)->pMethods->xLock(disk(file), level);
  }
  static int unlock(sqlite3_file* file, int level) {
    return disk(file)->pMethods->xUnlock(disk(file), level);
  }
  static int check_reserved_lock(sqlite3_file* file, int* result) {
    return disk(file)->pMethods->xCheckReservedLock(disk(file), result);
  }
  static int file_control(sqlite3_file* file, int what, void* argument) {
    return disk(file)->pMethods->xFileControl(disk(file), what, argument);
  }
  static int sector_size(sqlite3_file* file) {
    return disk(file)->pMethods->xSectorSize(disk(file));
  }
  static int device_characteristics(sqlite3_file* file) {
    return disk(file)->pMethods->xDeviceCharacteristics(disk(file));
  }
  static int shm_map(sqlite3_file* file, int page, int bytes, int extend, void volatile** result) {
    if (fails(file, Kind::kIoError)) return SQLITE_IOERR_SHMMAP;
    return disk(file)->pMethods->xShmMap(disk(file), page, bytes, extend, result);
  }
  static int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
    if ((flags & SQLITE_SHM_LOCK) != 0 && fails(file, Kind::kBusy)) return SQLITE_BUSY;
    return disk(file)->pMethods->xShmLock(disk(file), offset, count, flags);
  }
  static void shm_barrier(sqlite3_file* file) { disk(file)->pMethods->xShmBarrier(disk(file)); }
  static int shm_unmap(sqlite3_file* file, int remove) {
    return disk(file)->pMethods->xShmUnmap(disk(file), remove);
  }
};
static_assert(sizeof(FaultySqliteFile) % alignof(std::max_align_t) == 0);

// Version 2: without memory-mapped reads, which would bypass this VFS.
const sqlite3_io_methods FaultySqliteFile::kMethods = {
    .iVersion = 2,
    .xClose = close,
    .xRead = read,
    .xWrite = write,
    .xTruncate = truncate,
    .xSync = sync,
    .xFileSize = file_size,
    .xLock = lock,
    .xUnlock = unlock,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = file_control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = device_characteristics,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

// ---- The VFS ----------------------------------------------------------------------------------

namespace {

std::string new_name() {
  static std::atomic<int> count = 0;
  return "faulty-" + std::to_string(++count);
}

FaultySqliteVfs& self(sqlite3_vfs* vfs) { return *static_cast<FaultySqliteVfs*>(vfs->pAppData); }

}  // namespace

// Everything not replaced is the disk's: it does not use the passed struct.
FaultySqliteVfs::FaultySqliteVfs()
    : name_(new_name()), disk_(sqlite3_vfs_find(nullptr)), vfs_(*disk_) {
  vfs_.szOsFile += static_cast<int>(sizeof(FaultySqliteFile));
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = open;
  vfs_.xDelete = remove;
  vfs_.xAccess = access;
  vfs_.xSleep = sleep;
  sqlite3_vfs_register(&vfs_, 0);
}

FaultySqliteVfs::~FaultySqliteVfs() { sqlite3_vfs_unregister(&vfs_); }

void FaultySqliteVfs::fail(Kind kind, int nth, Lasting lasting) {
  const std::lock_guard lock(mutex_);
  plan_ = Plan{kind, nth, lasting};
}

bool FaultySqliteVfs::stop() {
  const std::lock_guard lock(mutex_);
  const bool has_failed = plan_ && plan_->has_failed;
  plan_.reset();
  return has_failed;
}

int FaultySqliteVfs::syncs() const {
  const std::lock_guard lock(mutex_);
  return syncs_;
}

bool FaultySqliteVfs::fails(Kind kind) {
  const std::lock_guard lock(mutex_);
  if (!plan_ || plan_->kind != kind) return false;
  if (plan_->has_failed) return plan_->lasting == Lasting::kForGood;
  plan_->has_failed = --plan_->calls_left == 0;
  return plan_->has_failed;
}

void FaultySqliteVfs::count_sync() {
  const std::lock_guard lock(mutex_);
  ++syncs_;
}

int FaultySqliteVfs::open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags,
                          int* flags_out) {
  FaultySqliteVfs& us = self(vfs);
  auto* const ours = new (file) FaultySqliteFile{{nullptr}, &us};
  if (us.fails(Kind::kIoError)) return SQLITE_CANTOPEN;
  const int result =
      us.disk_->xOpen(us.disk_, path, FaultySqliteFile::disk(file), flags, flags_out);
  if (result == SQLITE_OK) ours->base.pMethods = &FaultySqliteFile::kMethods;
  return result;
}

int FaultySqliteVfs::remove(sqlite3_vfs* vfs, const char* path, int sync_directory) {
  FaultySqliteVfs& us = self(vfs);
  if (us.fails(Kind::kIoError)) return SQLITE_IOERR_DELETE;
  return us.disk_->xDelete(us.disk_, path, sync_directory);
}

int FaultySqliteVfs::access(sqlite3_vfs* vfs, const char* path, int flags, int* result) {
  FaultySqliteVfs& us = self(vfs);
  if (us.fails(Kind::kIoError)) return SQLITE_IOERR_ACCESS;
  return us.disk_->xAccess(us.disk_, path, flags, result);
}

int FaultySqliteVfs::sleep(sqlite3_vfs*, int microseconds) { return microseconds; }

}  // namespace rushgate::faults
