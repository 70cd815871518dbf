#include <cstdio>
#include <thread>
#include <vector>

#include <rushgate/locks.h>
#include <rushgate/open_backend.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  constexpr int kWorkers = 3;
  auto backend = open_backend(argc > 1 ? argv[1] : "memory:").value();  // or a directory, redis://…
  LockManager manager(*backend);
  Semaphore exports(manager, "exports");
  CountDownLatch exported(manager, "exported");
  if (!exports.try_set_permits(2).ok() || !exported.try_set_count(kWorkers).ok()) return 1;

  const auto work = [&] {
    // At most two at once. The permit of a process that dies is free again after 10 s.
    const auto permit = exports.acquire(Semaphore::kForever, /*lease_ms=*/10'000).value();
    if (exports.release(*permit).ok()) exported.count_down().IgnoreError();
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < kWorkers; ++i) workers.emplace_back(work);

  const bool all = exported.wait(/*wait_ms=*/60'000).value();
  std::printf("all exported: %d, free permits: %d\n", all,
              static_cast<int>(exports.available().value()));
}
