#include "engine/core/base/process_info.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <system_error>

namespace rushgate {
namespace {

std::int64_t microseconds(const ::timeval& time) {
  constexpr std::int64_t kPerSecond = 1'000'000;
  return std::int64_t{time.tv_sec} * kPerSecond + time.tv_usec;
}

CpuTimes cpu_of(int whom) {
  ::rusage usage{};
  ::getrusage(whom, &usage);
  return {microseconds(usage.ru_stime), microseconds(usage.ru_utime)};
}

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

CpuTimes cpu_of_process() { return cpu_of(RUSAGE_SELF); }
CpuTimes cpu_of_children() { return cpu_of(RUSAGE_CHILDREN); }
CpuTimes cpu_of_thread() { return cpu_of(RUSAGE_THREAD); }

std::string path_of_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string compiler_version() {
  return std::to_string(__GNUC__) + '.' + std::to_string(__GNUC_MINOR__) + '.' +
         std::to_string(__GNUC_PATCHLEVEL__);
}

std::int64_t process_id() { return ::getpid(); }

std::string operating_system() {
  ::utsname system{};
  if (::uname(&system) != 0) return {};
  return std::string(system.sysname) + ' ' + system.release + ' ' + system.machine;
}

std::optional<std::uint64_t> resident_bytes() {
  std::ifstream pages("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  if (!(pages >> total >> resident)) return std::nullopt;
  return resident * page_bytes();
}

std::uint64_t memory_bytes_of_machine() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page_bytes();
}

std::uint64_t allocated_bytes() {
  const struct ::mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

std::uint64_t allocator_bytes() {
  const struct ::mallinfo2 heap = ::mallinfo2();
  return heap.arena + heap.hblkhd;
}

void release_free_memory() { ::malloc_trim(0); }

void bound_free_memory() {
  constexpr int kBytes = 16 * 1'024 * 1'024;
  // malloc_trim() trims the end of the main heap only. Those of other threads are trimmed by free(),
  // beyond this threshold, which malloc raises by itself unless it is set.
  ::mallopt(M_TRIM_THRESHOLD, kBytes);
  ::mallopt(M_MMAP_THRESHOLD, kBytes);
  // Small blocks that malloc_trim() joins to the end of a heap would let it grow beyond that.
  ::mallopt(M_MXFAST, 0);
}

std::string allocator_report() {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const out = ::open_memstream(&text, &size);
  if (out == nullptr) throw std::bad_alloc();
  const bool is_written = ::malloc_info(0, out) == 0;
  const bool is_closed = std::fclose(out) == 0;
  const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
  if (!is_written || !is_closed) throw std::bad_alloc();
  return {text, size};
}

}  // namespace rushgate
