// The threads of the worker, the queue between them, and the frames that change its state: see worker.h.
#include "lsp/worker/worker.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "ir/memory.h"
#include "lsp/protocol/jobs.h"
#include "lsp/protocol/uri.h"
#include "lsp/worker/faults.h"
#include "support/memory.h"

namespace loopsmith::lsp {
namespace {

/// The time between two checks of files that other programs write: imported files and the records of searches.
constexpr auto look_gap = std::chrono::seconds(1);

/// The path of docs/diagnostics.md, installed beside the program or in the source tree; empty: not found.
auto manual_uri() -> std::string {
  std::array<char, 4096> path{};
  ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) { return {}; }
  std::string folder(path.data(), static_cast<size_t>(size));
  for (int up = 0; up < 5; ++up) {
    size_t slash = folder.rfind('/');
    if (slash == std::string::npos) { break; }
    folder.resize(slash);
    for (const char* place : {"/share/doc/loopsmith/diagnostics.md", "/docs/diagnostics.md"}) {
      std::string file = folder + place;
      if (::access(file.c_str(), R_OK) != 0) { continue; }
      return uri_of(file);
    }
  }
  return {};
}

}  // namespace

auto is_edit_of(const Frame& frame, uint64_t document) -> bool {
  return frame.number(header::document) == document && !frame.number(header::ticket) && !frame.number(header::close);
}

void Worker::write(const std::string& bytes) {
  std::lock_guard lock(write_mutex_);
  std::string_view left = bytes;
  while (!left.empty()) {
    ssize_t written = ::write(output_, left.data(), left.size());
    if (written < 0) {
      if (errno == EINTR) { continue; }
      // The front has ended, so no answer is needed.
      ::_exit(0);
    }
    left.remove_prefix(static_cast<size_t>(written));
  }
}

// ---- the reader thread ----------------------------------------------------------------------------------------

void Worker::take(Frame frame) {
  if (frame.number(header::ping)) {
    return write(framed("", {{header::ping, CancelToken::polls()}}));
  }
  std::lock_guard lock(mutex_);
  ++taken_;
  if (auto ticket = frame.number(header::cancel)) {
    if (*ticket == current_ticket_) {
      current_.cancel();
    } else {
      cancelled_[*ticket] = true;
    }
  } else {
    auto document = frame.number(header::document);
    bool is_edit = document && !frame.number(header::ticket);
    if (current_yields_ || (is_edit && *document == current_document_)) { current_.cancel(); }
    arrived_.push_back(std::move(frame));
  }
  changed_.notify_one();
}

void Worker::end_of_input() {
  std::lock_guard lock(mutex_);
  ended_ = true;
  current_.cancel();
  changed_.notify_one();
}

// ---- the analysis thread --------------------------------------------------------------------------------------

void Worker::analyse() {
  while (true) {
    std::optional<Frame> frame;
    {
      std::unique_lock lock(mutex_);
      auto needs_work = [this] {
        return std::any_of(documents_.begin(), documents_.end(), [](const auto& open) { return open->needs_check || open->needs_replay; });
      };
      if (arrived_.empty() && !ended_ && !needs_work()) {
        if (std::exchange(has_closed_, false)) {
          records_.forget();
          give_nodes_back();
          give_memory_back();
        }
        if (uint64_t taken = taken_; std::exchange(rested_at_, taken) != taken) {
          lock.unlock();
          write(framed("", {{header::rest, taken}}));
          continue;
        }
        auto has_news = [this] { return !arrived_.empty() || ended_; };
        bool looks = (imports_ != nullptr && !imports_->is_empty()) || (refreshes_lenses_ && !documents_.empty());
        if (!looks) {
          changed_.wait(lock, has_news);
        } else if (!changed_.wait_for(lock, look_gap, has_news)) {
          lock.unlock();
          refresh_imports();
          refresh_records();
          continue;
        }
      }
      if (arrived_.empty() && ended_) { return; }
      if (!arrived_.empty()) {
        frame = std::move(arrived_.front());
        arrived_.pop_front();
        if (is_stale(*frame)) { continue; }
      }
    }
    if (frame) {
      handle(std::move(*frame));
      continue;
    }
    auto unchecked = std::find_if(documents_.begin(), documents_.end(), [](const auto& open) { return open->needs_check; });
    if (unchecked != documents_.end()) {
      check(**unchecked);
    } else {
      replay_one();
    }
    answer_settled();
  }
}

/// True for a request about a text that a later edit in the queue replaces; the front has already answered it. Called under the mutex.
auto Worker::is_stale(const Frame& frame) -> bool {
  auto ticket = frame.number(header::ticket);
  auto document = frame.number(header::document);
  if (!ticket || !document || *document == 0) { return false; }
  bool is_replaced = std::any_of(arrived_.begin(), arrived_.end(), [&](const Frame& later) { return is_edit_of(later, *document); });
  if (!is_replaced) { return false; }
  std::string body = frame.body;
  std::string why;
  auto message = parse_json(body, why);
  const MethodRow* row = message ? find_method(string_in(*message, "method")) : nullptr;
  if (row == nullptr || row->scope != MethodScope::Text) { return false; }
  cancelled_.erase(*ticket);
  return true;
}

/// Removes the later edits of a document from the queue, so that the texts between them are never analysed.
auto Worker::later_edits(uint64_t document) -> std::vector<Frame> {
  std::lock_guard lock(mutex_);
  std::vector<Frame> later;
  if (std::none_of(arrived_.begin(), arrived_.end(), [&](const Frame& frame) { return is_edit_of(frame, document); })) { return later; }
  std::deque<Frame> kept;
  while (!arrived_.empty()) {
    Frame frame = std::move(arrived_.front());
    arrived_.pop_front();
    if (is_edit_of(frame, document)) {
      later.push_back(std::move(frame));
    } else if (!is_stale(frame)) {
      kept.push_back(std::move(frame));
    }
  }
  arrived_ = std::move(kept);
  return later;
}

