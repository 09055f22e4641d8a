// The analysis worker: see analysis.h.
#include "lsp/worker/analysis.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "ir/memory.h"
#include "lsp/protocol/framing.h"
#include "lsp/protocol/jobs.h"
#include "lsp/protocol/sync.h"
#include "lsp/protocol/uri.h"
#include "lsp/worker/routes.h"
#include "lsp/features/measured.h"
#include "lsp/worker/records.h"
#include "support/hash.h"
#include "support/memory.h"
#include "support/process.h"
#include "target/hardware.h"
#include "target/peaks.h"
#include "workspace/imports.h"

namespace loopsmith::lsp {
namespace {

/// Deep input is bounded everywhere; this is room for what is allowed, in checked builds too.
constexpr size_t analysis_stack = 256 << 20;

/// A replay that takes longer than this is told of, and how often.
constexpr auto progress_after = std::chrono::milliseconds(150);
constexpr auto progress_gap = std::chrono::milliseconds(100);

/// Schedules that are run in less than this are run before a completion is answered, which mostly takes longer: what is wrong is told with the key.
constexpr auto brief = std::chrono::milliseconds(4);

auto faults_allowed() -> bool {
  static const bool allowed = std::getenv("LOOPSMITH_TEST_FAULT") != nullptr;
  return allowed;
}

/// Does what a fault in our own code would do: a crash, an exception, a loop without end.
void misbehave(std::string_view kind) {
  auto asked = [&](std::string_view fault) { return kind.starts_with(fault); };
  if (asked("throw")) { throw std::runtime_error("a fault that a test asked for"); }
  if (asked("allocation")) { throw std::bad_alloc(); }
  if (asked("segfault")) { ::raise(SIGSEGV); }
  if (asked("kill")) { ::raise(SIGKILL); }
  if (asked("abort")) { std::abort(); }
  if (asked("exit")) { ::_exit(0); }
  if (asked("spin")) {
    for (volatile int i = 0;; i = i + 1) {}
  }
  if (asked("overflow")) {
    // Not a tail call: every level needs its own array.
    struct Deep {
      static auto down(int level) -> int {
        volatile char space[4096];
        space[0] = static_cast<char>(level);
        return level < 0 ? 0 : down(level + 1) + space[0];
      }
    };
    std::exit(Deep::down(0));
  }
  if (asked("memory")) {
    while (true) {
      auto* much = static_cast<char*>(std::malloc(64 << 20));
      if (much == nullptr) { std::abort(); }
      for (size_t i = 0; i < (64U << 20U); i += 4096) { much[i] = 1; }
    }
  }
}

/// What tests do to a worker: with LOOPSMITH_TEST_FAULT in the environment it misbehaves on a document whose text contains
/// "FAULT:segfault" and the like, and in the handler of a message whose parameters have `"fault": "segfault"`.
void misbehave_if_asked(std::string_view text) {
  if (!faults_allowed()) { return; }
  size_t at = text.find("FAULT:");
  if (at != std::string_view::npos) { misbehave(text.substr(at + 6)); }
}
void misbehave_if_told(const Json& params) {
  if (faults_allowed()) { misbehave(string_in(params, "fault")); }
}

/// How often files that others write are looked at: those that are imported, and the records of searches.
constexpr auto look_gap = std::chrono::seconds(1);

/// docs/diagnostics.md, installed beside the program or in the tree it was built in; empty: neither.
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

/// Edits come with the number of a document and nothing else; what opens it came before.
auto is_edit_of(const Frame& frame, uint64_t document) -> bool {
  return frame.number(header::document) == document && !frame.number(header::ticket) && !frame.number(header::close);
}

class Worker {
 public:
  explicit Worker(int output) : output_(output) {}

  void take(Frame frame);
  void end_of_input();
  void analyse();

 private:
  struct OpenDocument {
    uint64_t number = 0;
    std::string path;
    std::unique_ptr<workspace::Document> document;
    bool needs_check = true;
    bool needs_replay = true;
    std::string published;  // the message sent last
    bool shows_schedules = false;  // with what schedules found
    std::string checked;    // diagnostics of the last check, before schedules ran
    SentTokens sent_tokens;
    JudgedState judged;
    std::string marks = "[]";   // of schedules, as they were told last
    Clock::time_point waits_since{};        // since when its schedules are to be run
    std::map<std::string, int64_t> served;  // views by their addresses, and the version each is of
  };
  struct Request {
    uint64_t ticket = 0;
    uint64_t document = 0;
    const Route* route = nullptr;
    Json id;
    Json params;
  };

