#include "apps/audit_text.h"

#include <fmt/format.h>

#include "apps/text_table.h"

namespace rushgate {

using Json = nlohmann::ordered_json;

Json to_json(const AuditReport& report) {
  Json vouchers = Json::array();
  for (const VoucherAudit& audit : report.vouchers) {
    vouchers.push_back({{"voucher", audit.voucher},
                        {"published", audit.published},
                        {"free", audit.free},
                        {"admitted", audit.admitted},
                        {"given_back", audit.given_back},
                        {"created", audit.created},
                        {"queued", audit.queued},
                        {"dead", audit.dead},
                        {"discarded", audit.discarded}});
  }
  return {{"passed", report.passed()},
          {"vouchers", vouchers},
          {"problems", report.problems},
          {"warnings", report.warnings}};
}

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
                               // Older versions wrote no such field.
                               .discarded = voucher.value("discarded", std::int64_t{0})});
  }
  json.at("problems").get_to(report.problems);
  if (json.contains("warnings")) json.at("warnings").get_to(report.warnings);
  return report;
}

std::string format_audit(const AuditReport& report) {
  TextTable table("rrrrrrrrr");
  table.add({"voucher", "published", "free", "admitted", "given back", "created", "queued",
             "dead letters", "discarded"});
  for (const VoucherAudit& audit : report.vouchers) {
    table.add({std::to_string(audit.voucher), grouped(audit.published), grouped(audit.free),
               grouped(audit.admitted), grouped(audit.given_back), grouped(audit.created),
               grouped(audit.queued), grouped(audit.dead), grouped(audit.discarded)});
  }
  std::string text = table.text();
  for (const std::string& warning : report.warnings) text += "warning: " + warning + '\n';
  if (report.passed()) return text + "audit passed: nothing oversold, doubled or lost\n";
  text += fmt::format("audit FAILED: {} problem{}\n", report.problems.size(),
                      report.problems.size() == 1 ? "" : "s");
  for (const std::string& problem : report.problems) text += "  " + problem + '\n';
  return text;
}

}  // namespace rushgate
