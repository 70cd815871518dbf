#include <cstdio>
#include <memory>

#include <rushgate/open_backend.h>
#include <rushgate/queues.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  auto backend = open_backend(argc > 1 ? argv[1] : "memory:").value();  // or a directory, redis://…
  {
    const std::unique_ptr<Queue> queue = StreamQueue::create(*backend, "mails").value();
    for (const char* mail : {"to 42", "to 43"}) {
      if (!queue->push(mail).ok()) return 1;
    }
    const auto taken = queue->take(/*count_max=*/1, /*wait_ms=*/1'000).value();
    std::printf("%s: taken, then a crash\n", taken[0].body.c_str());
  }
  const auto queue = StreamQueue::create(*backend, "mails").value();
  for (int i = 1; i <= 2; ++i) {
    const auto taken = queue->take(1, 1'000).value();
    const std::size_t done = queue->done(taken).value();
    std::printf("%s: delivery %d, done: %d\n", taken[0].body.c_str(),
                static_cast<int>(taken[0].deliveries), static_cast<int>(done));
  }
}