  void handle(Frame frame);
  void open(const Frame& frame, const Json& params);
  void change(OpenDocument& open, const Frame& frame, const Json& params);
  [[nodiscard]] auto is_stale(const Frame& frame) -> bool;
  auto later_edits(uint64_t document) -> std::vector<Frame>;
  void note_job(const Json& params);
  void take_job(const Json& params);
  void note_machine(const Json& options);
  void note_hints(const Json& options);
  void note_folders(const Json& params);
  [[nodiscard]] auto peaks_written() -> int64_t;
  void check(OpenDocument& open);
  void look_at_imports();
  void look_at_imports_of(const std::string& path);
  void look_at_records();
  auto replay_one() -> bool;
  void replay_briefly(OpenDocument& open);
  void tell_replayed(OpenDocument& open);
  void publish(OpenDocument& open);
  void tell_views(OpenDocument& open);
  void tell_progress(OpenDocument& open, const std::vector<ReplayMark>& marks);
  void answer(const Request& request);
  void answer_settled();
  [[nodiscard]] auto find(uint64_t number) -> OpenDocument*;
  void write(const std::string& bytes);

  /// Tells the front what work is on, so that it knows whom to blame: a text, or a request about it (or about none).
  class Working {
   public:
    Working(Worker& worker, const OpenDocument* open, uint64_t ticket = 0) : worker_(worker) {
      uint64_t number = open != nullptr ? open->number : 0;
      auto version = static_cast<uint64_t>(open != nullptr ? open->document->snapshot()->version() : 0);
      worker_.write(framed("", {{header::working, 1}, {header::document, number}, {header::version, version}, {header::blamed, ticket}}));
    }
    ~Working() { worker_.write(framed("", {{header::working, 0}})); }

   private:
    Worker& worker_;
  };

  int output_;
  std::mutex write_mutex_;

  // Between the threads, under the mutex.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Frame> arrived_;
  uint64_t taken_ = 0;         // frames, signs of life not counted
  bool ended_ = false;
  CancelSource current_;       // stops what the analysis thread does now
  bool current_yields_ = false;  // anything new stops it (replaying schedules), not only what makes it stale
  uint64_t current_ticket_ = 0;
  uint64_t current_document_ = 0;
  std::unordered_map<uint64_t, bool> cancelled_;  // tickets given up before they were begun

  // The analysis thread's own.
  uint64_t rested_at_ = 0;     // frames taken when the front was last told that there is nothing to do
  Encoding encoding_ = Encoding::Utf16;
  Json capabilities_;
  Machine machine_;              // what hovers compare with: the options `caches` and `peaks`, or this machine
  Json machine_options_;
  int64_t peaks_written_ = 0;    // as of `machine_`
  Deadline look_again_{};
  bool pulls_ = false;           // the client asks for diagnostics
  bool loop_hints_ = false;      // hints say why loops are not vectorized
  std::string manual_;           // where diagnostics are explained; empty: the editor does not ask, or it is not there
  std::string links_;            // the same, for links in texts
  std::vector<std::string> folders_;
  Deadline too_large_until_{};
  /// Open documents as the editor has them, others as they are written.
  class Texts final : public workspace::TextsOnDisk {
   public:
    explicit Texts(const Worker& worker) : worker_(worker) {}
    auto stamp(const std::string& path) -> std::optional<uint64_t> override {
      const OpenDocument* open = find(path);
      return open != nullptr ? hash_combine(open->number, hash_bytes(open->document->snapshot()->text())) : TextsOnDisk::stamp(path);
    }
    auto text(const std::string& path) -> std::optional<std::string> override {
      const OpenDocument* open = find(path);
      return open != nullptr ? open->document->snapshot()->text() : TextsOnDisk::text(path);
    }

