// The supervisor of the language server: messages from and to the client. See front.h; front_worker.cpp has the worker.
#include "lsp/server/front.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>

#include "lsp/protocol/uri.h"
#include "lsp/server/forms.h"
#include "lsp/server/front_limits.h"
#include "support/hash.h"
#include "support/memory.h"

namespace loopsmith::lsp {
namespace {

constexpr const char* not_trusted = "this workspace is not trusted, so its programs are checked and not executed: trust the folder, or set `trusted` to true";

auto is_id(const Json& id) -> bool { return id.is_string() || id.is_number_integer(); }

auto choose_encoding(const Json& capabilities) -> Encoding {
  const Json& offered = member(member(capabilities, "general"), "positionEncodings");
  if (!offered.is_array()) { return Encoding::Utf16; }
  for (const Json& name : offered) {
    for (Encoding encoding : {Encoding::Utf8, Encoding::Utf16, Encoding::Utf32}) {
      if (name.is_string() && name.get<std::string>() == encoding_name(encoding)) { return encoding; }
    }
  }
  return Encoding::Utf16;
}

/// The kind of job that a command starts; none: the command starts no job.
auto job_kind(std::string_view command) -> std::optional<JobKind> {
  if (command == tune_command) { return JobKind::Tune; }
  if (command == bench_command) { return JobKind::Bench; }
  if (command == verify_command) { return JobKind::Verify; }
  if (command == run_command) { return JobKind::Run; }
  if (command == interpret_command) { return JobKind::Interpret; }
  return std::nullopt;
}

/// Plants a fault for tests: with LOOPSMITH_TEST_FAULT in the environment, the handler of a message whose parameters have
/// `"fault": "front"` throws.
void throw_planted_fault(const Json& params) {
  static const bool allowed = std::getenv("LOOPSMITH_TEST_FAULT") != nullptr;
  if (allowed && string_in(params, "fault") == "front") { throw std::bad_alloc(); }
}

/// The document that a request names; the methods of LSP have it in one of two members.
auto document_uri(const Json& params) -> std::string {
  std::string uri = string_in(member(params, "textDocument"), "uri");
  return uri.empty() ? string_in(params, "uri") : uri;
}

}  // namespace

Front::Front(Host& host, FrontOptions options, Recorder* recorder)
    : host_(host), options_(options), recorder_(recorder), history_(host.now()),
      jobs_(host, JobTalk{.to_client = [this](const Json& message) { send(message); },
                          .ask_client = [this](std::string_view method, Json params,
                                               std::function<void(const Json&)> then) {
                            ask_client(method, std::move(params), std::move(then));
                          },
                          .to_worker = [this](const Json& message) {
                            if (worker_up_) { pass(framed(to_text(message))); }
                            // Lenses show jobs.
                            const Json& lenses = member(member(client_capabilities_, "workspace"), "codeLens");
                            if (bool_in(lenses, "refreshSupport")) { ask_client("workspace/codeLens/refresh", Json(), [](const Json&) {}); }
                          }}, options_.searches) {}

void Front::start() { bring_up_worker(); }

// ---- from the client -----------------------------------------------------------------------------------------------

void Front::on_client_bytes(std::string_view bytes) {
  serves_client_ = true;
  client_reader_.feed(bytes);
  read_at_ = host_.now();
  while (!quit_) {
    auto frame = client_reader_.next();
    if (!frame) { break; }
    if (frame->problem.empty()) {
      on_message(std::move(frame->body));
    } else {
      if (recorder_ != nullptr) { recorder_->unreadable(frame->problem); }
      fail(nullptr, ErrorCode::ParseError, frame->problem);
    }
  }
  serves_client_ = false;
}

void Front::on_client_end() {
  if (quit_) { return; }
  quit_ = true;
  host_.quit(state_ == State::ShutDown ? 0 : 1);
}

void Front::on_message(std::string body) {
  std::string why;
  auto message = parse_json(body, why);
  if (recorder_ != nullptr) {
    if (message) {
      recorder_->from_client(body);
    } else {
      recorder_->unreadable(why);
    }
  }
  if (!message) { return fail(nullptr, ErrorCode::ParseError, why); }
  if (!message->is_object()) {
    return fail(nullptr, ErrorCode::InvalidRequest, message->is_array() ? "batches of messages are not part of LSP" : "a message is an object");
  }
  try {
    handle(*message, std::move(body));
  } catch (const std::exception& fault) {
    // No handler throws on purpose. A bug of the server, or a lack of memory, costs this message and not the session.
    const Json& id = member(*message, "id");
    std::string what = fmt::format("{} failed: {}", string_in(*message, "method"), fault.what());
    if (is_id(id) && message->contains("method")) { return fail(id, ErrorCode::InternalError, what); }
    log(Error, what);
    if (string_in(*message, "method").starts_with("textDocument/did")) { lose(document_uri(member(*message, "params"))); }
  }
}

void Front::handle(Json& message, std::string body) {
  const Json& id = member(message, "id");
  const Json& method = member(message, "method");
  if (!method.is_string()) {
    if (is_id(id) && (message.contains("result") || message.contains("error"))) { return on_response(message); }
    // An error without an id reports a message that the client could not read. Answering it with an error could go on forever.
    if (message.contains("error")) { return; }
    return fail(is_id(id) ? id : Json(), ErrorCode::InvalidRequest, "the message has no method");
  }
  bool is_request = message.contains("id");
  if (is_request && !is_id(id)) { return fail(nullptr, ErrorCode::InvalidRequest, "the id of a request is a string or an integer"); }
  auto name = method.get<std::string>();
  const MethodRow* row = find_method(name);

  if (row != nullptr) { history_.asked(row->name, host_.now()); }
  if (is_request) {
    if (row != nullptr && row->kind == MethodKind::Notification) {
      return fail(id, ErrorCode::InvalidRequest, fmt::format("`{}` is a notification: it has no id", name));
    }
    if (state_ == State::Fresh && (row == nullptr || row->method != Method::Initialize)) {
      return fail(id, ErrorCode::ServerNotInitialized, "the first request is `initialize`");
    }
    if (state_ == State::ShutDown) { return fail(id, ErrorCode::InvalidRequest, "the server was shut down"); }
    if (row == nullptr) { return fail(id, ErrorCode::MethodNotFound, fmt::format("unknown method `{}`", name)); }
    return on_request(*row, message, std::move(body));
  }
  if (row == nullptr || row->kind == MethodKind::Request) { return; }
  if (state_ != State::Running && row->method != Method::Exit) { return; }
  on_notification(*row, message, body);
}

void Front::on_request(const MethodRow& row, const Json& message, std::string body) {
  const Json& id = member(message, "id");
  const Json& params = member(message, "params");
  throw_planted_fault(params);
  switch (row.method) {
    case Method::Initialize: return initialize(id, params);
    case Method::Shutdown:
      state_ = State::ShutDown;
      answer_all_pending(ErrorCode::RequestCancelled, "the server is shutting down");
      jobs_.stop_all();
      return reply(id, nullptr);
    case Method::ExecuteCommand: return execute_command(id, params, std::move(body));
    case Method::CommandResolve: return reply(id, resolved_command(params, member(configuration_, "tune"), sizes_of(first_argument(params))));
    default: break;
  }
  Pending pending{.id = id, .row = &row, .document = 0, .since = host_.now(), .inserts = {}, .work_token = member(params, "workDoneToken")};
  if (row.scope != MethodScope::None) {
    std::string uri = document_uri(params);
    if (uri.empty()) { return fail(id, ErrorCode::InvalidParams, "the request names no document"); }
    Document* document = find_document(uri);
    // A request from a view is about the text that the view shows; the view itself need not be open.
    bool leads_away = row.method == Method::Definition || row.method == Method::Declaration || row.method == Method::Implementation;
    if (auto view = leads_away ? parse_view(uri) : std::nullopt) {
      Document* shown = find_document("file://" + view->text);
      if (shown == nullptr) { shown = find_document(view->text); }
      if (shown == nullptr) { return fail(id, ErrorCode::RequestFailed, "the text of this view is not open"); }
      document = shown;
    }
    if (document == nullptr) { return fail(id, ErrorCode::InvalidParams, fmt::format("`{}` is not open", uri)); }
    if (document->quarantined) {
      if (row.method == Method::WaitForState) {
        return reply(id, {{"uri", uri}, {"version", document->version}, {"state", "crashed"}});
      }
      if (row.method == Method::Diagnostic) { return reply(id, {{"kind", "full"}, {"items", Json::array()}}); }
      return reply(id, nullptr);
    }
    pending.document = document->number;
  }
  if (!request_crashes_.empty()) {
    auto known = request_crashes_.find(request_key(row, find_document(pending.document)));
    if (known != request_crashes_.end() && known->second >= crash_limit) {
      return fail(id, ErrorCode::RequestFailed, fmt::format("`{}` crashed the analysis of this text {} times; edit the text to ask again", row.name, crash_limit));
    }
  }
  forward(std::move(pending), std::move(body));
}

void Front::on_notification(const MethodRow& row, const Json& message, const std::string& body) {
  const Json& params = member(message, "params");
  throw_planted_fault(params);
  switch (row.method) {
    case Method::Exit:
      quit_ = true;
      return host_.quit(state_ == State::ShutDown ? 0 : 1);
    case Method::CancelRequest: return cancel_request(member(params, "id"));
    case Method::SetTrace:
      traces_ = !string_in(params, "value").empty() && string_in(params, "value") != "off";
      if (!traces_) {
        for (const auto& [uri, document] : documents_) { document->read.clear(); }
      }
      return;
    case Method::ProgressCancel: return cancel_progress(member(params, "token"));
    case Method::DidOpen: return open(params, body);
    case Method::DidChange: return change(params, body);
    case Method::DidClose: return close(params, body);
    case Method::DidChangeConfiguration:
      configure(member(params, "settings"));
      if (worker_up_) { pass(framed(body)); }
      return;
    case Method::DidChangeWorkspaceFolders: {
      const Json& event = member(params, "event");
      for (const Json& folder : member(event, "removed")) { std::erase(folders_, string_in(folder, "uri")); }
      for (const Json& folder : member(event, "added")) { folders_.push_back(string_in(folder, "uri")); }
      jobs_.set_folders(folders_);
      if (worker_up_) { pass(framed(to_text(notification("loopsmith/folders", {{"folders", folders_}})))); }
      return;
    }
    default: return;
  }
}

/// Updates the settings. Some editors nest them under `loopsmith`, and some send null.
void Front::configure(const Json& settings) {
  const Json& ours = member(settings, "loopsmith");
  const Json& options = ours.is_object() ? ours : settings;
  if (!options.is_object()) { return; }
  if (!configuration_.is_object()) { configuration_ = Json::object(); }
  configuration_.update(options);
}

void Front::on_response(const Json& message) {
  const Json& id = member(message, "id");
  if (!id.is_string()) { return; }
  auto found = asked_.find(id.get<std::string>());
  if (found == asked_.end()) { return; }
  auto then = std::move(found->second);
  asked_.erase(found);
  then(message);
}

void Front::initialize(const Json& id, const Json& params) {
  if (state_ != State::Fresh) { return fail(id, ErrorCode::InvalidRequest, "`initialize` was sent before"); }
  state_ = State::Running;
  client_capabilities_ = member(params, "capabilities");
  client_info_ = member(params, "clientInfo");
  configuration_ = member(params, "initializationOptions");
  for (const Json& folder : member(params, "workspaceFolders")) { folders_.push_back(string_in(folder, "uri")); }
  if (folders_.empty() && !string_in(params, "rootUri").empty()) { folders_.push_back(string_in(params, "rootUri")); }
  if (folders_.empty() && !string_in(params, "rootPath").empty()) { folders_.push_back(uri_of(string_in(params, "rootPath"))); }
  jobs_.set_folders(folders_);
  client_process_ = int_in(params, "processId");
  if (client_process_ && *client_process_ <= 1) { client_process_.reset(); }
  std::string trace = string_in(params, "trace");
  traces_ = !trace.empty() && trace != "off";
  encoding_ = choose_encoding(client_capabilities_);
  jobs_.set_progress_support(bool_in(member(client_capabilities_, "window"), "workDoneProgress"));
  jobs_.set_view_support(bool_in(member(client_capabilities_, "experimental"), "loopsmithViews"));
  Json capabilities = server_capabilities(encoding_, pulls_diagnostics(client_capabilities_, configuration_));
  if (asks_forms(client_capabilities_)) { capabilities["experimental"] = {{"interactiveResolveProvider", {{"kinds", {"command"}}}}}; }
  reply(id, {{"capabilities", std::move(capabilities)}, {"serverInfo", {{"name", "loopsmith"}, {"version", LOOPSMITH_VERSION}}}});
  send_all_to_worker();
  Mirrors::sweep();
}

void Front::open(const Json& params, const std::string& body) {
  const Json& item = member(params, "textDocument");
  std::string uri = string_in(item, "uri");
  if (uri.empty()) { return log(Error, "textDocument/didOpen without a uri was ignored"); }
  std::unique_ptr<Document>& slot = documents_[uri];
  if (slot && worker_up_ && !slot->quarantined) {
    // The editor opens the document again without closing it first. The worker gets it as a new document.
    pass(framed("", {{header::document, slot->number}, {header::close, 1}}));
  }
  if (slot) { mirrors_.close(slot->number); }
  slot = std::make_unique<Document>();
  slot->number = next_document_++;
  slot->uri = uri;
  slot->language = string_in(item, "languageId");
  slot->version = int_in(item, "version").value_or(0);
  slot->text = SyncedText(string_in(item, "text"));
  if (is_poisonous(*slot)) { return quarantine(*slot); }
  if (worker_up_) {
    pass(framed(body, {{header::document, slot->number}, {header::version, static_cast<uint64_t>(slot->version)}}));
  }
  jobs_.restore(uri, slot->version);
}

void Front::change(const Json& params, const std::string& body) {
  std::string uri = document_uri(params);
  Document* document = find_document(uri);
  if (document == nullptr) { return log(Error, fmt::format("a change of `{}`, which is not open, was ignored", uri)); }
  document->version = int_in(member(params, "textDocument"), "version").value_or(document->version + 1);
  ++edits_;
  if (traces_) { document->read[document->version] = read_at_; }
  // The worker gets the change first and analyses it while the front edits its own copy. If some content has crashed a worker before,
  // the front first checks that the new text is not that content.
  bool worker_first = worker_up_ && !document->quarantined && crashes_.empty();
  auto send_change = [&] {
    pass(framed(body, {{header::document, document->number}, {header::version, static_cast<uint64_t>(document->version)}}));
  };
  if (worker_first) { send_change(); }
  if (!document->text.apply_changes(member(params, "contentChanges"), encoding_)) {
    log(Error, fmt::format("a malformed change of `{}` was ignored", uri));
  }
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    if (pending->second.document == document->number && pending->second.row->scope == MethodScope::Text) {
      fail(pending->second.id, ErrorCode::ContentModified, "the text changed");
      pending = pending_.erase(pending);
    } else {
      ++pending;
    }
  }
  if (worker_first) { return; }
  if (is_poisonous(*document)) {
    if (worker_up_ && !document->quarantined) { pass(framed("", {{header::document, document->number}, {header::close, 1}})); }
    return quarantine(*document);
  }
  if (std::exchange(document->quarantined, false)) {
    send_open_to_worker(*document);
  } else if (worker_up_) {
    send_change();
  }
}

