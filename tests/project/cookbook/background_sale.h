// Opens a sale whose threads have a lower priority than the frame thread.
#pragma once

#include <sys/resource.h>

#include <memory>
#include <string>
#include <thread>

#include <rushgate/flash_sale.h>

/// A thread inherits the priority of the thread that creates it, so a thread of low priority opens
/// the sale. The kernel then runs the frame thread as soon as its frame begins. With equal
/// priorities, it may first let a thread of the sale use the rest of its time slice.
inline std::unique_ptr<rushgate::FlashSale> open_in_background(const std::string& dir_or_url) {
  constexpr int kNice = 5;
  std::unique_ptr<rushgate::FlashSale> sale;
  std::thread([&] {
    (void)setpriority(PRIO_PROCESS, 0, kNice);  // of this thread, on Linux
    sale = rushgate::FlashSale::open(dir_or_url).value();
  }).join();
  return sale;
}
