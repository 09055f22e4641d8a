// Records constants that wrap: see wrapped.h.
#include "ir/wrapped.h"

#include <algorithm>
#include <utility>

namespace loopsmith {
namespace {

thread_local WrapWatch* innermost = nullptr;

}  // namespace

WrapWatch::WrapWatch() : around_(std::exchange(innermost, this)) {}
WrapWatch::~WrapWatch() { innermost = around_; }

void note_wrapped(DataType dtype, __int128 value) {
  if (innermost && !innermost->found_) { innermost->found_ = WrappedConstant{dtype, decimal(value)}; }
}

auto decimal(__int128 value) -> std::string {
  std::string out;
  const bool is_negative = value < 0;
  do {
    int digit = static_cast<int>(value % 10);
    out += static_cast<char>('0' + (digit < 0 ? -digit : digit));
    value /= 10;
  } while (value != 0);
  if (is_negative) { out += '-'; }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace loopsmith