void Worker::handle(Frame frame) {
  auto ticket = frame.number(header::ticket);
  OpenDocument* open = find(frame.number(header::document).value_or(0));
  if (frame.number(header::close)) {
    std::string path = open != nullptr ? open->path : std::string();
    std::erase_if(documents_, [&](const auto& candidate) { return candidate.get() == open; });
    has_closed_ = true;
    // From now on, documents that import the closed file read it from the disk.
    if (documents_.empty()) { imports_ = nullptr; } else { refresh_imports_of(path); }
    return;
  }
  std::string why;
  auto message = parse_json(frame.body, why);
  if (!message) { return; }
  std::string name = string_in(*message, "method");
  const Json& params = member(*message, "params");
  if (!ticket) { return notified(name, open, frame, params); }
  if (name == "textDocument/hover" && peaks_written() != peaks_written_) { set_machine(Json(machine_options_)); }
  Request request{*ticket, open != nullptr ? open->number : 0, nullptr, member(*message, "id"), params};
  const MethodRow* row = find_method(name);
  if (row != nullptr) { request.route = find_route(row->method); }
  if (request.route != nullptr && lane_of(*request.route, request.params) == Lane::Settled) {
    settled_.push_back(std::move(request));
    return answer_settled();
  }
  answer(request);
  // Before a completion, the schedules may have run that other requests wait for.
  answer_settled();
}

void Worker::notified(const std::string& name, OpenDocument* open, const Frame& frame, const Json& params) {
  misbehave_if_message_asks(params);
  if (name == "textDocument/didOpen") { return this->open(frame, params); }
  if (name == "textDocument/didChange" && open != nullptr) { return change(*open, frame, params); }
  if (name == "loopsmith/start") { start(params); }
  if (name == job_method) { job_changed(params); }
  if (name == "loopsmith/folders") { set_folders(params); }
  if (name == "workspace/didChangeConfiguration") {
    const Json& settings = member(params, "settings");
    const Json& ours = member(settings, "loopsmith");
    set_machine(ours.is_object() ? ours : settings);
    set_hints(ours.is_object() ? ours : settings);
  }
}

/// Handles the first frame: the client's capabilities and options.
void Worker::start(const Json& params) {
  encoding_ = static_cast<Encoding>(int_in(params, "encoding").value_or(1));
  capabilities_ = member(params, "capabilities");
  const Json& publish = member(member(capabilities_, "textDocument"), "publishDiagnostics");
  const Json& pull = member(member(capabilities_, "textDocument"), "diagnostic");
  if (bool_in(publish, "codeDescriptionSupport") || bool_in(pull, "codeDescriptionSupport")) { manual_ = manual_uri(); }
  links_ = manual_uri();
  set_machine(member(params, "configuration"));
  loop_hints_ = bool_in(member(params, "configuration"), "loopHints");
  set_folders(params);
  refreshes_lenses_ = bool_in(member(member(capabilities_, "workspace"), "codeLens"), "refreshSupport");
  records_seen_ = records_.written();
  pulls_ = pulls_diagnostics(capabilities_, member(params, "configuration"));
}

void Worker::job_changed(const Json& params) {
  auto job = job_from(params);
  if (!job) { return; }
  keep_job(*job);
  // The result of a comparison is also a diagnostic of the text.
  if (job->kind != JobKind::Verify || !job->is_done()) { return; }
  for (const auto& open : documents_) {
    if (!pulls_ && open->document->snapshot()->name() == job->uri && !open->needs_check && !open->needs_replay) { publish(*open); }
  }
}

void Worker::keep_job(JobFacts job) {
  if (job.phase == JobPhase::Gone) {
    jobs_.erase(job.job);
    return;
  }
  if (job.kind != JobKind::Tune) {
    // The result belongs to the text that the job was started with.
    for (const auto& open : documents_) {
      workspace::SnapshotPtr snapshot = open->document->snapshot();
      if (snapshot->name() != job.uri || snapshot->version() != job.version) { continue; }
      job.text_hash = hash_of_declarations(*snapshot, job.function, job.schedule);
      if (!job.other.empty()) { job.text_hash = hash_combine(job.text_hash, hash_of_declarations(*snapshot, job.function, job.other)); }
    }
    if (auto earlier = jobs_.find(job.job); earlier != jobs_.end()) { job.text_hash = earlier->second.text_hash; }
    // The newest measurement replaces earlier ones of the same program or schedule.
    std::erase_if(jobs_, [&](const auto& one) {
      return one.first != job.job && (job.kind != JobKind::Verify || job.is_done()) && one.second.kind == job.kind && one.second.uri == job.uri && one.second.function == job.function && one.second.schedule == job.schedule && one.second.other == job.other;
    });
  }
  jobs_[job.job] = std::move(job);
}

/// Checked once a second at most, so that editors need not watch the file for the server.
auto Worker::peaks_written() -> int64_t {
  if (Clock::now() < look_again_) { return peaks_written_; }
  look_again_ = in(std::chrono::seconds(1));
  return peaks_file_written();
}

void Worker::set_machine(const Json& options) {
  machine_options_ = options;
  // Later changes are found relative to the file that is read now, even if the last check was a moment ago.
  look_again_ = {};
  peaks_written_ = peaks_written();
  machine_ = machine_facts(options);
}

auto Worker::find(uint64_t number) -> OpenDocument* {
  for (const auto& open : documents_) {
    if (open->number == number) { return open.get(); }
  }
  return nullptr;
}

}  // namespace loopsmith::lsp
