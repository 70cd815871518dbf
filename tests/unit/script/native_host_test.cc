#include "engine/redis/script/native_host.h"

#include <array>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/hashes.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/sets.h"
#include "engine/redis/keyspace/strings.h"
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

class NativeHostTest : public ::testing::Test, private CommandCaller {
 protected:
  NativeHostTest() { keyspace_.set_now_ms(kNowMs); }

  Reply run(NativeScript script, const std::vector<std::string_view>& keys = {},
            const std::vector<std::string_view>& arguments = {}) {
    NativeHost host;
    host.add("script", std::move(script));
    return NativeHost::run(*host.find("script"), db(), {keys, arguments, kNowMs, *this});
  }

  /// Runs the script. Expects this error and an unchanged keyspace.
  void expect_undone(NativeScript script, const char* error) {
    const Changes::Savepoint savepoint = keyspace_.changes().savepoint();
    EXPECT_EQ(run(std::move(script)), Reply::error(error));
    EXPECT_FALSE(keyspace_.changes().changed_since(savepoint));
  }

  Database& db() { return keyspace_.db(0); }

  static constexpr std::int64_t kNowMs = 1'700'000'000'123;

  MemoryStore store_;
  Keyspace keyspace_{store_, 7};
  Reply command_reply_ = Reply::ok();
  Request called_;
  bool refuses_growth_ = false;

 private:
  Reply call(RequestView request) override {
    called_ = Request(request);
    return command_reply_;
  }
  [[nodiscard]] bool knows(RequestView) const override { return true; }
  void set_protocol(int) override {}
  [[nodiscard]] bool refuses_growth() const override { return refuses_growth_; }
};

TEST_F(NativeHostTest, FirstScriptOfNameStays) {
  NativeHost host;
  EXPECT_TRUE(host.add("a", [](NativeCall&) { return Reply::integer(1); }));
  const NativeHost::Entry* const first = host.find("a");
  EXPECT_FALSE(host.add("a", [](NativeCall&) { return Reply::integer(2); }));
  EXPECT_TRUE(host.add("b", [](NativeCall&) { return Reply::integer(3); }));
  EXPECT_EQ(host.find("a"), first);
  EXPECT_TRUE(host.knows("b"));
  EXPECT_FALSE(host.knows("A"));
}

TEST_F(NativeHostTest, ScriptSeesKeysAndArguments) {
  const Reply reply = run(
      [](NativeCall& call) {
        return Reply::array({Reply::bulk(call.key(0)), Reply::bulk(call.argument(1)),
                             Reply::integer(static_cast<std::int64_t>(call.key_count())),
                             Reply::integer(static_cast<std::int64_t>(call.argument_count())),
                             Reply::integer(call.now_ms())});
      },
      {"k"}, {"a", "b"});
  EXPECT_EQ(reply, Reply::array({Reply::bulk("k"), Reply::bulk("b"), Reply::integer(1),
                                 Reply::integer(2), Reply::integer(kNowMs)}));
}

TEST_F(NativeHostTest, StringsAreReadAndSet) {
  run([](NativeCall& call) {
    EXPECT_EQ(call.get_integer("s"), std::nullopt);
    EXPECT_EQ(call.increment_by("s", 5), 5);
    EXPECT_EQ(call.increment_by("s", -7), -2);
    EXPECT_EQ(call.get_integer("s"), -2);
    return Reply::ok();
  });
  EXPECT_EQ(db().find("s")->string().bytes(), "-2");
}

