// What the operating system tells of this process.
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
std::int64_t process_id();
/// "Linux 6.1.0 x86_64".
std::string operating_system();
/// What the process has in memory, the user's part of it too; nothing where nobody tells.
std::optional<std::uint64_t> resident_bytes();
/// Of the machine.
std::uint64_t memory_bytes_of_machine();

}  // namespace rushgate