   private:
    [[nodiscard]] auto find(const std::string& path) const -> const OpenDocument* {
      for (const auto& open : worker_.documents_) {
        if (open->path == path) { return open.get(); }
      }
      return nullptr;
    }
    const Worker& worker_;
  };
  std::shared_ptr<workspace::Imports> imports_;   // of open documents; null: none is open
  std::vector<std::unique_ptr<OpenDocument>> documents_;
  bool has_closed_ = false;      // one, since memory was given back
  std::map<uint64_t, JobFacts> jobs_;
  Records records_;
  bool refreshes_lenses_ = false;   // the client does, when it is told to
  int64_t records_seen_ = 0;     // when their file was written, as of the last look
  std::map<uint64_t, double> bests_;   // of the programs that were open at the last look: what is recorded of them
  std::optional<target::Peaks> peaks_;   // what `machine_` says of all cores
  std::deque<Request> settled_;  // wait until all is known of their document
};

void Worker::write(const std::string& bytes) {
  std::lock_guard lock(write_mutex_);
  std::string_view left = bytes;
  while (!left.empty()) {
    ssize_t written = ::write(output_, left.data(), left.size());
    if (written < 0) {
      if (errno == EINTR) { continue; }
      // The front is gone: nobody is left to work for.
      ::_exit(0);
    }
    left.remove_prefix(static_cast<size_t>(written));
  }
}

// ---- the reader thread ---------------------------------------------------------------------------------------------

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

// ---- the analysis thread -------------------------------------------------------------------------------------------

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
          look_at_imports();
          look_at_records();
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

/// A question about a text that an edit behind it in the queue replaces: the front has answered it. Under the mutex.
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

/// Edits of a document that wait behind one, out of the queue: the texts between need no look.
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
    // Those that import it have it as it is written from now on.
    if (documents_.empty()) { imports_ = nullptr; } else { look_at_imports_of(path); }
    return;
  }
  std::string why;
  auto message = parse_json(frame.body, why);
  if (!message) { return; }
  std::string name = string_in(*message, "method");
  const Json& params = member(*message, "params");
  if (!ticket) {
    misbehave_if_told(params);
    if (name == "textDocument/didOpen") { return this->open(frame, params); }
    if (name == "textDocument/didChange" && open != nullptr) { return change(*open, frame, params); }
    if (name == "loopsmith/start") {
      encoding_ = static_cast<Encoding>(int_in(params, "encoding").value_or(1));
      capabilities_ = member(params, "capabilities");
      const Json& publish = member(member(capabilities_, "textDocument"), "publishDiagnostics");
      const Json& pull = member(member(capabilities_, "textDocument"), "diagnostic");
      if (bool_in(publish, "codeDescriptionSupport") || bool_in(pull, "codeDescriptionSupport")) { manual_ = manual_uri(); }
      links_ = manual_uri();
      note_machine(member(params, "configuration"));
      loop_hints_ = bool_in(member(params, "configuration"), "loopHints");
      note_folders(params);
      refreshes_lenses_ = bool_in(member(member(capabilities_, "workspace"), "codeLens"), "refreshSupport");
      records_seen_ = records_.written();
      pulls_ = pulls_diagnostics(capabilities_, member(params, "configuration"));
    }
    if (name == job_method) { note_job(params); }
    if (name == "loopsmith/folders") { note_folders(params); }
    if (name == "workspace/didChangeConfiguration") {
      const Json& settings = member(params, "settings");
      const Json& ours = member(settings, "loopsmith");
      note_machine(ours.is_object() ? ours : settings);
      note_hints(ours.is_object() ? ours : settings);
    }
    return;
  }
  if (name == "textDocument/hover" && peaks_written() != peaks_written_) { note_machine(Json(machine_options_)); }
  Request request{*ticket, open != nullptr ? open->number : 0, nullptr, member(*message, "id"), params};
  const MethodRow* row = find_method(name);
  if (row != nullptr) { request.route = find_route(row->method); }
  if (request.route != nullptr && lane_of(*request.route, request.params) == Lane::Settled) {
    settled_.push_back(std::move(request));
    return answer_settled();
  }
  answer(request);
  // A completion may have run what others waited for.
  answer_settled();
}

