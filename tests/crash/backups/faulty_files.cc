#include "tests/crash/backups/faulty_files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

namespace rushgate::faults {
namespace {

std::atomic<bool> is_planned = false;
std::mutex plan_mutex;  // guards the members below
FaultyFiles::Plan plan;
int changes_so_far = 0;

enum class Change : std::uint8_t { kWrite, kMake, kSync, kRemove };

bool is_inside(std::string_view path) {
  const std::string& dir = plan.dir.native();
  return path.starts_with(dir) && (path.size() == dir.size() || path[dir.size()] == '/');
}

std::string path_of(int file) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t bytes = ::readlink(link.c_str(), path, sizeof(path));
  return {path, bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

std::string path_at(int dir, const char* name) {
  if (*name == '/' || dir == AT_FDCWD) return name;
  return path_of(dir) + "/" + name;
}

/// Counts a change of `path`, and returns what happens to it.
FaultyFiles::Fault fault_of(const std::string& path, Change change) {
  const std::lock_guard lock(plan_mutex);
  if (!is_planned || !is_inside(path)) return FaultyFiles::Fault::kNone;
  ++changes_so_far;
  if (plan.lasts ? changes_so_far < plan.at : changes_so_far != plan.at) {
    return FaultyFiles::Fault::kNone;
  }
  const bool needs_space = change == Change::kWrite || change == Change::kMake;
  if (plan.fault == FaultyFiles::Fault::kFullDisk && !needs_space) {
    return FaultyFiles::Fault::kNone;
  }
  return plan.fault;
}

/// Ends the process, or sets errno. Returns -1.
int meet(FaultyFiles::Fault fault) {
  if (fault == FaultyFiles::Fault::kKill) ::raise(SIGKILL);
  errno = fault == FaultyFiles::Fault::kFullDisk ? ENOSPC : EIO;
  return -1;
}

template <class Function>
Function* system_function(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// Runs a change that writes no bytes.
template <class Run>
auto change(const std::string& path, Change kind, Run run) -> decltype(run()) {
  const FaultyFiles::Fault fault = fault_of(path, kind);
  return fault == FaultyFiles::Fault::kNone ? run() : meet(fault);
}

/// Runs a write of `bytes` bytes. `run` writes the first of them.
template <class Run>
ssize_t write_some(int file, std::size_t bytes, Run run) {
  if (!is_planned) return run(bytes);
  const FaultyFiles::Fault fault = fault_of(path_of(file), Change::kWrite);
  if (fault == FaultyFiles::Fault::kNone) return run(bytes);
  if (fault != FaultyFiles::Fault::kError && bytes > 1) run(bytes / 2);
  return meet(fault);
}

int open_file(const char* name, const char* path, int flags, mode_t mode) {
  const auto run = [&] {
    return system_function<int(const char*, int, ...)>(name)(path, flags, mode);
  };
  if (!is_planned || (flags & O_CREAT) == 0) return run();
  return change(path, Change::kMake, run);
}

std::FILE* open_stream(const char* name, const char* path, const char* mode) {
  if (is_planned && *mode != 'r') {
    const FaultyFiles::Fault fault = fault_of(path, Change::kMake);
    if (fault != FaultyFiles::Fault::kNone) {
      meet(fault);
      return nullptr;
    }
  }
  return system_function<std::FILE*(const char*, const char*)>(name)(path, mode);
}

int sync_file(const char* name, int file) {
  const auto run = [&] { return system_function<int(int)>(name)(file); };
  return is_planned ? change(path_of(file), Change::kSync, run) : run();
}

}  // namespace

FaultyFiles::FaultyFiles(const Plan& its_plan) {
  const std::lock_guard lock(plan_mutex);
  plan = its_plan;
  changes_so_far = 0;
  is_planned = true;
}

FaultyFiles::~FaultyFiles() { is_planned = false; }

int FaultyFiles::changes() {
  const std::lock_guard lock(plan_mutex);
  return changes_so_far;
}

}  // namespace rushgate::faults

// ---- Replacements of libc's functions ----

using namespace rushgate::faults;  // NOLINT(google-build-using-namespace)

// The headers give some of these names to others (_FILE_OFFSET_BITS), hence the labels.
extern "C" {

int faulty_open(const char* path, int flags, ...) __asm__("open");
int faulty_open64(const char* path, int flags, ...) __asm__("open64");
std::FILE* faulty_fopen64(const char* path, const char* mode) __asm__("fopen64");
ssize_t faulty_write(int file, const void* bytes, size_t count) __asm__("write");
ssize_t faulty_writev(int file, const iovec* parts, int count) __asm__("writev");
ssize_t faulty_pwrite64(int file, const void* bytes, size_t count, off64_t at) __asm__("pwrite64");
ssize_t faulty_sendfile(int to, int from, off_t* at, size_t count) __asm__("sendfile");
int faulty_fsync(int file) __asm__("fsync");
int faulty_fdatasync(int file) __asm__("fdatasync");
int faulty_link(const char* from, const char* to) __asm__("link");
int faulty_rename(const char* from, const char* to) __asm__("rename");
int faulty_mkdir(const char* path, mode_t mode) __asm__("mkdir");
int faulty_remove(const char* path) __asm__("remove");
int faulty_unlinkat(int dir, const char* path, int flags) __asm__("unlinkat");

int faulty_open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_file("open", path, flags, mode);
}
int faulty_open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_file("open64", path, flags, mode);
}
std::FILE* faulty_fopen64(const char* path, const char* mode) {
  return open_stream("fopen64", path, mode);
}
ssize_t faulty_write(int file, const void* bytes, size_t count) {
  return write_some(file, count, [&](std::size_t part) {
    return system_function<ssize_t(int, const void*, size_t)>("write")(file, bytes, part);
  });
}
ssize_t faulty_writev(int file, const iovec* parts, int count) {
  return write_some(file, 1, [&](std::size_t /*part*/) {
    return system_function<ssize_t(int, const iovec*, int)>("writev")(file, parts, count);
  });
}
ssize_t faulty_pwrite64(int file, const void* bytes, size_t count, off64_t at) {
  return write_some(file, count, [&](std::size_t part) {
    return system_function<ssize_t(int, const void*, size_t, off64_t)>("pwrite64")(file, bytes,
                                                                                   part, at);
  });
}
ssize_t faulty_sendfile(int to, int from, off_t* at, size_t count) {
  return write_some(to, count, [&](std::size_t part) {
    return system_function<ssize_t(int, int, off_t*, size_t)>("sendfile")(to, from, at, part);
  });
}
int faulty_fsync(int file) { return sync_file("fsync", file); }
int faulty_fdatasync(int file) { return sync_file("fdatasync", file); }
int faulty_link(const char* from, const char* to) {
  const auto run = [&] { return system_function<int(const char*, const char*)>("link")(from, to); };
  return is_planned ? change(to, Change::kMake, run) : run();
}
int faulty_rename(const char* from, const char* to) {
  const auto run = [&] {
    return system_function<int(const char*, const char*)>("rename")(from, to);
  };
  return is_planned ? change(to, Change::kMake, run) : run();
}
int faulty_mkdir(const char* path, mode_t mode) {
  const auto run = [&] { return system_function<int(const char*, mode_t)>("mkdir")(path, mode); };
  return is_planned ? change(path, Change::kMake, run) : run();
}
int faulty_remove(const char* path) {
  const auto run = [&] { return system_function<int(const char*)>("remove")(path); };
  return is_planned ? change(path, Change::kRemove, run) : run();
}
int faulty_unlinkat(int dir, const char* path, int flags) {
  const auto run = [&] {
    return system_function<int(int, const char*, int)>("unlinkat")(dir, path, flags);
  };
  return is_planned ? change(path_at(dir, path), Change::kRemove, run) : run();
}

}  // extern "C"
