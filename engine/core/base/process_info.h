// Facts about this process and its machine, from the operating system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rushgate {

struct CpuTimes {
  std::int64_t system_us;
  std::int64_t user_us;
};

CpuTimes cpu_of_process();
CpuTimes cpu_of_children();
/// Returns the times of the calling thread.
CpuTimes cpu_of_thread();
/// Returns the path of the running program; empty if the system does not report it.
std::string path_of_program();
/// Returns the version of the GCC or Clang that compiled the library: "12.2.0".
std::string compiler_version();
std::int64_t process_id();
/// Returns the system's name, version and machine: "Linux 6.1.0 x86_64".
std::string operating_system();
/// Returns the resident memory of the whole process; empty if the system does not report it.
std::optional<std::uint64_t> resident_bytes();
/// Returns the size of the machine's memory.
std::uint64_t memory_bytes_of_machine();

// ---- The allocator (glibc's) ----

/// Returns the bytes of all blocks in use.
std::uint64_t allocated_bytes();
/// Returns the memory that the allocator has taken from the system.
std::uint64_t allocator_bytes();
/// Returns free memory to the system.
void release_free_memory();
/// Bounds the free memory that release_free_memory() does not return: the end of each heap that a
/// thread other than the main one has begun, up to 16 MiB. Unbounded, it may be 64 MiB. Small
/// blocks then join their neighbours as soon as they are freed. For programs, not for libraries: it
/// holds for the whole process. (mallopt(3): M_MXFAST, M_TRIM_THRESHOLD, M_MMAP_THRESHOLD)
void bound_free_memory();
/// Returns the allocator's own report, in XML.
std::string allocator_report();

}  // namespace rushgate