void Worker::open(const Frame& frame, const Json& params) {
  auto open = std::make_unique<OpenDocument>();
  const Json& item = member(params, "textDocument");
  open->number = frame.number(header::document).value_or(0);
  auto version = static_cast<int64_t>(frame.number(header::version).value_or(0));
  std::string text = string_in(item, "text");
  // The blame must be laid before the text is looked at.
  write(framed("", {{header::working, 1}, {header::document, open->number}, {header::version, static_cast<uint64_t>(version)}}));
  misbehave_if_asked(text);
  std::string uri = string_in(item, "uri");
  open->path = path_of(uri);
  if (imports_ == nullptr) { imports_ = std::make_shared<workspace::Imports>(std::make_shared<Texts>(*this), folders_); }
  open->document = std::make_unique<workspace::Document>(std::move(uri), version, std::move(text), imports_->of(open->path));
  write(framed("", {{header::working, 0}}));
  open->waits_since = Clock::now();
  std::string path = open->path;
  documents_.push_back(std::move(open));
  look_at_imports_of(path);
}

void Worker::change(OpenDocument& open, const Frame& frame, const Json& params) {
  std::vector<Json> messages = {params};
  auto version = frame.number(header::version).value_or(0);
  for (Frame& later : later_edits(open.number)) {
    std::string why;
    auto message = parse_json(later.body, why);
    if (!message) { continue; }
    misbehave_if_told(member(*message, "params"));
    version = later.number(header::version).value_or(version);
    messages.push_back(member(*message, "params"));
  }
  write(framed("", {{header::working, 1}, {header::document, open.number}, {header::version, version}}));
  std::vector<Json> changes;
  for (const Json& one : messages) {
    const Json& list = member(one, "contentChanges");
    if (list.is_array()) { changes.insert(changes.end(), list.begin(), list.end()); }
  }
  if (changes.size() == 1) {
    workspace::SnapshotPtr before = open.document->snapshot();
    auto edit = edit_from(changes.front(), before->text(), before->lines(), encoding_);
    before.reset();
    if (edit) { open.document->edit(static_cast<int64_t>(version), edit->replaced, edit->text); }
  } else if (!changes.empty()) {
    for (const ByteEdit& edit : joined_edits(changes, SyncedText(open.document->snapshot()->text()), encoding_)) {
      open.document->edit(static_cast<int64_t>(version), edit.replaced, edit.text);
    }
  }
  open.document->set_version(static_cast<int64_t>(version));
  open.needs_check = true;
  if (!open.needs_replay) { open.waits_since = Clock::now(); }
  open.needs_replay = true;
  // An edit that is alone is analysed at once; the front's books are settled by what follows.
  bool is_last = false;
  {
    std::lock_guard lock(mutex_);
    is_last = arrived_.empty();
  }
  if (is_last) {
    check(open);
  } else {
    write(framed("", {{header::working, 0}}));
  }
  look_at_imports_of(open.path);
}

void Worker::note_job(const Json& params) {
  take_job(params);
  // What a comparison found stands in the text, until another one has come to an end.
  if (auto job = job_from(params); !job || job->kind != JobKind::Verify || !job->is_done()) { return; }
  std::string uri = string_in(params, "uri");
  for (const auto& open : documents_) {
    if (!pulls_ && open->document->snapshot()->name() == uri && !open->needs_check && !open->needs_replay) { publish(*open); }
  }
}

void Worker::take_job(const Json& params) {
  auto known = job_from(params);
  if (!known) { return; }
  JobFacts job = std::move(*known);
  if (job.phase == JobPhase::Gone) {
    jobs_.erase(job.job);
    return;
  }
  if (job.kind != JobKind::Tune) {
    // What it says is of the text that it was started with.
    for (const auto& open : documents_) {
      workspace::SnapshotPtr snapshot = open->document->snapshot();
      if (snapshot->name() != job.uri || snapshot->version() != job.version) { continue; }
      job.text_hash = hash_of_declarations(*snapshot, job.function, job.schedule);
      if (!job.other.empty()) { job.text_hash = hash_combine(job.text_hash, hash_of_declarations(*snapshot, job.function, job.other)); }
    }
    if (auto earlier = jobs_.find(job.job); earlier != jobs_.end()) { job.text_hash = earlier->second.text_hash; }
    // The newest measurement of a thing stands for it.
    std::erase_if(jobs_, [&](const auto& one) {
      return one.first != job.job && (job.kind != JobKind::Verify || job.is_done()) && one.second.kind == job.kind && one.second.uri == job.uri && one.second.function == job.function && one.second.schedule == job.schedule && one.second.other == job.other;
    });
  }
  jobs_[job.job] = std::move(job);
}

