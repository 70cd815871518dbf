#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/client.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

TEST(ScriptTest, NameIsSha1OfSource) {
  const Script script("return 1", "native");
  EXPECT_EQ(script.text(), "return 1");
  EXPECT_EQ(script.sha1(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
  EXPECT_EQ(script.native_name(), "native");
  EXPECT_EQ(Script("return 1").native_name(), "");
}

TEST(ScriptTest, RequestCountsItsKeys) {
  const std::string_view keys[] = {"k1", "k2"};
  const std::string_view arguments[] = {"a"};
  EXPECT_EQ(make_script_request("EVALSHA", "abc", keys, arguments),
            Request::of("EVALSHA", "abc", 2, "k1", "k2", "a"));
  EXPECT_EQ(make_script_request("EVAL", "return 1", {}, {}), Request::of("EVAL", "return 1", 0));
}

/// Replies as a server that may or may not know the script. Records the commands that it receives.
class FakeClient final : public Client {
 public:
  explicit FakeClient(bool knows_script) : knows_script_(knows_script) {}

  void submit(Request request, Completion completion) override { completion(answer(request)); }
  Reply call(Request request) override { return answer(request); }
  std::vector<Reply> pipeline(std::span<const Request> requests) override {
    std::vector<Reply> replies;
    replies.reserve(requests.size());
    for (const Request& request : requests) replies.push_back(answer(request));
    return replies;
  }
  void unblock() override {}
  Reply sync() override { return Reply::ok(); }

  std::vector<std::string> asked;
  std::string load_error = {};
  int times_forgotten = 0;  // directly after loading

 private:
  Reply answer(const Request& request) {
    asked.emplace_back(request[0]);
    if (request[0] == "EVALSHA" && !knows_script_)
      return Reply::error("NOSCRIPT No matching script. Please use EVAL.");
    if (request[0] == "SCRIPT" && !load_error.empty()) return Reply::error(load_error);
    if (request[0] == "EVAL" || request[0] == "SCRIPT") knows_script_ = --times_forgotten < 0;
    return Reply::bulk(request[request.size() - 1]);
  }

  bool knows_script_;
};

TEST(RunScriptTest, KnownScriptRunsByName) {
  FakeClient client(true);
  const std::string_view arguments[] = {"x"};
  EXPECT_EQ(client.run(Script("return ARGV[1]"), {}, arguments), Reply::bulk("x"));
  EXPECT_EQ(client.asked, (std::vector<std::string>{"EVALSHA"}));
}

TEST(RunScriptTest, UnknownScriptIsSentOnce) {
  FakeClient client(false);
  const Script script("return ARGV[1]");
  const std::string_view arguments[] = {"x"};
  EXPECT_EQ(client.run(script, {}, arguments), Reply::bulk("x"));
  EXPECT_EQ(client.run(script, {}, arguments), Reply::bulk("x"));
  EXPECT_EQ(client.asked, (std::vector<std::string>{"EVALSHA", "EVAL", "EVALSHA"}));
}

std::vector<Request> two_requests(const Client& client, const Script& script) {
  const std::string_view first[] = {"1"};
  const std::string_view second[] = {"2"};
  std::vector<Request> requests;
  requests.push_back(client.script_request(script, {}, first));
  requests.push_back(client.script_request(script, {}, second));
  return requests;
}

TEST(RunScriptTest, PipelineLoadsScriptOnceAndRetriesInOrder) {
  FakeClient client(false);
  const Script script("return ARGV[1]");
  const std::vector<Reply> expected = {Reply::bulk("1"), Reply::bulk("2")};
  EXPECT_EQ(client.run_all(script, two_requests(client, script)), expected);
  EXPECT_EQ(client.asked,
            (std::vector<std::string>{"EVALSHA", "EVALSHA", "SCRIPT", "EVALSHA", "EVALSHA"}));
}

TEST(RunScriptTest, FailedLoadingIsTheReply) {
  const Script script("return ARGV[1]");
  for (const auto& [error, code] : {std::pair("ERR no", "ERR"), std::pair("CLOSED", "CLOSED"),
                                    std::pair("OUTCOMEUNKNOWN lost", "CLOSED")}) {
    FakeClient client(false);
    client.load_error = error;
    const std::vector<Reply> replies = client.run_all(script, two_requests(client, script));
    ASSERT_EQ(replies.size(), 2U);
    EXPECT_EQ(replies[0].error_code(), code);
    EXPECT_EQ(replies[1].error_code(), code);
    const auto make = [&] { return client.script_request(script, {}, {}); };
    EXPECT_EQ(client.run(script, make).error_code(), code);
  }
}

TEST(RunScriptTest, ScriptForgottenAfterLoadingIsLoadedAgain) {
  const Script script("return ARGV[1]");
  const std::vector<Reply> expected = {Reply::bulk("1"), Reply::bulk("2")};
  FakeClient client(false);
  client.times_forgotten = 2;
  EXPECT_EQ(client.run_all(script, two_requests(client, script)), expected);
  FakeClient another(false);
  another.times_forgotten = 2;
  const std::string_view arguments[] = {"x"};
  const auto make = [&] { return another.script_request(script, {}, arguments); };
  EXPECT_EQ(another.run(script, make), Reply::bulk("x"));
  FakeClient forgetful(false);
  forgetful.times_forgotten = 100;
  const auto replies = forgetful.run_all(script, two_requests(forgetful, script));
  EXPECT_EQ(replies[0].error_code(), "NOSCRIPT") << "the last retry";
}

TEST(RunScriptTest, SubmittedScriptIsSentInFullOnce) {
  FakeClient client(false);
  const Script script("return ARGV[1]");
  const std::string_view arguments[] = {"x"};
  std::vector<Reply> replies;
  for (int i = 0; i < 2; ++i) {
    client.submit_script(script, {}, arguments,
                         [&](Reply reply) { replies.push_back(std::move(reply)); });
  }
  EXPECT_EQ(replies, std::vector<Reply>(2, Reply::bulk("x")));
  EXPECT_EQ(client.asked, (std::vector<std::string>{"EVALSHA", "EVAL", "EVALSHA"}));
}

TEST(CallTest, WritesItsArgumentsAsARequest) {
  FakeClient client(true);
  EXPECT_EQ(client("SET", "key", 5), Reply::bulk("5"));
}

}  // namespace
}  // namespace rushgate
