#include <cstdio>
#include <mutex>

#include <rushgate/locks.h>
#include <rushgate/open_backend.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  auto backend = open_backend(argc > 1 ? argv[1] : "memory:").value();  // or a directory, redis://…
  LockManager manager(*backend, {.on_lost = [](const std::string& name, std::uint64_t) {
    std::printf("lost %s\n", name.c_str());
  }});
  ReentrantLock lock(manager, "settlement", {.is_fenced = true});
  {
    const std::lock_guard held(lock);  // waits; renewed until it is released
    std::printf("held with token %d\n", static_cast<int>(lock.token()));
  }
  const bool is_ours = lock.try_acquire(/*wait_ms=*/500, /*lease_ms=*/10'000).value();
  std::printf("again: %d, with token %d\n", is_ours, static_cast<int>(lock.token()));
  return lock.release().ok() ? 0 : 1;
}
