#include "apps/comparison/job.h"

#include <nlohmann/json.hpp>

#include "adapters/flash_sale/json_text.h"

namespace rushgate::comparison {

using Json = nlohmann::ordered_json;

std::string Job::line() const {
  return Json{{"strategy", strategy},
              {"dir", dir.string()},
              {"keyspace_url", keyspace_url},
              {"prefix", prefix},
              {"users", users},
              {"stock", stock},
              {"threads", threads},
              {"seed", seed},
              {"schedule", static_cast<int>(schedule)},
              {"will_happen", will_happen},
              {"publish", publish},
              {"kill_after", kill_after},
              {"part", part},
              {"parts", parts},
              {"shared_fd", shared_fd}}
      .dump();
}

Job Job::from_line(const std::string& line) {
  const Json fields = parse_trusted_json(line);
  return {.strategy = fields.at("strategy"),
          .dir = fields.at("dir").get<std::string>(),
          .keyspace_url = fields.at("keyspace_url"),
          .prefix = fields.at("prefix"),
          .users = fields.at("users"),
          .stock = fields.at("stock"),
          .threads = fields.at("threads"),
          .seed = fields.at("seed"),
          .schedule = static_cast<strategies::ScheduleKind>(fields.at("schedule").get<int>()),
          .will_happen = fields.at("will_happen"),
          .publish = fields.at("publish"),
          .kill_after = fields.at("kill_after"),
          .part = fields.at("part"),
          .parts = fields.at("parts"),
          .shared_fd = fields.at("shared_fd")};
}

std::string JobResult::line() const {
  return Json{{"served", served},        {"turned_away", turned_away}, {"sold_out", sold_out},
              {"seconds", seconds},      {"p50_ns", p50_ns},           {"p99_ns", p99_ns},
              {"stock_left", stock_left}}
      .dump();
}

JobResult JobResult::from_line(const std::string& line) {
  const Json fields = parse_trusted_json(line);
  return {.served = fields.at("served"),
          .turned_away = fields.at("turned_away"),
          .sold_out = fields.at("sold_out"),
          .seconds = fields.at("seconds"),
          .p50_ns = fields.at("p50_ns"),
          .p99_ns = fields.at("p99_ns"),
          .stock_left = fields.at("stock_left")};
}

}  // namespace rushgate::comparison