/// When the file of measured peaks was written; 0: there is none. Looked at once a second at most: editors need not watch it for us.
auto Worker::peaks_written() -> int64_t {
  if (Clock::now() < look_again_) { return peaks_written_; }
  look_again_ = in(std::chrono::seconds(1));
  struct stat facts {};
  static const std::string file = target::peaks_file();
  return file.empty() || ::stat(file.c_str(), &facts) != 0 ? 0 : facts.st_mtim.tv_sec * 1000000000 + facts.st_mtim.tv_nsec;
}

void Worker::note_machine(const Json& options) {
  machine_options_ = options;
  // The file that is read now is the one that later ones are compared with, however short ago there was a look.
  look_again_ = {};
  peaks_written_ = peaks_written();
  machine_ = {};
  peaks_ = {};
  const Json& caches = member(options, "caches");
  const Json& peaks = member(options, "peaks");
  auto number = [](const Json& json) { return json.is_number() ? json.get<double>() : 0; };
  // What the options do not describe is this machine's.
  if (caches.is_array()) {
    for (const Json& size : caches) {
      if (size.is_number_unsigned() && size.get<uint64_t>() > 0) { machine_.caches.push_back(size.get<uint64_t>()); }
    }
  } else {
    target::Hardware hardware = target::hardware(target::host());
    for (const target::Cache& cache : {hardware.l1, hardware.l2, hardware.l3}) {
      if (cache.bytes > 0) { machine_.caches.push_back(cache.bytes); }
    }
  }
  if (peaks.is_object()) {
    machine_.flops = number(member(peaks, "gflops")) * 1e9;
    if (double rate = number(member(peaks, "gbytes")) * 1e9; rate > 0) { machine_.rates.push_back({0, rate}); }
    peaks_ = target::Peaks{.fma_f32_one = machine_.flops * 1e-9, .fma_f32_all = machine_.flops * 1e-9, .threads = 1, .copy = {{0, number(member(peaks, "gbytes")), number(member(peaks, "gbytes"))}}};
    return;
  }
  peaks_ = target::cached_peaks();
  if (const auto& known = peaks_) {
    machine_.flops = known->fma_f32_one * 1e9;
    for (const target::CopyRate& rate : known->copy) { machine_.rates.push_back({rate.footprint, rate.one * 1e9}); }
  }
}

/// Options that do not speak of it leave it as it is.
void Worker::note_hints(const Json& options) {
  if (!member(options, "loopHints").is_boolean() || std::exchange(loop_hints_, bool_in(options, "loopHints")) == bool_in(options, "loopHints")) { return; }
  for (const auto& open : documents_) {
    if (!open->needs_check && !open->needs_replay) { publish(*open); }
  }
}

void Worker::note_folders(const Json& params) {
  folders_.clear();
  too_large_until_ = {};
  for (const Json& uri : member(params, "folders")) {
    std::string path = uri.is_string() ? path_of(uri.get<std::string>()) : std::string();
    while (path.size() > 1 && path.ends_with('/')) { path.pop_back(); }
    if (path.starts_with('/')) { folders_.push_back(std::move(path)); }
  }
  if (imports_ == nullptr) { return; }
  imports_->set_roots(folders_);
  for (const auto& open : documents_) {
    if (!open->document->imports_have_changed()) { continue; }
    open->needs_check = open->needs_replay = true;
  }
}

/// Who imports a file that has another text now is checked again.
void Worker::look_at_imports() {
  if (imports_ == nullptr || !imports_->refresh()) { return; }
  for (const auto& open : documents_) {
    if (open->needs_check || !open->document->imports_have_changed()) { continue; }
    open->needs_check = true;
    if (!open->needs_replay) { open->waits_since = Clock::now(); }
    open->needs_replay = true;
  }
}
void Worker::look_at_imports_of(const std::string& path) {
  if (imports_ != nullptr && imports_->asked_for(path)) { look_at_imports(); }
}

