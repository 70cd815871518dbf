#include "apps/comparison/shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace rushgate::comparison {
namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "processes share it");

[[noreturn]] void fail_mapping(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

int create_memory(std::size_t counts) {
  const int fd = memfd_create("rushgate-strategies", 0);
  if (fd < 0) fail_mapping("memfd_create");
  if (ftruncate(fd, static_cast<off_t>(counts * sizeof(std::atomic<std::uint32_t>))) != 0) {
    close(fd);
    fail_mapping("ftruncate");
  }
  return fd;
}

}  // namespace

SharedMemory::SharedMemory(std::size_t counts) : SharedMemory(create_memory(counts), counts) {}

SharedMemory::SharedMemory(int inherited_fd, std::size_t counts) : fd_(inherited_fd) {
  void* const memory = mmap(nullptr, counts * sizeof(std::atomic<std::uint32_t>),
                            PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) {
    close(fd_);
    fail_mapping("mmap");
  }
  counts_ = {static_cast<std::atomic<std::uint32_t>*>(memory), counts};
}

SharedMemory::~SharedMemory() {
  munmap(counts_.data(), counts_.size_bytes());
  close(fd_);
}

}  // namespace rushgate::comparison
