#include <cstdio>
#include <memory>

#include <rushgate/ids.h>
#include <rushgate/open_backend.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  auto backend = open_backend(argc > 1 ? argv[1] : "memory:").value();  // or a directory, redis://…
  auto ids = IdGenerator::open(*backend, IdOptions::of("coupon")).value();
  const std::int64_t first = ids->next_id().value();
  const std::int64_t second = ids->next_id().value();

  const IdScrambler scrambler = IdScrambler::create("16 secret bytes!").value();
  const std::int64_t shown = scrambler.scramble(second);
  std::printf("ascending: %d, back again: %d\n", first < second,
              scrambler.unscramble(shown) == second);
}
