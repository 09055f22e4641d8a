// Pieces and progress: see pieces.h.
#include "lsp/worker/pieces.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace loopsmith::lsp {
namespace {

/// Pieces that follow each other faster are sent together, since an editor redraws more slowly.
constexpr auto piece_gap = std::chrono::milliseconds(50);
constexpr auto report_gap = std::chrono::milliseconds(200);

/// The token of the client, if it is valid and progress can be sent; else null.
auto token_in(const RouteContext& context, const Json& params, const char* name) -> Json {
  const Json& token = member(params, name);
  bool is_token = token.is_string() || token.is_number_integer();
  return context.progress && is_token ? token : Json();
}

}  // namespace

Pieces::Pieces(const RouteContext& context, const Json& params, const char* member) : context_(context), member_(member), token_(token_in(context, params, "partialResultToken")) {}

auto Pieces::wrapped(Json items) const -> Json {
  if (member_ == nullptr) { return items; }
  return {{member_, std::move(items)}};
}

void Pieces::send() {
  context_.progress(token_, wrapped(std::exchange(items_, Json::array())));
  sent_ = Clock::now();
  has_sent_ = true;
}

void Pieces::cut() {
  if (token_.is_null() || items_.empty()) { return; }
  if (!has_sent_ || Clock::now() - sent_ >= piece_gap) { send(); }
}

auto Pieces::rest() -> Json {
  if (!token_.is_null() && !items_.empty()) { send(); }
  return wrapped(std::move(items_));
}

WorkDone::WorkDone(const RouteContext& context, const Json& params, std::string_view title) : context_(context), token_(token_in(context, params, "workDoneToken")), reported_at_(Clock::now()) {
  if (!token_.is_null()) { send({{"kind", "begin"}, {"title", title}, {"cancellable", true}}); }
}

WorkDone::~WorkDone() {
  if (!token_.is_null()) { send({{"kind", "end"}}); }
}

void WorkDone::report(size_t done, size_t all, const std::string& path) {
  if (token_.is_null() || all == 0 || Clock::now() - reported_at_ < report_gap) { return; }
  reported_at_ = Clock::now();
  send({{"kind", "report"}, {"message", fmt::format("{} of {} files: {}", done, all, path.substr(path.rfind('/') + 1))}, {"percentage", done * 100 / all}, {"cancellable", true}});
}

}  // namespace loopsmith::lsp
