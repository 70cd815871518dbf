#include "engine/base/process_info.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

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

}  // namespace rushgate