void Front::close(const Json& params, const std::string& body) {
  Document* document = find_document(document_uri(params));
  if (document == nullptr) { return; }
  uint64_t number = document->number;
  if (worker_up_ && !document->quarantined) { pass(framed(body, {{header::document, number}, {header::close, 1}})); }
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    if (pending->second.document == number) {
      fail(pending->second.id, ErrorCode::ContentModified, "the document was closed");
      pending = pending_.erase(pending);
    } else {
      ++pending;
    }
  }
  send(notification("textDocument/publishDiagnostics", {{"uri", document->uri}, {"diagnostics", Json::array()}}));
  mirrors_.close(number);
  documents_.erase(document->uri);
  closed_at_ = host_.now();
}

/// An edit was lost, so the front's copy differs from the text in the editor. The document is closed, because answers about another text would be
/// wrong.
void Front::lose(const std::string& uri) {
  if (find_document(uri) == nullptr) { return; }
  close({{"textDocument", {{"uri", uri}}}}, "");
  Json diagnostic = {{"range", to_json(TextRange{})},
                     {"severity", 1},
                     {"source", "loopsmith"},
                     {"code", "text-lost"},
                     {"message", "an edit of this file was lost by a fault of the server; close the file and open it again"}};
  send(notification("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", Json::array({diagnostic})}}));
}

