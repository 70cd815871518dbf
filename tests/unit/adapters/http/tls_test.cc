// TLS, as curl speaks it.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/certificates.h"
#include "tests/support/command_output.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/adapters/http/served_sale.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;

class HttpTlsTest : public ::testing::Test {
 protected:
  static HttpServerOptions options_in(const std::filesystem::path& dir) {
    testing::write_certificates(dir);
    HttpServerOptions options;
    options.tls_certificate = dir / "server.pem";
    options.tls_key = dir / "server.key";
    return options;
  }
  /// Returns what curl prints for some requests on one connection.
  [[nodiscard]] static std::string curl(const ServedSale& served, const std::filesystem::path& ca) {
    const std::string url = "https://localhost:" + std::to_string(served.server().port());
    return testing::output_of("curl -sS --cacert " + ca.string() + " " + url + "/healthz " + url +
                              "/v1/vouchers");
  }

  const TemporaryDirectory directory_;
};

TEST_F(HttpTlsTest, CurlGetsReplies) {
  const ServedSale served(options_in(directory_.path()));
  const std::string output = curl(served, directory_.path() / "ca.pem");
  EXPECT_THAT(output, HasSubstr(R"({"status":"ok"})"));
  EXPECT_THAT(output, HasSubstr(R"({"vouchers":[],"next":null})"));
}

TEST_F(HttpTlsTest, ClientWithoutTlsIsClosed) {
  const ServedSale served(options_in(directory_.path()));
  HttpConnection connection = served.connect();
  connection.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(connection.receive_all().find("200 OK"), std::string::npos);
}

TEST_F(HttpTlsTest, NewCertificateIsReloaded) {
  const ServedSale served(options_in(directory_.path()));
  const std::filesystem::path old_ca = directory_.path() / "old.pem";
  std::filesystem::copy(directory_.path() / "ca.pem", old_ca);
  std::filesystem::remove(directory_.path() / "server.key");
  EXPECT_FALSE(served.server().reload_certificate().ok());
  EXPECT_THAT(curl(served, old_ca), HasSubstr("ok"));
  testing::write_certificates(directory_.path());
  EXPECT_TRUE(served.server().reload_certificate().ok());
  EXPECT_THAT(curl(served, directory_.path() / "ca.pem"), HasSubstr("ok"));
  EXPECT_THAT(curl(served, old_ca), HasSubstr("curl: ("));
}

TEST_F(HttpTlsTest, UnusableCertificateIsRefused) {
  const auto sale = FlashSale::open("memory:").value();
  HttpServerOptions options;
  options.port = 0;
  options.tls_certificate = directory_.path() / "none.pem";
  EXPECT_THAT(std::string(HttpServer::start(*sale, options).status().message()),
              HasSubstr("belong together"));
  options.tls_key = directory_.path() / "none.key";
  EXPECT_THAT(std::string(HttpServer::start(*sale, options).status().message()),
              HasSubstr("none.pem: "));
}

}  // namespace
}  // namespace rushgate
