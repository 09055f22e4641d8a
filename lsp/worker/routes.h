// The protocol surface of the worker as one table: method, lane, feature. A route reads parameters from JSON, asks a
// feature, and writes plain structs back as JSON; nothing else does.
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

/// The semantic tokens that were sent last for a document; a delta is the difference to them.
struct SentTokens {
  uint64_t id = 0;
  std::vector<uint32_t> data;
};

/// The state that a route may read, beside its parameters.
struct RouteContext {
  const workspace::Snapshot* snapshot = nullptr;  // null for requests about no document
  Encoding encoding = Encoding::Utf16;
  const Json& capabilities;  // the client's
  const std::map<uint64_t, JobFacts>& jobs;
  CancelToken cancel;
  SentTokens* sent_tokens = nullptr;  // of the snapshot's document
  JudgedState* judged = nullptr;      // the same
  /// The document of a uri; null where it is not open.
  std::function<const workspace::Snapshot*(const std::string& uri)> find;
  /// All open documents, in the order they were opened.
  std::vector<const workspace::Snapshot*> documents = {};
  std::string manual = {};  // the page that explains diagnostics, for a client that shows it; empty: none
  /// Called for every view that is sent by its address, with the text that the view is of.
  std::function<void(const workspace::Snapshot&, const std::string& uri)> served = {};
  std::vector<std::string> folders = {};   // the folders that the editor has opened, as paths
  Deadline* too_large_until = nullptr;     // see files.h; null: not kept between requests
  Machine machine = {};               // that hovers compare loops with
  Records* records = nullptr;         // the tuning database; null: none
  RecordedSearches* recorded = nullptr;   // the same for features; null with `records`
  std::string links = {};   // the same page, for links in texts
  bool loop_hints = false;  // hints say why loops are not vectorized
  /// Sends `$/progress` for a token that came with the request (pieces.h); unset: nobody listens.
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

/// Does the client open `loopsmith-ir:` documents?
[[nodiscard]] auto shows_views(const Json& capabilities) -> bool;

/// The lane of a request. One about a place of a view waits for the schedules, whatever its route.
[[nodiscard]] auto lane_of(const Route& route, const Json& params) -> Lane;

/// None: the worker has no such method.
[[nodiscard]] auto find_route(Method method) -> const Route*;

/// Does the client show how far schedules are run (`experimental.loopsmithReplayProgress`)?
[[nodiscard]] auto shows_progress(const Json& capabilities) -> bool;
/// `loopsmith/replayProgress` {uri, version, marks: [{range, state}]}; state is "stale", "running" or "failed".
[[nodiscard]] auto progress_message(const workspace::Snapshot& snapshot, Encoding encoding, const std::vector<ReplayMark>& marks) -> Json;

/// `textDocument/publishDiagnostics` for a snapshot.
/// `manual`: a URI that explains each code under its name, or empty. `views`: the client opens views.
[[nodiscard]] auto diagnostics_message(const workspace::Snapshot& snapshot, Encoding encoding, const std::string& manual = {}, bool views = false) -> Json;

/// Adds hints that say why loops are not vectorized (features/loop_hints.h).
void add_loop_hints(const workspace::Snapshot& snapshot, Encoding encoding, Json& diagnostics);

/// Adds findings that are measured (features/verdicts.h).
void add_verdicts(const workspace::Snapshot& snapshot, Encoding encoding, const Measured& measured, Json& diagnostics);

}  // namespace loopsmith::lsp