void Front::cancel_request(const Json& id) {
  for (auto pending = pending_.begin(); pending != pending_.end(); ++pending) {
    if (pending->second.id == id) {
      if (worker_up_) { pass(framed("", {{header::cancel, pending->first}})); }
      fail(id, ErrorCode::RequestCancelled, "cancelled");
      pending_.erase(pending);
      return;
    }
  }
}

/// Cancels the request, or stops the job, that has this token.
void Front::cancel_progress(const Json& token) {
  auto asked = std::find_if(pending_.begin(), pending_.end(), [&](const auto& one) { return !token.is_null() && one.second.work_token == token; });
  if (asked != pending_.end()) { return cancel_request(Json(asked->second.id)); }
  jobs_.stop_by_token(token);
}

/// Shows the program at a place: same answer as `loopsmith/ir`; also opens the view in the editor.
void Front::replay_to(const Json& id, const Json& place) {
  std::string uri = document_uri(place);
  Document* document = find_document(uri);
  if (document == nullptr || document->quarantined) { return fail(id, ErrorCode::InvalidParams, fmt::format("`{}` is not open", uri)); }
  if (!position_from(member(place, "position"))) { return fail(id, ErrorCode::InvalidParams, "`position` is missing"); }
  Json params = {{"textDocument", {{"uri", uri}}}, {"position", member(place, "position")}};
  if (place.contains("stage")) { params["stage"] = place["stage"]; }
  const MethodRow* row = find_method("loopsmith/ir");
  Pending pending{.id = id, .row = row, .document = document->number, .since = host_.now(), .inserts = {}, .shows = true};
  forward(std::move(pending), to_text({{"jsonrpc", "2.0"}, {"id", id}, {"method", row->name}, {"params", std::move(params)}}));
}

