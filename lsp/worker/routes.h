// The protocol surface of the worker as one table: method, lane, feature. A route reads parameters from JSON, asks a
// feature, and writes plain structs back as JSON; nothing else does.
#pragma once

#include <map>
#include <string>
#include <variant>

#include "lsp/features/completion.h"
#include "lsp/features/hover.h"
#include "lsp/features/progress.h"
#include "lsp/protocol/json.h"
#include "lsp/protocol/methods.h"
#include "lsp/worker/records.h"
#include "support/cancel.h"
#include "support/process.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// A background job, as far as a request may need it.
struct JobFacts {
  uint64_t job = 0;
  std::string uri;
  std::string function;
  int64_t version = 0;  // of the text it was started with
  bool is_done = false;
  std::string message;        // how far it is, while it runs
  bool is_paused = false;
  bool is_restored = false;   // of an earlier session: nothing runs
  bool compares = false;      // a search that was stopped: its best is compared with the program
  bool measures = false;      // timed, not searched
  bool verifies = false;      // compared, not searched
  bool executes = false;      // run, not searched
  bool is_equal = false;      // what was compared has the same results
  std::string extent;         // on how much, and how close: "2 inputs, max 1 ulp, seed 8"
  std::string difference;     // the first one of results that differ
  std::string schedule;       // what was timed or compared; empty: the program as written. Of a search: whose hole it fills; empty: none
  std::string other;          // timed with it in turns; `plain_seconds` is then the schedule's and `seconds` the other's
  std::string state;          // of the program that steps for a hole were found for (`Hole::state`)
  [[nodiscard]] auto tunes() const -> bool { return !measures && !verifies && !executes && schedule.empty(); }
  /// Searches for what is to take the place of `sch.tune()` in the schedule.
  [[nodiscard]] auto fills() const -> bool { return !measures && !verifies && !executes && !schedule.empty(); }
  double seconds = 0;         // of what was timed
  double share = 0;           // of a search: what its best is of the roofline; 0: not known
  double plain_seconds = 0;
  uint64_t text_hash = 0;     // of the declarations it was about (`hash_of_declarations`)
  std::string schedule_text;
  std::optional<std::pair<uint32_t, std::string>> insert;  // place and text, in the text it was started with
};

/// The semantic tokens that were sent last for a document: what a delta counts from.
struct SentTokens {
  uint64_t id = 0;
  std::vector<uint32_t> data;
};

/// What a route may look at, beside its parameters.
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
  std::string manual = {};  // where diagnostics are explained, for a client that shows it; empty: nowhere
  /// Told of every view that is handed out by its address, with the text it is of.
  std::function<void(const workspace::Snapshot&, const std::string& uri)> served = {};
  std::vector<std::string> folders = {};   // that the editor has opened, as paths
  Deadline* too_large_until = nullptr;     // see files.h; null: not kept between requests
  Machine machine = {};               // what hovers compare with
  Records* records = nullptr;         // what was measured on earlier days; null: nothing is known of it
  std::optional<target::Peaks> peaks = {};   // of all cores; none: not measured
  std::string links = {};   // the same, for links in texts
  bool loop_hints = false;  // hints say why loops are not vectorized
  /// Sends `$/progress` for a token that came with the request (pieces.h); unset: nobody listens.
  std::function<void(const Json& token, Json value)> progress = {};
};

struct RouteError {
  ErrorCode code;
  std::string message;
};
using RouteResult = std::variant<Json, RouteError>;

/// Interactive: needs names and types only, and goes before schedules are replayed. Settled: needs all that is known of
/// the version.
enum class Lane : uint8_t { Interactive, Settled };

struct Route {
  Method method;
  Lane lane;
  auto (*answer)(const RouteContext& context, const Json& params) -> RouteResult;
};

/// Of the texts of a program and a schedule, by their names: a measurement is stale once it differs.
[[nodiscard]] auto hash_of_declarations(const workspace::Snapshot& snapshot, const std::string& function, const std::string& schedule) -> uint64_t;

/// Does the client open `loopsmith-ir:` documents?
[[nodiscard]] auto shows_views(const Json& capabilities) -> bool;

/// Requests about a place of a view need what schedules made, whatever they are asked of texts.
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

}  // namespace loopsmith::lsp
