// Open documents: texts that change, their checks, runs of their schedules, and the messages about them. See worker.h.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "lsp/protocol/sync.h"
#include "lsp/protocol/uri.h"
#include "lsp/worker/faults.h"
#include "lsp/worker/worker.h"
#include "script/run.h"

namespace loopsmith::lsp {
namespace {

/// The editor shows a replay that takes longer than `progress_after`, and updates it after each `progress_gap`.
constexpr auto progress_after = std::chrono::milliseconds(150);
constexpr auto progress_gap = std::chrono::milliseconds(100);

/// Schedules that take less time than this run before a completion is answered, so that their errors appear with the same key.
constexpr auto brief = std::chrono::milliseconds(4);

}  // namespace

void Worker::open(const Frame& frame, const Json& params) {
  auto open = std::make_unique<OpenDocument>();
  const Json& item = member(params, "textDocument");
  open->number = frame.number(header::document).value_or(0);
  auto version = static_cast<int64_t>(frame.number(header::version).value_or(0));
  std::string text = string_in(item, "text");
  // The front must know which document to blame before the text is read.
  write(framed("", {{header::working, 1}, {header::document, open->number}, {header::version, static_cast<uint64_t>(version)}}));
  misbehave_if_text_asks(text);
  std::string uri = string_in(item, "uri");
  open->path = path_of(uri);
  if (imports_ == nullptr) { imports_ = std::make_shared<workspace::Imports>(std::make_shared<EditorTexts>(*this), folders_); }
  open->document = std::make_unique<workspace::Document>(std::move(uri), version, std::move(text), imports_->of(open->path));
  write(framed("", {{header::working, 0}}));
  open->waits_since = Clock::now();
  std::string path = open->path;
  documents_.push_back(std::move(open));
  refresh_imports_of(path);
}

void Worker::change(OpenDocument& open, const Frame& frame, const Json& params) {
  std::vector<Json> messages = {params};
  auto version = frame.number(header::version).value_or(0);
  for (Frame& later : later_edits(open.number)) {
    std::string why;
    auto message = parse_json(later.body, why);
    if (!message) { continue; }
    misbehave_if_message_asks(member(*message, "params"));
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
  // Without further frames, check the edited text at once. Either way the front is notified that the work on the edit is over.
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
  refresh_imports_of(open.path);
}

/// Options without `loopHints` leave the setting unchanged.
void Worker::set_hints(const Json& options) {
  if (!member(options, "loopHints").is_boolean() || std::exchange(loop_hints_, bool_in(options, "loopHints")) == bool_in(options, "loopHints")) { return; }
  for (const auto& open : documents_) {
    if (!open->needs_check && !open->needs_replay) { publish(*open); }
  }
}

void Worker::set_folders(const Json& params) {
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

/// Checks the documents again that import a file whose text changed.
void Worker::refresh_imports() {
  if (imports_ == nullptr || !imports_->refresh()) { return; }
  for (const auto& open : documents_) {
    if (open->needs_check || !open->document->imports_have_changed()) { continue; }
    open->needs_check = true;
    if (!open->needs_replay) { open->waits_since = Clock::now(); }
    open->needs_replay = true;
  }
}
void Worker::refresh_imports_of(const std::string& path) {
  if (imports_ != nullptr && imports_->asked_for(path)) { refresh_imports(); }
}

/// A search outside of the editor may find better schedules: then the client requests lenses again.
void Worker::refresh_records() {
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
  misbehave_if_text_asks(open.document->snapshot()->text());
  open.document->check();
  open.needs_check = false;
  // Errors of an edited schedule would vanish and return with the replay a moment later, so they stay while no other diagnostic changes.
  workspace::SnapshotPtr snapshot = open.document->snapshot();
  std::string checked = to_text(diagnostics_message(*snapshot, encoding_)["params"]["diagnostics"]);
  bool is_news = std::exchange(open.checked, checked) != checked;
  if (is_news || !open.shows_schedules || open.document->has_schedule_findings() || (loop_hints_ && !open.needs_replay)) {
    publish(open);
  } else if (!pulls_) {
    write(framed("", {{header::unchanged, 1}, {header::document, open.number}, {header::version, static_cast<uint64_t>(snapshot->version())}}));
  }
}

namespace {

/// Cancels work after a time, unless the work ends before.
class Alarm {
 public:
  Alarm(const CancelSource& source, std::chrono::milliseconds after)
      : thread_([this, source, after] {
          std::unique_lock lock(mutex_);
          if (!changed_.wait_for(lock, after, [this] { return is_done_; })) { source.cancel(); }
        }) {}
  ~Alarm() {
    {
      std::lock_guard lock(mutex_);
      is_done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Alarm(const Alarm&) = delete;
  auto operator=(const Alarm&) -> Alarm& = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  std::thread thread_;
};

}  // namespace

/// The next document whose schedules must run. Documents take turns. Null: no document waits.
auto Worker::next_to_replay() -> OpenDocument* {
  auto is_waiting = [](const auto& open) { return open->needs_replay; };
  auto last = std::find_if(documents_.begin(), documents_.end(), [this](const auto& open) { return open->number == last_replayed_; });
  auto found = last == documents_.end() ? last : std::find_if(std::next(last), documents_.end(), is_waiting);
  if (found == documents_.end()) { found = std::find_if(documents_.begin(), documents_.end(), is_waiting); }
  return found == documents_.end() ? nullptr : found->get();
}

/// Runs the schedules of one document. Arriving frames stop the run, which continues later. While other documents wait, the run lasts for one turn
/// only. A stopped statement begins again in the next turn, so each turn is twice as long as the one before.
auto Worker::replay_one() -> bool {
  OpenDocument* next = next_to_replay();
  if (next == nullptr) { return false; }
  OpenDocument& open = *next;
  CancelSource source;
  Yielding yielding(*this, source);
  if (yielding.is_refused) { return false; }
  last_replayed_ = open.number;
  std::optional<Alarm> alarm;
  bool takes_turns = std::count_if(documents_.begin(), documents_.end(), [](const auto& one) { return one->needs_replay; }) > 1;
  if (takes_turns) { alarm.emplace(source, open.turn); }
  Working working(*this, &open);
  // The editor shows the progress of a long replay, a few times a second.
  script::StepWatch watch;
  std::vector<DeclId> finished;
  const script::ScheduleRun* running = nullptr;
  DeclId last = 0;
  Clock::time_point reported_at = open.waits_since + progress_after - progress_gap;
  // Tests compare whole transcripts, also on slow machines.
  static const bool is_patient = std::getenv("LOOPSMITH_TEST_PATIENCE") != nullptr;
  if (shows_progress(capabilities_) && !is_patient) {
    watch = [&](const script::ScheduleRun& run, size_t step) {
      if (running != &run && last != 0) { finished.push_back(last); }
      running = &run;
      last = run.decl;
      if (Clock::now() - reported_at < progress_gap) { return; }
      reported_at = Clock::now();
      send_progress(open, replay_marks(*open.document->snapshot(), &run, step, finished));
    };
  }
  if (open.document->replay(source.token(), watch)) {
    open.turn = first_turn;
    publish_replayed(open);
  } else if (takes_turns) {
    open.turn = std::min<std::chrono::milliseconds>(2 * open.turn, std::chrono::seconds(30));
  }
  return true;
}

/// Runs the schedules before a completion is answered, if that is too fast to notice.
void Worker::replay_briefly(OpenDocument& open) {
  using Seconds = std::chrono::duration<double>;
  if (!open.needs_replay || seconds_to_replay(*open.document->snapshot()) > Seconds(brief).count()) { return; }
  CancelSource source;
  Yielding yielding(*this, source);
  if (yielding.is_refused) { return; }
  Working working(*this, &open);
  Deadline until = in(brief);
  auto watch = [&](const script::ScheduleRun&, size_t) {
    if (Clock::now() > until) { source.cancel(); }
  };
  if (open.document->replay(source.token(), watch)) { publish_replayed(open); }
}

void Worker::publish_replayed(OpenDocument& open) {
  open.needs_replay = false;
  publish(open);
  send_stale_views(open);
  send_progress(open, replay_marks(*open.document->snapshot()));
}

/// Sends the marks that show which statements of schedules have run, if the marks changed.
void Worker::send_progress(OpenDocument& open, const std::vector<ReplayMark>& marks) {
  if (!shows_progress(capabilities_)) { return; }
  workspace::SnapshotPtr snapshot = open.document->snapshot();
  Json message = progress_message(*snapshot, encoding_, marks);
  std::string now = to_text(message["params"]["marks"]);
  if (now == open.marks) { return; }
  open.marks = std::move(now);
  // The frame needs no version: the message contains the version of its text.
  write(framed(to_text(message), {{header::document, open.number}}));
}

/// Reports the views of earlier versions that the editor may still show.
void Worker::send_stale_views(OpenDocument& open) {
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

/// Sends the present diagnostics, unless the same ones were already sent for this version.
void Worker::publish(OpenDocument& open) {
  workspace::SnapshotPtr snapshot = open.document->snapshot();
  Json json = diagnostics_message(*snapshot, encoding_, manual_, shows_views(capabilities_));
  size_t before = json["params"]["diagnostics"].size();
  if (loop_hints_ && !pulls_) { add_loop_hints(*snapshot, encoding_, json["params"]["diagnostics"]); }
  RecordsOfPrograms recorded(records_, machine_.peaks);
  if (!pulls_) { add_verdicts(*snapshot, encoding_, {jobs_, &recorded}, json["params"]["diagnostics"]); }
  std::string message = to_text(json);
  if (message == open.published) { return; }
  open.published = message;
  open.shows_schedules = open.document->has_schedule_findings() || json["params"]["diagnostics"].size() > before;
  if (pulls_) { return; }
  write(framed(message,
               {{header::document, open.number}, {header::version, static_cast<uint64_t>(snapshot->version())}}));
}

}  // namespace loopsmith::lsp