TEST_F(NativeHostTest, IncrementKeepsTheExpiry) {
  db().set_expiry(strings::set(db(), "s", StringValue(std::int64_t{1})), kNowMs + 1'000);
  run([](NativeCall& call) { return Reply::integer(call.increment_by("s", 1)); });
  EXPECT_EQ(db().find("s")->expire_at_ms(), kNowMs + 1'000);
}

TEST_F(NativeHostTest, StringsExpire) {
  run([](NativeCall& call) {
    EXPECT_EQ(call.get("s"), std::nullopt);
    call.set_until("s", "a", kNowMs + 10);
    EXPECT_EQ(call.get("s"), "a");
    call.set_until("s", "12", kNowMs + 20);
    EXPECT_EQ(call.get("s"), "12");
    std::string visited;
    const auto visit = [&](std::string_view value) { visited = value; };
    EXPECT_TRUE(call.get("s", visit));
    EXPECT_EQ(visited, "12");
    call.set_until("s", "text", kNowMs + 20);
    EXPECT_TRUE(call.get("s", visit));
    EXPECT_EQ(visited, "text");
    EXPECT_FALSE(call.get("none", visit));
    call.set_until("s", "12", kNowMs + 20);
    call.hash_set("h", "f", "v");
    call.expire_at("h", kNowMs + 30);
    call.hash_set("other", "f", "v");
    call.set_until("other", "now a string", kNowMs + 40);
    return Reply::ok();
  });
  EXPECT_EQ(db().find("s")->expire_at_ms(), kNowMs + 20);
  EXPECT_EQ(db().find("h")->expire_at_ms(), kNowMs + 30);
  EXPECT_EQ(db().find("other")->string().bytes(), "now a string");

  run([](NativeCall& call) -> Reply {
    call.set_until("s", "b", kNowMs + 50);
    call.set_until("new", "b", kNowMs + 50);
    call.set_until("h", "b", kNowMs + 50);
    call.expire_at("other", kNowMs + 50);
    throw ScriptError("ERR no");
  });
  EXPECT_EQ(db().find("s")->string().bytes(), "12");
  EXPECT_EQ(db().find("s")->expire_at_ms(), kNowMs + 20);
  EXPECT_EQ(db().find("new"), nullptr);
  EXPECT_EQ(db().find("h")->expire_at_ms(), kNowMs + 30);
  EXPECT_EQ(db().find("other")->expire_at_ms(), kNowMs + 40);

  expect_undone([](NativeCall& call) { return Reply::bulk(*call.get("h")); },
                "WRONGTYPE Operation against a key holding the wrong kind of value");
  refuses_growth_ = true;
  const Reply refused = run([](NativeCall& call) {
    call.set_until("s", "b", kNowMs + 50);
    return Reply::ok();
  });
  EXPECT_EQ(refused.error_code(), "OOM");
}

TEST_F(NativeHostTest, HashesAreReadAndChanged) {
  run([](NativeCall& call) {
    EXPECT_EQ(call.hash_get("h", "f"), std::nullopt);
    call.hash_set("h", "f", "text");
    EXPECT_EQ(call.hash_get("h", "f"), "text");
    EXPECT_EQ(call.hash_increment_by("h", "n", 3), 3);
    EXPECT_EQ(call.hash_increment_by("h", "n", 4), 7);
    EXPECT_EQ(call.hash_increment_by("other", "n", 4), 4);
    EXPECT_EQ(call.hash_get_integer("h", "n"), 7);
    EXPECT_EQ(call.hash_get_integer("h", "none"), std::nullopt);
    EXPECT_EQ(call.hash_get_integer("none", "n"), std::nullopt);
    const std::string_view fields[] = {"n", "none"};
    std::optional<std::int64_t> values[2] = {1, 1};
    call.hash_get_integers("h", fields, values);
    EXPECT_EQ(values[0], 7);
    EXPECT_EQ(values[1], std::nullopt);
    call.hash_get_integers("none", fields, values);
    EXPECT_EQ(values[0], std::nullopt);
    std::size_t seen = 0;
    call.hash_for_each("h", [&](std::string_view, std::string_view) { ++seen; });
    call.hash_for_each("none", [&](std::string_view, std::string_view) { ++seen; });
    EXPECT_EQ(seen, 2U);
    return Reply::ok();
  });
}

TEST_F(NativeHostTest, SetsAreReadAndChanged) {
  run([](NativeCall& call) {
    EXPECT_FALSE(call.set_contains("m", "1"));
    EXPECT_EQ(call.set_size("m"), 0);
    EXPECT_TRUE(call.set_add("m", "1"));
    EXPECT_FALSE(call.set_add("m", "1"));
    EXPECT_TRUE(call.set_contains("m", "1"));
    EXPECT_EQ(call.set_size("m"), 1);
    return Reply::ok();
  });
}

TEST_F(NativeHostTest, SetAddsIntegersUpToNewMax) {
  run([](NativeCall& call) {
    call.set_add("m", "2");
    const std::vector<std::int64_t> members = {1, 2, 1, 3, 4};
    std::array<bool, 5> is_new{};
    EXPECT_EQ(call.set_add_integers("m", members, 2, is_new), 4U);
    EXPECT_EQ(is_new, (std::array<bool, 5>{true, false, false, true, false}));
    EXPECT_EQ(call.set_size("m"), 3);
    EXPECT_EQ(call.set_add_integers("none", members, 0, is_new), 0U);
    EXPECT_EQ(call.set_add_integers("none", {}, 1, {}), 0U);
    return Reply::ok();
  });
  EXPECT_EQ(db().find("none"), nullptr);
}

TEST_F(NativeHostTest, StreamsTakeRows) {
  static constexpr std::array<std::string_view, 2> kNames = {"userId", "id"};
  run([](NativeCall& call) {
    call.stream_append_rows("x", kNames, std::vector<std::int64_t>{1, 10, 2, 20});
    call.stream_append_rows("none", kNames, {});
    return Reply::ok();
  });
  std::vector<std::string> seen;
  const absl::Status read = db().find("x")->stream().log().read(
      StreamId::min(), StreamId::max(), [&](const StreamEntry& entry) {
        seen.push_back(entry.id().to_string() + " " + entry.value(0) + " " + entry.value(1));
        return true;
      });
  EXPECT_TRUE(read.ok());
  const std::string ms = std::to_string(kNowMs);
  EXPECT_EQ(seen, (std::vector<std::string>{ms + "-0 1 10", ms + "-1 2 20"}));
  EXPECT_EQ(db().find("none"), nullptr);
}

TEST_F(NativeHostTest, StreamsAssignAscendingIds) {
  run([](NativeCall& call) {
    const NativeCall::Field fields[] = {{"userId", "1"}, {"voucherId", "2"}};
    EXPECT_EQ(call.stream_append("x", fields), (StreamId{kNowMs, 0}));
    EXPECT_EQ(call.stream_append("x", fields), (StreamId{kNowMs, 1}));
    return Reply::ok();
  });
  EXPECT_EQ(db().find("x")->type(), ValueType::kStream);
}

TEST_F(NativeHostTest, StreamsAreReadInPortions) {
  static constexpr std::array<std::string_view, 3> kNames = {"user", "none", "id"};
  std::vector<std::string> seen;
  const auto text_of = [](const NativeCall::StreamValue& value) -> std::string {
    if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
      return "#" + std::to_string(*integer);
    }
    const auto* const text = std::get_if<std::string_view>(&value);
    return text != nullptr ? std::string(*text) : "-";
  };
  const auto visit = [&](StreamId id, std::span<const NativeCall::StreamValue> values) {
    seen.push_back(std::to_string(id.seq));
    for (const auto& value : values) seen.back() += " " + text_of(value);
  };
  run([&](NativeCall& call) {
    for (const char* const user : {"1", "ann", "3"}) {
      const NativeCall::Field fields[] = {{"id", "9"}, {"user", user}, {"id", "10"}};
      call.stream_append("x", fields);
    }
    call.stream_for_each("none", {}, 10, kNames, visit);
    call.stream_for_each("x", {}, 0, kNames, visit);
    EXPECT_TRUE(seen.empty());
    call.stream_for_each("x", {}, 2, kNames, visit);
    call.stream_for_each("x", {kNowMs, 1}, 2, kNames, visit);
    call.stream_for_each("x", StreamId::max(), 2, kNames, visit);
    return Reply::ok();
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"0 #1 - #10", "1 ann - #10", "2 3 - #10"}));
}

