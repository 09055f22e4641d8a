// The supervisor of the language server: the worker, its restarts, and documents that crash it. See front.h.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "lsp/server/front.h"
#include "lsp/server/front_limits.h"
#include "support/hash.h"
#include "support/memory.h"
#include "support/text.h"

namespace loopsmith::lsp {
namespace {

/// The time that analysis may take for each byte of a document, on top of the options' limit.
constexpr double seconds_per_byte = 10e-6;

}  // namespace

// ---- the worker ----------------------------------------------------------------------------------------------------

void Front::bring_up_worker() {
  worker_reader_ = FrameReader();
  passed_ = 0;
  working_.reset();
  worker_up_ = host_.start_worker();
  if (!worker_up_) {
    answer_all_pending(ErrorCode::InternalError, "the analysis worker cannot be started");
    restart_at_ = host_.now() + restart_pause;
    return;
  }
  restart_at_ = never();
  if (state_ == State::Running) { send_all_to_worker(); }
}

void Front::send_all_to_worker() {
  if (!worker_up_) { return; }
  pass(framed(to_text(notification("loopsmith/start", {{"encoding", static_cast<int>(encoding_)},
                                                                  {"capabilities", client_capabilities_},
                                                                  {"configuration", configuration_},
                                                                  {"folders", folders_}}))));
  // In the order in which they were opened, so that each restart does the same.
  std::vector<const Document*> documents;
  for (const auto& [uri, document] : documents_) {
    if (!document->quarantined) { documents.push_back(document.get()); }
  }
  std::sort(documents.begin(), documents.end(), [](const Document* a, const Document* b) { return a->number < b->number; });
  for (const Document* document : documents) { send_open_to_worker(*document); }
  for (const Json& job : jobs_.all_for_worker()) { pass(framed(to_text(job))); }
  for (auto& [ticket, body] : std::exchange(held_, {})) {
    auto found = pending_.find(ticket);
    if (found != pending_.end()) {
      pass(framed(body, {{header::ticket, ticket}, {header::document, found->second.document}}));
    }
  }
}

void Front::send_open_to_worker(const Document& document) {
  if (!worker_up_) { return; }
  Json params = {{"textDocument",
                  {{"uri", document.uri}, {"languageId", document.language}, {"version", document.version}, {"text", document.text.text}}}};
  pass(framed(to_text(notification("textDocument/didOpen", std::move(params))),
                         {{header::document, document.number}, {header::version, static_cast<uint64_t>(document.version)}}));
}

void Front::forward(Pending pending, std::string body) {
  uint64_t ticket = next_ticket_++;
  uint64_t document = pending.document;
  pending_.emplace(ticket, std::move(pending));
  if (worker_up_) {
    pass(framed(body, {{header::ticket, ticket}, {header::document, document}}));
  } else {
    held_.emplace_back(ticket, std::move(body));
  }
}

void Front::pass(std::string frame) {
  if (serves_client_) { host_.hold_jobs(); }
  ++passed_;
  rests_ = false;
  host_.to_worker(std::move(frame));
}

void Front::on_worker_bytes(std::string_view bytes) {
  worker_reader_.feed(bytes);
  while (auto frame = worker_reader_.next()) { on_worker_frame(std::move(*frame)); }
}

void Front::on_worker_frame(Frame frame) {
  if (!frame.problem.empty()) {
    // After a malformed frame the worker's other answers cannot be trusted either.
    return host_.kill_worker();
  }
  if (auto working = frame.number(header::working)) {
    if (*working == 0) {
      working_.reset();
    } else {
      auto request = pending_.find(frame.number(header::blamed).value_or(0));
      working_ = Working{frame.number(header::document).value_or(0), static_cast<int64_t>(frame.number(header::version).value_or(0)),
                         host_.now(), host_.worker_cpu(), 0, request != pending_.end() ? request->second.row : nullptr};
    }
    return;
  }
  if (auto polls = frame.number(header::ping)) {
    if (working_ && *polls != working_->polls) {
      working_->polls = *polls;
      working_->since = host_.now();
      working_->cpu = host_.worker_cpu();
    }
    return;
  }
  if (auto taken = frame.number(header::rest)) {
    rests_ = *taken == passed_;
    if (rests_) { host_.let_jobs_go(); }
    return;
  }
  if (frame.number(header::records)) {
    ask_client("workspace/codeLens/refresh", Json(), [](const Json&) {});
    return;
  }
  if (frame.number(header::views)) {
    std::string why;
    auto views = parse_json(frame.body, why);
    if (!views || !views->is_array()) { return; }
    for (const Json& uri : *views) { ask_client("workspace/textDocumentContent/refresh", {{"uri", uri}}, [](const Json&) {}); }
    return;
  }
  if (auto ticket = frame.number(header::ticket)) {
    auto found = pending_.find(*ticket);
    if (found == pending_.end()) { return; }
    if (frame.number(header::piece)) { return send_text(frame.body); }
    Pending pending = std::move(found->second);
    pending_.erase(found);
    // Members of the JSON are sorted, so an answer with an error begins with it.
    history_.answered(pending.row->name, pending.since, host_.now(), frame.body.starts_with("{\"error\""));
    if (pending.inserts) { return insert_schedule(pending, frame.body); }
    if (pending.shows) { return show_view(pending, frame.body); }
    if (pending.reports) { return report(pending, frame.body); }
    send_text(frame.body);
    if (traces_) {
      const double seconds = std::chrono::duration<double>(host_.now() - pending.since).count();
      send(notification("$/logTrace", {{"message", fmt::format("{} answered in {}", pending.row->name, duration_text(seconds))}}));
    }
    return;
  }
  if (auto number = frame.number(header::document)) {
    // A message about an earlier version of the text is dropped.
    Document* document = find_document(*number);
    auto version = frame.number(header::version);
    if (document == nullptr || (version && static_cast<int64_t>(*version) != document->version)) { return; }
    bool is_unchanged = frame.number(header::unchanged).has_value();
    if (!is_unchanged) { send_text(frame.body); }
    if (version && traces_) { trace_diagnostics(*document, static_cast<int64_t>(*version), is_unchanged); }
    return;
  }
  send_text(frame.body);
}

/// Traces the time from each change to its first diagnostics, one line per change. `is_unchanged`: the diagnostics that the editor
/// already has are still correct.
void Front::trace_diagnostics(Document& document, int64_t version, bool is_unchanged) {
  while (!document.read.empty() && document.read.begin()->first <= version) {
    auto [changed, read] = *document.read.begin();
    document.read.erase(document.read.begin());
    const double seconds = std::chrono::duration<double>(host_.now() - read).count();
    send(notification("$/logTrace", {{"message", fmt::format("diagnostics of version {} {} {} after the change was read", changed, is_unchanged ? "unchanged" : "written", duration_text(seconds))}}));
  }
}

/// Handles the worker's answer with an edit that inserts a schedule: sends the edit to the editor.
void Front::insert_schedule(const Pending& pending, const std::string& body) {
  std::string text = body;
  std::string why;
  auto answer = parse_json(text, why);
  const Json& edit = answer ? member(member(*answer, "result"), "edit") : member(Json(), "");
  if (!edit.is_object()) { return send_text(body); }
  Json id = pending.id;
  JobId job = *pending.inserts;
  ask_client("workspace/applyEdit", {{"label", pending.label.empty() ? "Insert best schedule" : pending.label}, {"edit", edit}}, [this, id, job](const Json& response) {
    if (bool_in(member(response, "result"), "applied")) {
      jobs_.inserted(job);
      return reply(id, nullptr);
    }
    std::string reason = string_in(member(response, "result"), "failureReason");
    fail(id, ErrorCode::RequestFailed,
         (job == 0 ? "the editor did not make the edit" : "the editor did not insert the schedule") + (reason.empty() ? std::string() : ": " + reason));
  });
}

void Front::answer_all_pending(ErrorCode code, std::string_view message) {
  for (const auto& [ticket, pending] : std::exchange(pending_, {})) { fail(pending.id, code, message); }
  held_.clear();
}

void Front::on_worker_end(const ExitStatus& status) {
  worker_up_ = false;
  if (quit_) { return; }
  last_crash_ = fmt::format("the analysis worker {}", status.describe());
  answer_all_pending(ErrorCode::InternalError, last_crash_ + "; it restarts");
  log(Warning, last_crash_ + "; it restarts");
  if (working_) {
    // If the text changed meanwhile, it is not to blame: the worker analysed an earlier version.
    Document* document = find_document(working_->document);
    bool is_same = document != nullptr && document->version == working_->version;
    if (working_->request != nullptr) {
      if (is_same || working_->document == 0) { ++request_crashes_[request_key(*working_->request, document)]; }
    } else if (is_same && ++crashes_[hash_bytes(document->text.text)] >= crash_limit) {
      quarantine(*document);
    }
  }
  working_.reset();
  Clock::time_point now = host_.now();
  while (!restarts_.empty() && now - restarts_.front() > restart_window) { restarts_.pop_front(); }
  restarts_.push_back(now);
  if (restarts_.size() > restart_limit) {
    restart_at_ = now + restart_pause;
  } else {
    bring_up_worker();
  }
}

void Front::watch_worker() {
  if (!worker_up_ || !working_) { return; }
  auto spent = host_.now() - working_->since;
  if (spent < 100ms) { return; }
  Document* document = find_document(working_->document);
  double size = document != nullptr ? static_cast<double>(document->text.text.size()) : 0;
  std::chrono::duration<double> allowance(size * seconds_per_byte);
  bool is_hung = host_.worker_cpu() - working_->cpu > options_.hang_limit + allowance;
  bool is_stuck = spent > options_.stuck_limit + allowance;
  if (is_hung || is_stuck) {
    log(Warning, fmt::format("the analysis worker made no progress for {} and is stopped", duration_text(std::chrono::duration<double>(spent).count())));
    return host_.kill_worker();
  }
  host_.to_worker(framed("", {{header::ping, 1}}));
}

void Front::on_tick() {
  if (quit_) { return; }
  Clock::time_point now = host_.now();
  if (!worker_up_ && now >= restart_at_) { bring_up_worker(); }
  watch_worker();
  jobs_.on_tick();
  send_status();
  if (!mirrors_.is_empty()) {
    for (const auto& [uri, document] : documents_) {
      auto written = mirrors_.version(document->number);
      if (written && *written != document->version) { mirrors_.write(document->number, document->version, document->text.text); }
      if (auto edit = written ? mirrors_.take_edit(document->number) : std::nullopt) { edit_from_repl(uri, *document, *std::move(edit)); }
    }
  }
  // Wait a tenth of a second after the last close: an editor may close a thousand documents in a row.
  if (closed_at_ && now - *closed_at_ > 100ms) {
    closed_at_.reset();
    give_memory_back();
  }
  // An editor may die without closing the server's input; then the server must end, too.
  if (client_process_ && now - client_checked_ > 3s) {
    client_checked_ = now;
    if (::kill(static_cast<pid_t>(*client_process_), 0) != 0 && errno == ESRCH) { on_client_end(); }
  }
}

// ---- quarantine ----------------------------------------------------------------------------------------------------

auto Front::is_poisonous(const Document& document) const -> bool {
  if (crashes_.empty()) { return false; }
  auto found = crashes_.find(hash_bytes(document.text.text));
  return found != crashes_.end() && found->second >= crash_limit;
}

auto Front::request_key(const MethodRow& row, const Document* document) const -> uint64_t {
  return hash_combine(document != nullptr ? hash_bytes(document->text.text) : edits_, static_cast<uint64_t>(row.method));
}

void Front::quarantine(Document& document) {
  document.quarantined = true;
  Span first_line{0, static_cast<uint32_t>(document.text.lines.line_text(document.text.text, 0).size())};
  Json diagnostic = {{"range", to_json(to_range(document.text.text, document.text.lines, first_line, encoding_))},
                     {"severity", 1},
                     {"source", "loopsmith"},
                     {"code", "analysis-crashed"},
                     {"message", fmt::format("analysis of this file crashed ({}); edit the file to analyse it again", last_crash_)}};
  send(notification("textDocument/publishDiagnostics",
                    {{"uri", document.uri}, {"version", document.version}, {"diagnostics", Json::array({diagnostic})}}));
}

auto Front::find_document(const std::string& uri) -> Document* {
  auto found = documents_.find(uri);
  return found == documents_.end() ? nullptr : found->second.get();
}

auto Front::find_document(uint64_t number) -> Document* {
  for (const auto& [uri, document] : documents_) {
    if (document->number == number) { return document.get(); }
  }
  return nullptr;
}

}  // namespace loopsmith::lsp
