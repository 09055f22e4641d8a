// The protocol surface of the worker as one table: method, lane, feature. A route reads parameters from JSON, asks a
// feature, and converts the result to JSON; routes contain nothing else.
#pragma once

#include <map>
#include <string>
#include <variant>

#include "lsp/features/completion.h"
#include "lsp/features/hover.h"
#include "lsp/features/measured.h"
#include "lsp/features/progress.h"
#include "lsp/jobs/facts.h"
#include "lsp/protocol/json.h"
#include "lsp/protocol/methods.h"
#include "lsp/worker/records.h"
#include "support/cancel.h"
#include "support/process.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// The semantic tokens that were sent last for a document; a delta is relative to these.
struct SentTokens {
  uint64_t id = 0;
  std::vector<uint32_t> data;
};

/// The state that a route may read, beside its parameters.
struct RouteContext {
  const workspace::Snapshot* snapshot = nullptr;  // null for requests that are about no document
  Encoding encoding = Encoding::Utf16;
  const Json& capabilities;  // of the client
  const std::map<uint64_t, JobFacts>& jobs;
  CancelToken cancel;
  SentTokens* sent_tokens = nullptr;  // of the snapshot's document
  JudgedState* judged = nullptr;      // the same
  /// The open document with a URI; null: it is not open.
  std::function<const workspace::Snapshot*(const std::string& uri)> find;
  /// All open documents, in the order in which they were opened.
  std::vector<const workspace::Snapshot*> documents = {};
  std::string manual = {};  // the page that explains diagnostics, for a client that shows it; empty: none
  /// Called for every view that is sent with its address, with the text that the view belongs to.
  std::function<void(const workspace::Snapshot&, const std::string& uri)> served = {};
  std::vector<std::string> folders = {};   // the folders that the editor has opened, as paths
  Deadline* too_large_until = nullptr;     // see files.h; null: not stored between requests
  Machine machine = {};               // the machine that hovers compare loops with
  Records* records = nullptr;         // the tuning database; null: none
  RecordedSearches* recorded = nullptr;   // `records` as features read them; null if `records` is null
  std::string links = {};   // the same page, for links in texts
  bool loop_hints = false;  // hints give the reason why loops are not vectorized
  /// Sends `$/progress` for a token of the request (pieces.h); unset: the client cannot receive it.
  std::function<void(const Json& token, Json value)> progress = {};
};

struct RouteError {
  ErrorCode code;
  std::string message;
};
using RouteResult = std::variant<Json, RouteError>;

/// Interactive: needs names and types only, and is answered before schedules are replayed. Settled: waits until all schedules of the
/// version have run.
enum class Lane : uint8_t { Interactive, Settled };

struct Route {
  Method method;
  Lane lane;
  auto (*answer)(const RouteContext& context, const Json& params) -> RouteResult;
};

/// True when the client opens `loopsmith-ir:` documents.
[[nodiscard]] auto shows_views(const Json& capabilities) -> bool;

/// The lane of a request. A request about a place in a view always waits for the schedules.
[[nodiscard]] auto lane_of(const Route& route, const Json& params) -> Lane;

/// None: the worker has no such method.
[[nodiscard]] auto find_route(Method method) -> const Route*;

/// True when the client shows the progress of replays (`experimental.loopsmithReplayProgress`).
[[nodiscard]] auto shows_progress(const Json& capabilities) -> bool;
/// `loopsmith/replayProgress` {uri, version, marks: [{range, state}]}; state is "stale", "running" or "failed".
[[nodiscard]] auto progress_message(const workspace::Snapshot& snapshot, Encoding encoding, const std::vector<ReplayMark>& marks) -> Json;

/// `textDocument/publishDiagnostics` for a snapshot.
/// `manual`: a URI that explains each code under its name; may be empty. `views`: the client opens views.
[[nodiscard]] auto diagnostics_message(const workspace::Snapshot& snapshot, Encoding encoding, const std::string& manual = {}, bool views = false) -> Json;

/// Adds hints with the reason why loops are not vectorized (features/loop_hints.h).
void add_loop_hints(const workspace::Snapshot& snapshot, Encoding encoding, Json& diagnostics);

/// Adds findings from measurements (features/verdicts.h).
void add_verdicts(const workspace::Snapshot& snapshot, Encoding encoding, const Measured& measured, Json& diagnostics);

}  // namespace loopsmith::lsp
