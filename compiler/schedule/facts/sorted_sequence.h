// Sorted sequences that states share: inserting and erasing one item copies only the pieces around it.
#pragma once

#include <span>

#include "ir/sequence.h"

namespace loopsmith::schedule {

template <class T>
void insert_sorted(Sequence<T>& all, const T& item) {
  size_t at = all.lower_bound([&](const T& other) { return other < item; });
  all = all.spliced(at, at, std::span(&item, 1));
}

/// Does nothing if the item is not in the sequence.
template <class T>
void erase_sorted(Sequence<T>& all, const T& item) {
  size_t at = all.lower_bound([&](const T& other) { return other < item; });
  if (at < all.size() && all[at] == item) { all = all.spliced(at, at + 1, {}); }
}

}  // namespace loopsmith::schedule