void Front::show_view(const Pending& pending, const std::string& body) {
  std::string text = body;
  std::string why;
  auto answer = parse_json(text, why);
  const Json& view = answer ? member(*answer, "result") : member(Json(), "");
  if (answer && !answer->contains("error") && !view.is_object()) { return fail(pending.id, ErrorCode::RequestFailed, "no program or schedule is at the cursor"); }
  send_text(body);
  // Editors that know Loopsmith's views open the view themselves.
  bool has_views = bool_in(member(client_capabilities_, "experimental"), "loopsmithViews");
  if (!view.is_object() || has_views || !bool_in(member(member(client_capabilities_, "window"), "showDocument"), "support")) { return; }
  ask_client("window/showDocument", {{"uri", string_in(view, "uri")}, {"takeFocus", false}}, [](const Json&) {});
}

/// Writes a report from the worker's anonymous copy of the file and facts about this session. Returns the folder.
void Front::report(const Pending& pending, const std::string& body) {
  std::string text = body;
  std::string why;
  auto answer = parse_json(text, why);
  const Json& shown = answer ? member(*answer, "result") : member(Json(), "");
  if (!shown.is_object()) { return send_text(body); }
  bool is_python = pending.file.ends_with(".py");
  Json facts = report_facts(member(shown, "machine"));
  facts.update({{"client", client_info_},
                {"positions", encoding_name(encoding_)},
                {"documents", documents_.size()},
                {"crashes", {{"texts", crashes_.size()}, {"requests", request_crashes_.size()}, {"last", last_crash_}}},
                {"case", {{"codes", member(shown, "codes")}, {"left_out", member(shown, "left_out")}, {"language", is_python ? "python" : "tirscript"}}}});
  auto path = write_report(facts, shown, is_python ? "case.py" : "case.tir", &history_);
  if (!path) { return fail(pending.id, ErrorCode::RequestFailed, "the report cannot be written below XDG_STATE_HOME"); }
  reply(pending.id, {{"path", *path}, {"codes", member(shown, "codes")}, {"left_out", member(shown, "left_out")}});
}