TEST_F(NativeHostTest, CommandsReplyInResp2AndErrorsAreValues) {
  command_reply_ = Reply::map({Reply::bulk("f"), Reply::bulk("v")});
  EXPECT_EQ(run([](NativeCall& call) { return call.call(Request::of("HGETALL", "h")); }),
            Reply::array({Reply::bulk("f"), Reply::bulk("v")}));
  EXPECT_EQ(called_, Request::of("HGETALL", "h"));
  command_reply_ = Reply::error("ERR x");
  EXPECT_EQ(run([](NativeCall& call) {
              return Reply::integer(call.call(Request::of("X")).is_error() ? 1 : 0);
            }),
            Reply::integer(1));
}

TEST_F(NativeHostTest, SortedSetsAreReadAndChanged) {
  run([](NativeCall& call) {
    EXPECT_EQ(call.sorted_set_size("z"), 0);
    EXPECT_FALSE(call.sorted_set_scores("z").has_value());
    EXPECT_EQ(call.sorted_set_remove_up_to("z", 5), 0U);
    EXPECT_TRUE(call.sorted_set_add("z", "b", 2));
    EXPECT_TRUE(call.sorted_set_add("z", "a", 1));
    EXPECT_TRUE(call.sorted_set_add("z", "c", 3));
    EXPECT_FALSE(call.sorted_set_add("z", "c", 7)) << "it already exists";
    EXPECT_EQ(call.sorted_set_size("z"), 3);
    return Reply::ok();
  });
  run([](NativeCall& call) {
    const auto scores = call.sorted_set_scores("z");
    EXPECT_EQ(scores->lowest, 1);
    EXPECT_EQ(scores->greatest, 3);
    EXPECT_EQ(call.sorted_set_remove_up_to("z", 0), 0U);
    EXPECT_EQ(call.sorted_set_remove_up_to("z", 2), 2U) << "the bound is inclusive";
    EXPECT_EQ(call.sorted_set_scores("z")->lowest, 3);
    return Reply::ok();
  });
  run([](NativeCall& call) -> Reply {
    EXPECT_EQ(call.sorted_set_remove_up_to("z", 9), 1U);
    EXPECT_TRUE(call.sorted_set_add("z", "d", 4)) << "the key was created again";
    EXPECT_EQ(call.sorted_set_remove_up_to("z", 9), 1U);
    throw ScriptError("ERR no");
  });
  const SortedSetValue& value = db().find("z")->sorted_set();
  EXPECT_EQ(value.size(), 1U);
  EXPECT_EQ(value.score("c"), 3);

  refuses_growth_ = true;
  const Reply refused =
      run([](NativeCall& call) { return Reply::boolean(call.sorted_set_add("z", "e", 5)); });
  EXPECT_EQ(refused.error_code(), "OOM");
}

