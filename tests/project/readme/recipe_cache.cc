#include <cstdio>
#include <string>

#include <rushgate/cache.h>
#include <rushgate/open_backend.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  auto backend = open_backend(argc > 1 ? argv[1] : "memory:").value();  // or a directory, redis://…
  const auto cache = Cache::create(*backend, {.key_prefix = "cache:", .ttl_ms = 60'000}).value();
  std::string row = "Coffee House";  // in a database
  const auto load = [&]() -> absl::StatusOr<Cache::Value> {
    std::printf("reads the database\n");
    return row;  // or std::nullopt: there is no such row
  };
  for (int i = 1; i <= 2; ++i) {
    std::printf("%s\n", cache->get_or_load("shop:1", load).value().value_or("none").c_str());
  }
  row = "Tea House";                                // commit the change first …
  if (!cache->invalidate("shop:1").ok()) return 1;  // … then remove the old value
  std::printf("%s\n", cache->get_or_load("shop:1", load).value().value_or("none").c_str());
}