/// Returns the command line of a REPL that follows a document: the REPL reads a mirror, which the front keeps up to date from then on.
void Front::attach_repl(const Json& id, const std::string& uri, std::optional<int64_t> line) {
  if (!is_trusted()) { return fail(id, ErrorCode::RequestFailed, not_trusted); }
  Document* document = find_document(uri);
  if (document == nullptr) { return fail(id, ErrorCode::InvalidParams, fmt::format("`{}` is not open", uri)); }
  std::string path = path_of(uri);
  std::string name = path.substr(path.find_last_of("/:") == std::string::npos ? 0 : path.find_last_of("/:") + 1);
  auto mirror = mirrors_.open(document->number, name.empty() || name == "." || name == ".." ? "text" : name, document->version, document->text.text);
  if (!mirror) { return fail(id, ErrorCode::RequestFailed, "the copy of the text that the REPL reads cannot be written"); }
  std::vector<std::string> command = {current_program(), "repl", "--attach", *mirror};
  if (line && *line >= 0) { command.insert(command.end(), {"--line", std::to_string(*line + 1)}); }
  command.push_back(path);
  reply(id, {{"command", command}, {"mirror", *mirror}});
}

/// Makes the edit that an attached REPL asks for: lines `first` to `last` of the text become `lines`, if the text is still the one that the REPL has read.
void Front::edit_from_repl(const std::string& uri, const Document& document, std::string edit) {
  uint64_t number = document.number;
  std::string why;
  auto asked = parse_json(edit, why);
  auto first = asked ? int_in(*asked, "first") : std::nullopt;
  auto last = asked ? int_in(*asked, "last") : std::nullopt;
  if (!first || !last) { return mirrors_.answer_edit(number, "the edit cannot be read"); }
  if (string_in(*asked, "text") != document.text.text) { return mirrors_.answer_edit(number, "the text in the editor has changed meanwhile; repeat the command"); }
  Json range = {{"start", {{"line", *first}, {"character", 0}}}, {"end", {{"line", *last}, {"character", int_in(*asked, "character").value_or(0)}}}};
  Json edits = {{{"range", range}, {"newText", string_in(*asked, "lines")}}};
  ask_client("workspace/applyEdit", {{"label", "Steps of the REPL"}, {"edit", {{"changes", {{uri, edits}}}}}}, [this, number](const Json& response) {
    bool is_applied = bool_in(member(response, "result"), "applied");
    std::string reason = string_in(member(response, "result"), "failureReason");
    mirrors_.answer_edit(number, is_applied ? "" : reason.empty() ? "the editor did not make the edit" : "the editor did not make the edit: " + reason);
  });
}

