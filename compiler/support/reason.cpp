// The catalogue of reasons, and building a reason: see reason.h.
#include "support/reasons.h"

#include "support/message_text.h"

namespace loopsmith {
namespace {

constexpr std::string_view texts[] = {
#define REASON(why, text) text,
#include "support/reasons.def"
#undef REASON
};

}  // namespace

auto because(Why why) -> Reason { return {why, {}}; }
auto reason_text(Why why) -> std::string_view { return texts[static_cast<size_t>(why)]; }

auto all_reasons() -> std::vector<Why> {
  std::vector<Why> out;
  for (size_t i = 0; i < std::size(texts); ++i) { out.push_back(static_cast<Why>(i)); }
  return out;
}

auto Reason::text() const -> std::string { return fill_message(reason_text(why), args); }
auto Reason::arg(std::string_view name, std::string_view value) && -> Reason&& {
  args.emplace_back(name, value);
  return std::move(*this);
}

}  // namespace loopsmith