/// Who tunes beside the editor finds what lenses over its programs should say.
void Worker::look_at_records() {
  int64_t written = records_.written();
  if (!refreshes_lenses_ || documents_.empty() || std::exchange(records_seen_, written) == written) { return; }
  std::map<uint64_t, double> bests;
  for (const auto& open : documents_) {
    for (const workspace::Program& program : open->document->snapshot()->programs()) {
      auto best = program.module && !program.is_inside ? records_.best(program.module) : std::nullopt;
      if (best) { bests[records_.hash_of(program.module)] = best->best.median_seconds; }
    }
  }
  if (std::exchange(bests_, bests) != bests) { write(framed("", {{header::records, 1}})); }
}

void Worker::check(OpenDocument& open) {
  Working working(*this, &open);
  misbehave_if_asked(open.document->snapshot()->text());
  open.document->check();
  open.needs_check = false;
  // Errors of a schedule that is edited would go away and come back with the next moment's replay. They stay, where
  // nothing else is to be told.
  workspace::SnapshotPtr snapshot = open.document->snapshot();
  std::string checked = to_text(diagnostics_message(*snapshot, encoding_)["params"]["diagnostics"]);
  bool is_news = std::exchange(open.checked, checked) != checked;
  if (is_news || !open.shows_schedules || open.document->has_schedule_findings() || (loop_hints_ && !open.needs_replay)) {
    publish(open);
  } else if (!pulls_) {
    write(framed("", {{header::unchanged, 1}, {header::document, open.number}, {header::version, static_cast<uint64_t>(snapshot->version())}}));
  }
}

/// Schedules of one document; stopped by whatever arrives, and taken up again later.
auto Worker::replay_one() -> bool {
  auto found = std::find_if(documents_.begin(), documents_.end(), [](const auto& open) { return open->needs_replay; });
  if (found == documents_.end()) { return false; }
  OpenDocument& open = **found;
  CancelToken token;
  {
    std::lock_guard lock(mutex_);
    if (!arrived_.empty() || ended_) { return false; }
    current_ = CancelSource();
    current_yields_ = true;
    token = current_.token();
  }
  {
    Working working(*this, &open);
    // What takes long is told of: where it is, a few times a second.
    script::StepWatch watch;
    std::vector<DeclId> finished;
    const script::ScheduleRun* running = nullptr;
    DeclId last = 0;
    Clock::time_point told = open.waits_since + progress_after - progress_gap;
    // Tests compare whole transcripts, on slow machines too.
    static const bool is_patient = std::getenv("LOOPSMITH_TEST_PATIENCE") != nullptr;
    if (shows_progress(capabilities_) && !is_patient) {
      watch = [&](const script::ScheduleRun& run, size_t step) {
        if (running != &run && last != 0) { finished.push_back(last); }
        running = &run;
        last = run.decl;
        if (Clock::now() - told < progress_gap) { return; }
        told = Clock::now();
        tell_progress(open, replay_marks(*open.document->snapshot(), &run, step, finished));
      };
    }
    if (open.document->replay(token, watch)) { tell_replayed(open); }
  }
  std::lock_guard lock(mutex_);
  current_yields_ = false;
  return true;
}

/// The same where it takes no time that anybody sees.
void Worker::replay_briefly(OpenDocument& open) {
  using Seconds = std::chrono::duration<double>;
  if (!open.needs_replay || seconds_to_replay(*open.document->snapshot()) > Seconds(brief).count()) { return; }
  CancelSource source;
  {
    std::lock_guard lock(mutex_);
    if (!arrived_.empty() || ended_) { return; }
    current_ = source;
    current_yields_ = true;
  }
  {
    Working working(*this, &open);
    Deadline until = in(brief);
    auto watch = [&](const script::ScheduleRun&, size_t) {
      if (Clock::now() > until) { source.cancel(); }
    };
    if (open.document->replay(source.token(), watch)) { tell_replayed(open); }
  }
  std::lock_guard lock(mutex_);
  current_yields_ = false;
}

void Worker::tell_replayed(OpenDocument& open) {
  open.needs_replay = false;
  publish(open);
  tell_views(open);
  tell_progress(open, replay_marks(*open.document->snapshot()));
}