void Front::execute_command(const Json& id, const Json& params, std::string body) {
  std::string command = string_in(params, "command");
  const Json first = answered_argument(params, first_argument(params));
  if (auto kind = job_kind(command)) { return start_job(id, *kind, first); }
  if (command == pause_tune_command || command == resume_tune_command || command == stop_tune_command) { return steer_search(id, command, first); }
  if (command == insert_schedule_command) { return insert_found(id, first, std::move(body)); }
  if (command == replay_to_command) { return replay_to(id, first); }
  if (command == sizes_command) { return choose_sizes(id, params); }
  if (command == toggle_hints_command) { return toggle_hints(id); }
  if (command == attach_repl_command) { return attach_repl(id, document_uri(first), int_in(member(first, "position"), "line")); }
  bool is_edit = command == split_command || command == apply_schedule_command;
  bool is_question = command == explain_records_command || command == records_history_command || command == compare_schedules_command || command == report_bundle_command;
  if (!is_edit && !is_question) { return fail(id, ErrorCode::InvalidParams, fmt::format("unknown command `{}`", command)); }
  // The worker answers the other commands.
  std::string uri = document_uri(first);
  if (find_document(uri) == nullptr) { return fail(id, ErrorCode::InvalidParams, fmt::format("`{}` is not open", uri)); }
  Pending pending{.id = id, .row = find_method("workspace/executeCommand"), .document = 0, .since = host_.now(), .inserts = {}};
  if (is_edit) {
    pending.inserts = JobId{0};
    pending.label = command == split_command ? fmt::format("Split {}", string_in(first, "loop")) : fmt::format("Apply {}", string_in(first, "schedule"));
    body = to_text({{"jsonrpc", "2.0"}, {"id", id}, {"method", "workspace/executeCommand"}, {"params", {{"command", command}, {"arguments", Json::array({first})}}}});
  } else {
    pending.reports = command == report_bundle_command;
    pending.file = uri;
  }
  forward(std::move(pending), std::move(body));
}

/// The sizes chosen for the program that the argument of a command names, by their names.
auto Front::sizes_of(const Json& argument) const -> Json {
  auto found = sizes_.find({document_uri(argument), string_in(argument, "function")});
  return found == sizes_.end() ? Json() : found->second;
}

