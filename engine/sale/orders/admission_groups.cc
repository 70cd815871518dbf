#include "engine/sale/orders/admission_groups.h"

#include <utility>
#include <vector>

#include "engine/core/client/thread_wait.h"

namespace rushgate {

/// The callers of one request. Lives on the stack of the first, which is resumed last.
class AdmissionGroups::Group final : public LateRequest {
 public:
  /// Lives on the caller's stack.
  struct Caller {
    Buyer buyer;
    WaitMethod::Event* resumed = nullptr;  // set once the reply is there
    Caller* next = nullptr;                // the caller that came before
    Reply reply = {};
  };

  Group(AdmissionGroups& groups, VoucherId voucher) : groups_(groups), voucher_(voucher) {}

  /// Returns true if the group is now full. The mutex must be held.
  bool add(Caller& caller) {
    caller.next = std::exchange(last_, &caller);
    return ++size_ == kBuyersMax;
  }

  Request make() override {
    close();
    std::vector<Buyer> buyers(size_);
    std::size_t position = size_;
    for (const Caller* caller = last_; caller != nullptr; caller = caller->next) {
      buyers[--position] = caller->buyer;
    }
    return groups_.requests_.make({.voucher = voucher_}, buyers);
  }

  void complete(Reply reply) override {
    close();
    const bool is_list = size_ > 1 && reply.is_aggregate() && reply.elements().size() == size_;
    std::size_t position = size_;
    for (Caller* caller = last_; caller != nullptr;) {
      Caller& served = *caller;
      caller = caller->next;  // the caller is gone once it is resumed
      --position;
      served.reply = is_list ? reply.elements()[position] : reply;
      served.resumed->happen();
    }
  }

 private:
  /// Admits no more callers.
  void close() {
    const std::lock_guard lock(groups_.mutex_);
    const auto found = groups_.open_.find(voucher_);
    if (found != groups_.open_.end() && found->second == this) groups_.open_.erase(found);
  }

  AdmissionGroups& groups_;
  const VoucherId voucher_;
  Caller* last_ = nullptr;
  std::size_t size_ = 0;
};

AdmissionGroups::AdmissionGroups(Client& client, const AdmissionRequests& requests,
                                 const WaitMethod* wait)
    : requests_(requests), client_(client), wait_(wait_method(wait)) {}

Reply AdmissionGroups::admit(VoucherId voucher, const Buyer& buyer) {
  Group::Caller self{.buyer = buyer};
  Group own(*this, voucher);
  wait_.wait([&](WaitMethod::Event& resumed) {
    self.resumed = &resumed;
    {
      const std::lock_guard lock(mutex_);
      const auto [place, is_first] = open_.try_emplace(voucher, &own);
      const bool is_full = place->second->add(self);
      if (is_full) open_.erase(place);
      if (!is_first) return;
    }
    client_.submit_late(own);
  });
  return std::move(self.reply);
}

}  // namespace rushgate