/// Beside which lines the editor shows how far schedules are run, where that is news.
void Worker::tell_progress(OpenDocument& open, const std::vector<ReplayMark>& marks) {
  if (!shows_progress(capabilities_)) { return; }
  workspace::SnapshotPtr snapshot = open.document->snapshot();
  Json message = progress_message(*snapshot, encoding_, marks);
  std::string now = to_text(message["params"]["marks"]);
  if (now == open.marks) { return; }
  open.marks = std::move(now);
  // Without a version of the frame: it says which text it is about itself.
  write(framed(to_text(message), {{header::document, open.number}}));
}

/// Views of earlier versions that the editor may still show.
void Worker::tell_views(OpenDocument& open) {
  int64_t version = open.document->snapshot()->version();
  Json stale = Json::array();
  for (auto view = open.served.begin(); view != open.served.end();) {
    if (view->second < version) {
      stale.push_back(view->first);
      view = open.served.erase(view);
    } else {
      ++view;
    }
  }
  if (!stale.empty() && shows_views(capabilities_)) { write(framed(to_text(stale), {{header::views, 1}})); }
}

/// What is known now, unless that was said of this very version before.
void Worker::publish(OpenDocument& open) {
  workspace::SnapshotPtr snapshot = open.document->snapshot();
  Json json = diagnostics_message(*snapshot, encoding_, manual_, shows_views(capabilities_));
  size_t before = json["params"]["diagnostics"].size();
  if (loop_hints_ && !pulls_) { add_loop_hints(*snapshot, encoding_, json["params"]["diagnostics"]); }
  RecordsOfPrograms recorded(records_, peaks_);
  if (!pulls_) { add_verdicts(*snapshot, encoding_, {jobs_, &recorded}, json["params"]["diagnostics"]); }
  std::string message = to_text(json);
  if (message == open.published) { return; }
  open.published = message;
  open.shows_schedules = open.document->has_schedule_findings() || json["params"]["diagnostics"].size() > before;
  if (pulls_) { return; }
  write(framed(message,
               {{header::document, open.number}, {header::version, static_cast<uint64_t>(snapshot->version())}}));
}

namespace {

/// A route never throws by intent; what a fault of ours or a lack of memory throws costs one request.
auto answer_of(const Route& route, const RouteContext& context, const Json& params) -> RouteResult {
  try {
    misbehave_if_told(params);
    return route.answer(context, params);
  } catch (const std::exception& fault) {
    return RouteError{ErrorCode::InternalError, std::string(find_method_row(route.method).name) + " failed: " + fault.what()};
  }
}

}  // namespace