/// Keeps the answers, if there are any, and replies with the sizes in use.
void Front::choose_sizes(const Json& id, const Json& params) {
  const Json& argument = first_argument(params);
  if (Json chosen = answered_sizes(params); !chosen.is_null()) { sizes_[{document_uri(argument), string_in(argument, "function")}] = std::move(chosen); }
  reply(id, {{"sizes", sizes_of(argument)}});
}

/// True unless the setting is `false`: editors without workspace trust do not send it.
auto Front::is_trusted() const -> bool {
  const Json& trusted = member(configuration_, "trusted");
  return !trusted.is_boolean() || trusted.get<bool>();
}

void Front::start_job(const Json& id, JobKind kind, const Json& argument) {
  if (!is_trusted()) { return fail(id, ErrorCode::RequestFailed, not_trusted); }
  std::string uri = document_uri(argument);
  Document* document = find_document(uri);
  if (document == nullptr) { return fail(id, ErrorCode::InvalidParams, fmt::format("`{}` is not open", uri)); }
  JobRequest request{.uri = uri,
                     .function = string_in(argument, "function"),
                     .version = document->version,
                     .text = document->text.text,
                     .trials = int_in(argument, "trials"),
                     .seconds = {},
                     .target = string_in(argument, "target"),
                     .kind = kind,
                     .schedule = string_in(argument, "schedule"),
                     .other = kind == JobKind::Bench ? string_in(argument, "other") : std::string(),
                     .block = kind == JobKind::Interpret ? string_in(argument, "block") : std::string()};
  if (const Json& seconds = member(argument, "seconds"); seconds.is_number()) { request.seconds = seconds.get<double>(); }
  // Sizes that the program of this text still has.
  const Json chosen = sizes_of(argument);
  const Json& open = member(argument, "sizes");
  for (size_t i = 0; open.is_array() && i < open.size(); ++i) {
    if (auto size = open[i].is_string() ? int_in(chosen, open[i].get<std::string>().c_str()) : std::nullopt) { request.sizes[open[i].get<std::string>()] = *size; }
  }
  // Settings replace options that the command does not have: {"tune": {"seconds": 60, "trials": 256, "target": "llvm", "search": "guided", "space": "own"}}.
  const Json& tune = member(configuration_, "tune");
  if (kind == JobKind::Interpret) {
    // The interpreter has no target.
    request.target.clear();
  } else if (request.target.empty() && (request.kind == JobKind::Tune || request.schedule.empty())) {
    // A schedule has its own target; the time of code for another target would be wrong.
    request.target = string_in(tune, "target");
  }
  if (kind == JobKind::Tune) {
    request.search = argument.contains("search") ? string_in(argument, "search") : string_in(tune, "search");
    request.space = argument.contains("space") ? string_in(argument, "space") : string_in(tune, "space");
  }
  if (kind == JobKind::Tune && !request.trials && !request.seconds) {
    request.trials = int_in(tune, "trials");
    if (const Json& seconds = member(tune, "seconds"); seconds.is_number()) { request.seconds = seconds.get<double>(); }
  }
  auto [job, problem] = jobs_.start(std::move(request));
  if (!job) { return fail(id, ErrorCode::RequestFailed, problem); }
  reply(id, {{"job", *job}});
}

/// Pauses, resumes or stops the search that the argument names, by its job or by its document.
void Front::steer_search(const Json& id, std::string_view command, const Json& argument) {
  std::optional<JobId> job;
  if (auto number = int_in(argument, "job")) {
    job = static_cast<JobId>(*number);
  } else if (!(job = jobs_.searching(document_uri(argument)))) {
    return fail(id, ErrorCode::RequestFailed, "nothing is being tuned here");
  }
  if (command == stop_tune_command) {
    if (!jobs_.stop(*job)) { return fail(id, ErrorCode::InvalidParams, "no such job is running"); }
  } else if (command == pause_tune_command) {
    if (!jobs_.pause(*job)) { return fail(id, ErrorCode::RequestFailed, "no such search is running"); }
  } else if (jobs_.is_restored(*job)) {
    if (!is_trusted()) { return fail(id, ErrorCode::RequestFailed, not_trusted); }
    const Document* document = find_document(jobs_.uri_of(*job));
    if (document == nullptr) { return fail(id, ErrorCode::RequestFailed, "the file that was tuned is no longer open"); }
    std::string problem = jobs_.begin_again(*job, document->version, document->text.text);
    if (!problem.empty()) { return fail(id, ErrorCode::RequestFailed, problem); }
  } else if (!jobs_.resume(*job)) {
    return fail(id, ErrorCode::RequestFailed, "no such search is paused");
  }
  reply(id, nullptr);
}