TEST_F(NativeHostTest, ElementsAreRemovedWithTheirKeys) {
  run([](NativeCall& call) {
    EXPECT_FALSE(call.hash_remove("h", "f"));
    EXPECT_FALSE(call.set_remove("m", "1"));
    EXPECT_FALSE(call.sorted_set_remove("z", "a"));
    EXPECT_FALSE(call.sorted_set_at("z", 0, [](std::string_view, double) { ADD_FAILURE(); }));
    call.hash_set("h", "f", "v");
    call.hash_set("h", "g", "v");
    call.set_add("m", MaybeInteger("1"));
    call.sorted_set_add("z", "a", 2);
    EXPECT_TRUE(call.sorted_set_at("z", 0, [](std::string_view member, double score) {
      EXPECT_EQ(member, "a");
      EXPECT_EQ(score, 2);
    }));
    EXPECT_FALSE(call.sorted_set_at("z", 1, [](std::string_view, double) { ADD_FAILURE(); }));
    return Reply::ok();
  });
  run([](NativeCall& call) {
    EXPECT_TRUE(call.hash_remove("h", "f"));
    EXPECT_FALSE(call.hash_remove("h", "f"));
    EXPECT_TRUE(call.set_remove("m", "1"));
    EXPECT_TRUE(call.sorted_set_remove("z", "a"));
    return Reply::ok();
  });
  EXPECT_EQ(db().find("h")->hash().find("g"), "v");
  EXPECT_EQ(db().find("m"), nullptr);
  EXPECT_EQ(db().find("z"), nullptr);
  run([](NativeCall& call) -> Reply {
    EXPECT_TRUE(call.hash_remove("h", "g"));
    throw ScriptError("ERR no");
  });
  EXPECT_EQ(db().find("h")->hash().find("g"), "v");
}

