#include "apps/audit_text.h"

#include <fmt/format.h>

#include "apps/text_table.h"

namespace rushgate {

using Json = nlohmann::ordered_json;

namespace {

MoneyAudit money_from_json(const Json& json) {
  return {.received = json.at("received"),
          .kept = json.at("kept"),
          .due = json.at("due"),
          .refunded = json.at("refunded")};
}

/// Returns a line, or nothing if no payment was received.
std::string format_money(const MoneyAudit& money) {
  if (money == MoneyAudit{}) return {};
  return fmt::format("money in cents: received {} = kept {} + due {} + refunded {}\n",
                     grouped(money.received), grouped(money.kept), grouped(money.due),
                     grouped(money.refunded));
}

}  // namespace

AuditReport audit_from_json(const Json& json) {
  AuditReport report;
  for (const Json& voucher : json.at("vouchers")) {
    report.vouchers.push_back({.voucher = voucher.at("voucher"),
                               .published = voucher.at("published"),
                               .free = voucher.at("free"),
                               .admitted = voucher.at("admitted"),
                               .given_back = voucher.at("given_back"),
                               .created = voucher.at("created"),
                               .queued = voucher.at("queued"),
                               .dead = voucher.at("dead"),
                               // Older versions wrote none of these fields.
                               .discarded = voucher.value("discarded", std::int64_t{0}),
                               .withheld = voucher.value("withheld", std::int64_t{0}),
                               .unpaid = voucher.value("unpaid", std::int64_t{0}),
                               .ended = voucher.value("ended", std::int64_t{0})});
  }
  if (json.contains("money")) report.money = money_from_json(json.at("money"));
  json.at("problems").get_to(report.problems);
  if (json.contains("warnings")) json.at("warnings").get_to(report.warnings);
  return report;
}

std::string format_audit(const AuditReport& report) {
  TextTable table("rrrrrrrrrrrr");
  table.add({"voucher", "published", "free", "admitted", "given back", "withheld", "unpaid",
             "created", "queued", "dead letters", "discarded", "ended"});
  for (const VoucherAudit& audit : report.vouchers) {
    table.add({std::to_string(audit.voucher), grouped(audit.published), grouped(audit.free),
               grouped(audit.admitted), grouped(audit.given_back), grouped(audit.withheld),
               grouped(audit.unpaid), grouped(audit.created), grouped(audit.queued),
               grouped(audit.dead), grouped(audit.discarded), grouped(audit.ended)});
  }
  std::string text = table.text() + format_money(report.money);
  for (const std::string& repair : report.repairs) text += "repaired: " + printable(repair) + '\n';
  for (const std::string& warning : report.warnings)
    text += "warning: " + printable(warning) + '\n';
  if (report.passed()) return text + "audit passed: nothing oversold, doubled or lost\n";
  text += fmt::format("audit FAILED: {} problem{}\n", report.problems.size(),
                      report.problems.size() == 1 ? "" : "s");
  for (const std::string& problem : report.problems) text += "  " + printable(problem) + '\n';
  return text;
}

}  // namespace rushgate