void Worker::answer(const Request& request) {
  OpenDocument* open = find(request.document);
  bool is_completion = open != nullptr && request.route != nullptr && request.route->method == Method::Completion;
  if (is_completion) {
    if (open->needs_check) { check(*open); }
    replay_briefly(*open);
  }
  CancelToken token;
  {
    std::lock_guard lock(mutex_);
    // The front has answered what was cancelled, and what an edit made stale.
    if (cancelled_.erase(request.ticket) > 0) { return; }
    current_ = CancelSource();
    current_ticket_ = request.ticket;
    current_document_ = request.document;
    token = current_.token();
    // What came while its schedules were run makes it stale.
    if (is_completion && std::any_of(arrived_.begin(), arrived_.end(), [&](const Frame& frame) { return is_edit_of(frame, request.document); })) { current_.cancel(); }
  }
  Json message;
  if (request.route == nullptr) {
    message = error_response(request.id, ErrorCode::MethodNotFound, "the worker has no such method");
  } else {
    if (open != nullptr && open->needs_check) { check(*open); }
    Working working(*this, open, request.ticket);
    workspace::SnapshotPtr snapshot = open != nullptr ? open->document->snapshot() : nullptr;
    RouteContext context{.snapshot = snapshot.get(), .encoding = encoding_, .capabilities = capabilities_, .jobs = jobs_, .cancel = token,
                         .sent_tokens = open != nullptr ? &open->sent_tokens : nullptr, .judged = open != nullptr ? &open->judged : nullptr,
                         .find = [this](const std::string& uri) -> const workspace::Snapshot* {
                           for (const auto& candidate : documents_) {
                             if (candidate->document->snapshot()->name() == uri) { return candidate->document->snapshot().get(); }
                           }
                           return nullptr;
                         }};
    std::vector<workspace::SnapshotPtr> all;   // keeps them
    for (const auto& candidate : documents_) {
      if (candidate->needs_check && find_method_row(request.route->method).scope == MethodScope::None) { check(*candidate); }
      all.push_back(candidate->document->snapshot());
      context.documents.push_back(all.back().get());
    }
    context.served = [this](const workspace::Snapshot& of, const std::string& uri) {
      for (const auto& candidate : documents_) {
        if (candidate->document->snapshot()->name() == of.name()) { candidate->served[uri] = of.version(); }
      }
    };
    context.machine = machine_;
    RecordsOfPrograms recorded(records_, peaks_);
    context.records = &records_;
    context.recorded = &recorded;
    context.folders = folders_;
    context.too_large_until = &too_large_until_;
    context.manual = manual_;
    context.loop_hints = loop_hints_;
    context.links = links_;
    context.progress = [this, ticket = request.ticket](const Json& token, Json value) {
      write(framed(to_text(notification("$/progress", {{"token", token}, {"value", std::move(value)}})), {{header::ticket, ticket}, {header::piece, 1}}));
    };
    bool needs_document = find_method_row(request.route->method).scope != MethodScope::None;
    if (needs_document && snapshot == nullptr) {
      message = error_response(request.id, ErrorCode::InvalidParams, "the document is not open");
    } else {
      RouteResult result = answer_of(*request.route, context, request.params);
      if (auto* problem = std::get_if<RouteError>(&result)) {
        message = error_response(request.id, problem->code, problem->message);
      } else {
        message = response(request.id, std::move(std::get<Json>(result)));
      }
    }
  }
  {
    std::lock_guard lock(mutex_);
    current_ticket_ = 0;
    current_document_ = 0;
  }
  write(framed(to_text(message), {{header::ticket, request.ticket}}));
}

/// Requests that waited until nothing is left to do for their document, at the version they ask for.
void Worker::answer_settled() {
  for (size_t i = 0; i < settled_.size();) {
    OpenDocument* open = find(settled_[i].document);
    bool is_settled = open == nullptr;
    if (open != nullptr && !open->needs_check && !open->needs_replay) {
      auto version = int_in(settled_[i].params, "version");
      is_settled = !version || open->document->snapshot()->version() >= *version;
    }
    if (!is_settled) {
      ++i;
      continue;
    }
    Request request = std::move(settled_[i]);
    settled_.erase(settled_.begin() + static_cast<std::ptrdiff_t>(i));
    answer(request);
  }
}

auto Worker::find(uint64_t number) -> OpenDocument* {
  for (const auto& open : documents_) {
    if (open->number == number) { return open.get(); }
  }
  return nullptr;
}

}  // namespace

auto run_analysis_worker(std::vector<std::string>) -> int {
  ::signal(SIGPIPE, SIG_IGN);
  // Frames go out by a descriptor of their own; stray prints of any library go to standard error.
  int output = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
  ::dup2(2, 1);
  auto* worker = new Worker(output);  // never freed: threads end with the process
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, analysis_stack);
  pthread_t analysis{};
  auto body = [](void* that) -> void* {
    static_cast<Worker*>(that)->analyse();
    return nullptr;
  };
  if (pthread_create(&analysis, &attributes, body, worker) != 0) { return 4; }
  pthread_attr_destroy(&attributes);

  FrameReader reader;
  std::string bytes(256 << 10, '\0');
  while (true) {
    ssize_t size = ::read(0, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) { continue; }
    if (size <= 0) { break; }
    reader.feed({bytes.data(), static_cast<size_t>(size)});
    while (auto frame = reader.next()) {
      if (!frame->problem.empty()) { return 4; }
      worker->take(std::move(*frame));
    }
  }
  worker->end_of_input();
  // The front is gone; work that does not poll is not waited for.
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
#ifdef __linux__
  if (pthread_timedjoin_np(analysis, nullptr, &until) != 0) { ::_exit(0); }
#endif
  return 0;
}

}  // namespace loopsmith::lsp