/// Inserts the schedule that a job has found, or (`recorded`) the best in the tuning database: the worker answers with the edit.
void Front::insert_found(const Json& id, const Json& argument, std::string body) {
  // 0: a recorded schedule belongs to no job.
  std::optional<int64_t> job = bool_in(argument, "recorded") ? std::optional<int64_t>(0) : int_in(argument, "job");
  if (!job || (*job != 0 && !jobs_.knows(static_cast<JobId>(*job)))) { return fail(id, ErrorCode::InvalidParams, "no such job"); }
  forward({.id = id, .row = find_method("workspace/executeCommand"), .document = 0, .since = host_.now(), .inserts = static_cast<JobId>(*job)}, std::move(body));
}

void Front::toggle_hints(const Json& id) {
  bool is_shown = !bool_in(configuration_, "loopHints");
  configure({{"loopHints", is_shown}});
  if (worker_up_) { pass(framed(to_text(notification("workspace/didChangeConfiguration", {{"settings", {{"loopsmith", configuration_}}}})))); }
  const Json& pull = member(member(client_capabilities_, "workspace"), "diagnostics");
  if (bool_in(pull, "refreshSupport") && pulls_diagnostics(client_capabilities_, configuration_)) { ask_client("workspace/diagnostic/refresh", Json(), [](const Json&) {}); }
  reply(id, {{"shown", is_shown}});
}

// ---- to the client -------------------------------------------------------------------------------------------------

void Front::send(const Json& message) { send_text(to_text(message)); }

void Front::send_text(std::string_view body) {
  if (recorder_ != nullptr) { recorder_->from_server(body); }
  host_.to_client(framed(body));
}

void Front::log(int type, std::string_view message) {
  if (state_ != State::Running) { return; }
  send(notification("window/logMessage", {{"type", type}, {"message", message}}));
}

void Front::ask_client(std::string_view method, Json params, std::function<void(const Json&)> then) {
  std::string id = fmt::format("loopsmith-{}", next_question_++);
  asked_.emplace(id, std::move(then));
  Json message = {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}};
  if (!params.is_null()) { message["params"] = std::move(params); }
  send(message);
}

/// The server's state for an editor's status line: the parameters of `experimental/serverStatus`, as rust-analyzer defined it.
auto Front::status() const -> Json {
  std::string message;
  auto add = [&](const std::string& text) { message += (message.empty() ? "" : "\n") + text; };
  const char* health = "ok";
  std::vector<const Document*> aside;
  for (const auto& [uri, document] : documents_) {
    if (document->quarantined) { aside.push_back(document.get()); }
  }
  std::sort(aside.begin(), aside.end(), [](const Document* a, const Document* b) { return a->number < b->number; });
  for (const Document* document : aside) {
    health = "warning";
    add(fmt::format("{} is set aside: its analysis crashed; edit it to analyse it again", document->uri.substr(document->uri.rfind('/') + 1)));
  }
  if (!worker_up_) {
    bool fails_again = restarts_.size() > restart_limit;
    health = fails_again || last_crash_.empty() ? "error" : "warning";
    add(last_crash_.empty() ? "the analysis worker cannot be started" : last_crash_ + (fails_again ? " repeatedly; it restarts in a moment" : "; it restarts"));
  }
  if (std::string work = jobs_.summary(); !work.empty()) { add(work); }
  bool is_quiet = worker_up_ && rests_ && pending_.empty();
  return {{"health", health}, {"quiescent", is_quiet}, {"message", message}};
}

void Front::send_status() {
  if (state_ != State::Running || !bool_in(member(client_capabilities_, "experimental"), "serverStatusNotification")) { return; }
  Json now = status();
  if (now == sent_status_) { return; }
  sent_status_ = now;
  send(notification("experimental/serverStatus", std::move(now)));
}

}  // namespace loopsmith::lsp
