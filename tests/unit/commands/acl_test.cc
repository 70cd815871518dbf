#include <set>
#include <string>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

class AclTest : public CommandTest {};

constexpr const char* kDigestOfSecret =
    "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

TEST_F(AclTest, PasswordOfServerIsShownAsDigest) {
  session().password = "secret";
  EXPECT_EQ(text("ACL", "LIST"),
            std::string(R"(["user default on #)") + kDigestOfSecret + R"( ~* &* +@all"])");
  const Reply user = run("ACL", "GETUSER", "default");
  EXPECT_EQ(user.elements()[1], Reply::set({Reply::bulk("on")}));
  EXPECT_EQ(user.elements()[3], Reply::array({Reply::bulk(kDigestOfSecret)}));
}

TEST_F(AclTest, SetuserAcceptsOnlyRulesThatHold) {
  EXPECT_EQ(text("ACL", "SETUSER", "default", "on", "nopass", "~*", "+@all"), "OK");
  for (const char* const rule :
       {"off", "resetpass", "reset", ">secret", "#ab", "-get", "+get", "~a", "%R~*", "(+get)"}) {
    EXPECT_EQ(text("ACL", "SETUSER", "default", "on", rule),
              std::string("(error) ERR Error in ACL SETUSER modifier '") + rule +
                  "': the only user may do everything, and its password is an option of the server")
        << rule;
  }
  EXPECT_EQ(text("ACL", "SETUSER", "default", "foo"),
            "(error) ERR Error in ACL SETUSER modifier 'foo': Syntax error");
}

TEST_F(AclTest, SetuserAcceptsSamePassword) {
  session().password = "secret";
  EXPECT_EQ(text("ACL", "SETUSER", "default", ">secret"), "OK");
  EXPECT_EQ(text("ACL", "SETUSER", "default", std::string("#") + kDigestOfSecret), "OK");
  EXPECT_TRUE(run("ACL", "SETUSER", "default", ">other").is_error());
  EXPECT_TRUE(run("ACL", "SETUSER", "default", ">").is_error());
  EXPECT_TRUE(run("ACL", "SETUSER", "default", "nopass").is_error());
}

TEST_F(AclTest, SetuserRefusesOtherUsers) {
  EXPECT_EQ(text("ACL", "SETUSER", "alice", "on"),
            "(error) ERR there is one user only, 'default', and no other can be created");
}

/// Returns the reply of ACL GENPASS. (run() would compare two random ones.)
Reply password(CommandServices& services, Session& session, int bits) {
  const Request request = Request::of("ACL", "GENPASS", bits);
  CommandContext context(services, session, request, CommandContext::Origin::kClient, false);
  return run_command(context);
}

TEST_F(AclTest, GenpassRoundsUpToDigits) {
  const auto digits = [this](int bits) {
    return password(services(), session(), bits).text().size();
  };
  EXPECT_EQ(digits(1), 1U);
  EXPECT_EQ(digits(4), 1U);
  EXPECT_EQ(digits(5), 2U);
  EXPECT_EQ(digits(256), 64U);
  EXPECT_EQ(digits(4'096), 1'024U);
}

TEST_F(AclTest, GenpassNeverRepeatsPassword) {
  std::set<std::string> passwords;
  for (int i = 0; i < 100; ++i) {
    const std::string made = password(services(), session(), 256).text();
    EXPECT_EQ(made.find_first_not_of("0123456789abcdef"), std::string::npos) << made;
    EXPECT_TRUE(passwords.insert(made).second) << made;
  }
}

}  // namespace
}  // namespace rushgate
