// Answers in pieces, and the progress of a long request: `partialResultToken` and `workDoneToken` of LSP 3.17. Both are of one request,
// on the analysis thread, and say nothing to a client that gave no token.
#pragma once

#include <string>

#include "lsp/protocol/json.h"
#include "lsp/worker/routes.h"
#include "support/process.h"

namespace loopsmith::lsp {

/// A list as an answer. Where the client takes pieces, the first piece is sent at once and the others after some time each; the final answer is
/// then empty, as LSP requires.
class Pieces {
 public:
  /// `member`: the list is that member of the answer ("items" of a workspace's diagnostics), not the answer itself; null: it is the answer.
  Pieces(const RouteContext& context, const Json& params, const char* member = nullptr);

  void add(Json item) { items_.push_back(std::move(item)); }
  /// Allows a cut of the list here: items added since the last call stay together.
  void cut();
  /// The answer, or the rest of it.
  [[nodiscard]] auto rest() -> Json;

 private:
  void send();
  [[nodiscard]] auto wrapped(Json items) const -> Json;

  const RouteContext& context_;
  const char* member_;
  Json token_;   // null: all at once
  Json items_ = Json::array();
  Clock::time_point sent_{};
  bool has_sent_ = false;
};

/// The progress that the client shows of a long request, from begin to end; a cancel there cancels the request.
class WorkDone {
 public:
  WorkDone(const RouteContext& context, const Json& params, std::string_view title);
  ~WorkDone();
  WorkDone(const WorkDone&) = delete;
  auto operator=(const WorkDone&) -> WorkDone& = delete;

  /// Some times a second at most. `done` of `all`: files.
  void report(size_t done, size_t all, const std::string& path);

 private:
  void send(Json value) const { context_.progress(token_, std::move(value)); }

  const RouteContext& context_;
  Json token_;   // null: nothing is shown
  Clock::time_point told_{};
};

}  // namespace loopsmith::lsp
