// Copies under way: see copies.h.
#include "interp/copies.h"

#include <cstring>

namespace loopsmith::interp {
namespace {

// `from.memory` null: zeros.
void land(Frame& f, const Copy& copy, Origin origin) {
  auto fits = [&](const Pointer& p) { return p.memory && p.byte >= 0 && p.byte + copy.bytes <= p.memory->bytes; };
  const Pointer& outside = fits(copy.to) ? copy.from : copy.to;
  if (copy.bytes < 0 || !fits(copy.to) || (copy.from.memory && !fits(copy.from))) {
    if (!f.failed) {
      f.fail(error(loopsmith::Code::InterpOutOfBounds, origin).arg("index", copy.bytes).arg("buffer", "ptx_cp_async")
                 .arg("extent", outside.memory ? outside.memory->bytes - outside.byte : 0).arg("dimension", "bytes").arg("iteration", f.iteration()));
    }
    return;
  }
  char* to = copy.to.memory->data + copy.to.byte;
  auto size = static_cast<size_t>(copy.bytes);
  if (copy.from.memory) { std::memmove(to, copy.from.memory->data + copy.from.byte, size); } else { std::memset(to, 0, size); }
  std::vector<uint8_t>& written = copy.to.memory->written;
  if (!written.empty()) { std::fill_n(written.begin() + copy.to.byte, copy.bytes, uint8_t{1}); }
}

}  // namespace

void StartCopy::run(Frame& f) const {
  if (++f.steps >= f.next_check) { f.check_limits(); }
  ++f.stats.statements;
  f.lane = 0;
  bool wanted = !predicate || predicate->eval(f) != 0;
  Copy copy{to->eval(f), wanted ? from->eval(f) : Pointer{}, bytes->eval(f)};
  if (wanted && !copy.from.memory) { copy.bytes = -1; }   // a pointer to nothing
  f.copies.started.push_back(copy);
}

void CommitCopies::run(Frame& f) const {
  f.copies.groups.push_back(std::move(f.copies.started));
  f.copies.started.clear();
}

void WaitForCopies::run(Frame& f) const {
  f.lane = 0;
  auto stay = static_cast<size_t>(std::max<int64_t>(0, open->eval(f)));
  auto& groups = f.copies.groups;
  while (groups.size() > stay && !f.failed) {
    for (const Copy& copy : groups.front()) { land(f, copy, origin); }
    groups.erase(groups.begin());
  }
}

}  // namespace loopsmith::interp