TEST_F(NativeHostTest, WrongTypesAreErrors) {
  strings::set(db(), "s", StringValue(std::int64_t{1}));
  sets::add(db(), sets::create(db(), "m"), "1");
  constexpr const char* kWrongType =
      "WRONGTYPE Operation against a key holding the wrong kind of value";
  const NativeCall::Field field[] = {{"f", "v"}};
  const NativeScript scripts[] = {
      [](NativeCall& call) { return Reply::integer(*call.get_integer("m")); },
      [](NativeCall& call) { return Reply::integer(call.increment_by("m", 1)); },
      [](NativeCall& call) { return Reply::bulk(*call.hash_get("s", "f")); },
      [](NativeCall& call) { return Reply::integer(*call.hash_get_integer("s", "f")); },
      [](NativeCall& call) {
        call.hash_get_integers("s", {}, {});
        return Reply::ok();
      },
      [](NativeCall& call) {
        call.hash_set("s", "f", "v");
        return Reply::ok();
      },
      [](NativeCall& call) { return Reply::integer(call.hash_increment_by("s", "f", 1)); },
      [](NativeCall& call) {
        call.hash_for_each("s", [](std::string_view, std::string_view) {});
        return Reply::ok();
      },
      [](NativeCall& call) { return Reply::boolean(call.set_contains("s", "1")); },
      [](NativeCall& call) { return Reply::boolean(call.set_add("s", "1")); },
      [](NativeCall& call) { return Reply::integer(call.set_size("s")); },
      [&](NativeCall& call) { return Reply::bulk(call.stream_append("s", field).to_string()); },
      [](NativeCall& call) {
        call.get("m", [](std::string_view) {});
        return Reply::ok();
      },
      [](NativeCall& call) { return Reply::integer(call.sorted_set_size("s")); },
      [](NativeCall& call) { return Reply::real(call.sorted_set_scores("s")->lowest); },
      [](NativeCall& call) { return Reply::boolean(call.sorted_set_add("s", "m", 1)); },
      [](NativeCall& call) {
        call.sorted_set_remove_up_to("s", 1);
        return Reply::ok();
      },
      [](NativeCall& call) {
        call.set_add_integers("s", {}, 1, {});
        return Reply::ok();
      },
      [](NativeCall& call) {
        call.stream_append_rows("s", std::vector<std::string_view>{"f"}, {});
        return Reply::ok();
      },
      [](NativeCall& call) {
        call.stream_for_each("s", {}, 1, {}, [](auto, auto) {});
        return Reply::ok();
      },
  };
  for (const NativeScript& script : scripts) expect_undone(script, kWrongType);
}

TEST_F(NativeHostTest, WrongNumbersAreErrors) {
  strings::set(db(), "s", StringValue("text"));
  strings::set(db(), "max", StringValue(std::numeric_limits<std::int64_t>::max()));
  Object& hash = hashes::create(db(), "h");
  hashes::set(db(), hash, "f", "text");
  hashes::set(db(), hash, "min", "-9223372036854775808");
  expect_undone([](NativeCall& call) { return Reply::integer(*call.get_integer("s")); },
                "ERR value is not an integer or out of range");
  expect_undone([](NativeCall& call) { return Reply::integer(call.increment_by("s", 1)); },
                "ERR value is not an integer or out of range");
  expect_undone([](NativeCall& call) { return Reply::integer(call.increment_by("max", 1)); },
                "ERR increment or decrement would overflow");
  expect_undone([](NativeCall& call) { return Reply::integer(*call.hash_get_integer("h", "f")); },
                "ERR hash value is not an integer");
  expect_undone(
      [](NativeCall& call) { return Reply::integer(call.hash_increment_by("h", "f", 1)); },
      "ERR hash value is not an integer");
  expect_undone(
      [](NativeCall& call) { return Reply::integer(call.hash_increment_by("h", "min", -1)); },
      "ERR increment or decrement would overflow");
}

