// Answers in pieces, and the progress of a long request: `partialResultToken` and `workDoneToken` of LSP 3.17. Both belong to one request,
// run on the analysis thread, and send nothing to a client that gave no token.
#pragma once

#include <string>

#include "lsp/protocol/json.h"
#include "lsp/worker/routes.h"
#include "support/process.h"

namespace loopsmith::lsp {

/// A list as an answer. If the client accepts pieces, the first piece is sent at once and later ones after an interval; the final answer is
/// then empty, as LSP requires.
class Pieces {
 public:
  /// `member`: the member of the answer that is the list ("items" in a workspace's diagnostics); null: the answer is the list.
  Pieces(const RouteContext& context, const Json& params, const char* member = nullptr);

  void add(Json item) { items_.push_back(std::move(item)); }
  /// Allows the list to be split here: items added since the last call stay together.
  void cut();
  /// The answer, or its part that was not sent.
  [[nodiscard]] auto rest() -> Json;

 private:
  void send();
  [[nodiscard]] auto wrapped(Json items) const -> Json;

  const RouteContext& context_;
  const char* member_;
  Json token_;   // null: the answer is sent whole
  Json items_ = Json::array();
  Clock::time_point sent_{};
  bool has_sent_ = false;
};

/// The progress of a long request as the client shows it, from begin to end; a cancel in the client cancels the request.
class WorkDone {
 public:
  WorkDone(const RouteContext& context, const Json& params, std::string_view title);
  ~WorkDone();
  WorkDone(const WorkDone&) = delete;
  auto operator=(const WorkDone&) -> WorkDone& = delete;

  /// Sends a few times a second at most. `done` of `all`: numbers of files.
  void report(size_t done, size_t all, const std::string& path);

 private:
  void send(Json value) const { context_.progress(token_, std::move(value)); }

  const RouteContext& context_;
  Json token_;   // null: the client shows no progress
  Clock::time_point reported_at_{};
};

}  // namespace loopsmith::lsp