TEST_F(NativeHostTest, ExceptionUndoesEverything) {
  strings::set(db(), "s", StringValue(std::int64_t{1}));
  const auto write = [](NativeCall& call) {
    call.increment_by("s", 1);
    call.increment_by("new", 1);
    call.hash_set("h", "f", "v");
    call.set_add("m", "1");
    const NativeCall::Field field[] = {{"f", "v"}};
    call.stream_append("x", field);
    std::array<bool, 2> is_new{};
    call.set_add_integers("m", std::vector<std::int64_t>{1, 2}, 2, is_new);
    call.set_add_integers("n", std::vector<std::int64_t>{1, 2}, 2, is_new);
    call.stream_append_rows("x", std::vector<std::string_view>{"f"}, std::vector<std::int64_t>{1});
  };
  expect_undone(
      [&](NativeCall& call) -> Reply {
        write(call);
        throw ScriptError("SALECLOSED the sale is over");
      },
      "SALECLOSED the sale is over");
  expect_undone(
      [&](NativeCall& call) -> Reply {
        write(call);
        throw std::runtime_error("boom");
      },
      "ERR Error running script script, boom");
  expect_undone(
      [&](NativeCall& call) -> Reply {
        write(call);
        throw std::bad_alloc();
      },
      "ERR Error running script script, std::bad_alloc");
  expect_undone(
      [&](NativeCall& call) -> Reply {
        write(call);
        throw 1;
      },
      "ERR Error running script script, unknown exception");
  EXPECT_EQ(db().size(), 1U);
  EXPECT_EQ(db().find("s")->string().integer(), 1);
}

TEST_F(NativeHostTest, ReturnedErrorUndoesNothing) {
  EXPECT_EQ(run([](NativeCall& call) {
              call.increment_by("s", 1);
              return Reply::error("SOLDOUT none left");
            }),
            Reply::error("SOLDOUT none left"));
  EXPECT_EQ(db().find("s")->string().integer(), 1);
}

TEST_F(NativeHostTest, CaughtErrorUndoesNothing) {
  sets::add(db(), sets::create(db(), "m"), "1");
  EXPECT_EQ(run([](NativeCall& call) {
              call.increment_by("s", 1);
              try {
                call.increment_by("m", 1);
              } catch (const ScriptError&) {
              }
              return Reply::ok();
            }),
            Reply::ok());
  EXPECT_EQ(db().find("s")->string().integer(), 1);
}

TEST_F(NativeHostTest, ShortMemoryRefusesGrowingOperations) {
  strings::set(db(), "s", StringValue(std::int64_t{1}));
  sets::add(db(), sets::create(db(), "m"), "1");
  refuses_growth_ = true;
  constexpr const char* kRefusal = "OOM command not allowed when used memory > 'maxmemory'.";
  const NativeScript scripts[] = {
      [](NativeCall& call) { return Reply::integer(call.increment_by("s", 1)); },
      [](NativeCall& call) { return call.hash_set("h", "f", "v"), Reply::ok(); },
      [](NativeCall& call) { return Reply::integer(call.hash_increment_by("h", "f", 1)); },
      [](NativeCall& call) { return Reply::boolean(call.set_add("m", "2")); },
      [](NativeCall& call) { return Reply::boolean(call.set_add("none", "2")); },
      [](NativeCall& call) {
        const std::int64_t members[] = {2};
        bool is_new[] = {false};
        call.set_add_integers("m", members, 1, is_new);
        return Reply::ok();
      },
      [](NativeCall& call) {
        const NativeCall::Field fields[] = {{"f", "v"}};
        call.stream_append("x", fields);
        return Reply::ok();
      },
      [](NativeCall& call) {
        const std::string_view names[] = {"f"};
        const std::int64_t values[] = {1};
        call.stream_append_rows("x", names, values);
        return Reply::ok();
      },
  };
  for (const NativeScript& script : scripts) expect_undone(script, kRefusal);
  EXPECT_EQ(run([](NativeCall& call) {
              EXPECT_FALSE(call.set_add("m", "1")) << "it is already a member";
              return Reply::integer(*call.get_integer("s"));
            }),
            Reply::integer(1));
}

}  // namespace
}  // namespace rushgate
