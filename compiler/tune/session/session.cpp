// The loop of a tuning session: see session.h.
#include "tune/session/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include <fmt/format.h>

#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "support/codes.h"
#include "support/hash.h"
#include "support/reasons.h"
#include "support/text.h"
#include "target/gpu.h"
#include "target/hardware.h"
#include "tune/measure/pool.h"
#include "tune/session/comparison.h"
#include "tune/session/explain_space.h"
#include "tune/space/analysis.h"
#include "tune/space/order.h"
#include "tune/space/trace_spaces.h"
#include "tune/space/transferred.h"
#include "tune/space/unit.h"

namespace loopsmith::tune {

using SteadyClock = std::chrono::steady_clock;

namespace {

/// Adds the seconds of its lifetime to a part of the profile.
class Timed {
 public:
  explicit Timed(double& part) : part_(part), begin_(SteadyClock::now()) {}
  ~Timed() { part_ += std::chrono::duration<double>(SteadyClock::now() - begin_).count(); }
  Timed(const Timed&) = delete;
  auto operator=(const Timed&) -> Timed& = delete;

 private:
  double& part_;
  SteadyClock::time_point begin_;
};

// The records of other programs that are looked at, and those that become sketches.
constexpr size_t most_transferable = 64, most_transferred = 4;
// The number of candidates in the final comparison, and the number of their blocks in it.
constexpr size_t finalists = 4;
constexpr int final_blocks = 25;
constexpr int screen_blocks = 5;
// The number of turns that the finalists and the program as written take in the final comparison.
constexpr int final_turns = 3;
// The least and the largest share of the budget that is reserved for the final measurements and the comparison of results.
constexpr double least_reserve = 0.1, most_reserve = 0.5;
// The seconds of the reference interpreter for one block instance, and of the rest of a comparison (code for the other build, two inputs).
constexpr double interpreter_seconds = 1.5e-7, comparison_seconds = 0.5;

class Session {
 public:
  Session(const IRModule& module, Name function, const target::Target& target, std::string label, SessionOptions options)
      : module_(module), function_(function), target_(target), label_(std::move(label)), options_(std::move(options)), start_(SteadyClock::now()) {}

  auto run() -> Result<SessionResult>;

  // The parts of `run`.
  auto start() -> Status;
  /// Searches until `trials` trials are done (0: no limit), or until the budget ends. False: the space is exhausted.
  auto search_until(int trials) -> Result<bool>;
  auto finish() -> Result<SessionResult>;
  /// Repeats the search from records, as far as they go, and measures nothing.
  auto explain() -> Result<SpaceExplained>;
  [[nodiscard]] auto progress() const -> const Progress& { return progress_; }
  /// Sets the time for the next call of `search_until`; 0: no limit.
  void limit_search(double seconds) {
    search_deadline_ = seconds > 0 ? SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds)) : SteadyClock::time_point::max();
  }
  void set_limit(double seconds) {
    options_.seconds = seconds;
    start_ = SteadyClock::now();
  }

 private:
  struct Tried {
    Proposal proposal;
    Candidate candidate;
    std::string python;
    double seconds = 0;
    double spread = 0;
    int timings = 0;
    int64_t record = 0;
    std::string figures = {};
    std::optional<schedule::Schedule> sch = {};            // for the runner of others
    IRModule own = {};                                     // the program, where it is another one than the session's
    std::string log_line = {};
  };
  struct Made { std::string json; std::string python; schedule::Schedule sch; IRModule own; };
  /// A candidate that is not made: the reason, and the trace that reproduces it.
  struct NotMade { std::string outcome; std::string note; std::string trace; bool is_prefix = false; };

  [[nodiscard]] auto elapsed() const -> double { return std::chrono::duration<double>(SteadyClock::now() - start_).count(); }
  [[nodiscard]] auto search_time_is_over() const -> bool {
    return SteadyClock::now() >= search_deadline_ || (options_.seconds > 0 && elapsed() >= options_.seconds - reserve());
  }
  /// The part of the budget that is kept for the final measurements and the comparison.
  [[nodiscard]] auto reserve() const -> double {
    double one = progress_.best_seconds > 0 ? progress_.best_seconds : progress_.plain_seconds;
    double final_seconds = final_turns * (static_cast<double>(finalists) * std::max(one, 1e-3) + std::max(progress_.plain_seconds, 1e-3)) * (final_blocks / final_turns);
    return std::clamp(final_seconds + (options_.verify ? check_seconds_ : 0), least_reserve * options_.seconds, most_reserve * options_.seconds);
  }
  [[nodiscard]] auto stopping() -> bool {
    wait_while_paused();
    if (!stopped_ && options_.stop && options_.stop()) { stopped_ = true; }
    return stopped_;
  }
  /// During the pause the budget's clock is stopped.
  void wait_while_paused() {
    if (stopped_ || !options_.paused || !options_.paused()) { return; }
    const SteadyClock::time_point since = SteadyClock::now();
    const std::string phase = progress_.phase;
    report("paused");
    while (options_.paused() && !(options_.stop && options_.stop())) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
    start_ += SteadyClock::now() - since;
    report(phase.c_str());
  }
  void report(const char* phase) {
    progress_.phase = phase;
    progress_.elapsed_seconds = elapsed();
    if (options_.seconds > 0) { progress_.search_limit_seconds = options_.seconds - reserve(); }
    if (options_.on_progress) { options_.on_progress(progress_); }
  }
  [[nodiscard]] auto make(const Proposal& proposal) const -> std::variant<Made, NotMade>;
  auto open() -> Status;
  auto open_device() -> Status;
  auto start_pool(const std::string& text) -> Status;
  auto make_space() -> Status;
  auto traces_of_others() -> std::vector<std::pair<std::string, schedule::Trace>>;
  auto propose(size_t wanted) -> std::vector<Tried>;
  void reject(const Proposal& proposal, const NotMade& why);
  /// Counts a trial of a sketch that was not measured, since its code was measured before.
  void note_twin(size_t sketch, const char* outcome, double seconds);
  auto repeat_round() -> bool;
  auto measure_plain(WorkerPool& pool, Database& database) -> Status;
  auto round(WorkerPool& pool, Database& database) -> Result<bool>;
  auto judge(WorkerPool& pool, Database& database, Tried tried, const BuildReply& reply) -> Status;
  auto run_elsewhere(std::vector<Tried> fresh, Database& database) -> Status;
  auto settle(Database& database, Tried tried, Outcome outcome, double seconds, double spread, int blocks,
              const std::string& note, uint64_t lowered) -> Status;
  auto confirm(WorkerPool& pool) -> void;
  void recall(const std::vector<Record>& records);
  void recall(const Record& record, const IRModule& own);
  /// The key of the records of a program; null: that of the session.
  [[nodiscard]] auto key_of(const IRModule& own) const -> TaskKey { return own ? TaskKey{structural_hash(own), key_.target, key_.machine} : key_; }
  /// The key of a candidate in `recorded_`.
  [[nodiscard]] static auto name_of(const IRModule& own, const std::string& trace) -> std::string { return own ? fmt::format("{:x} {}", structural_hash(own), trace) : trace; }
  [[nodiscard]] auto recorded(const Tried& tried) const -> const Record* {
    auto known = recorded_.find(name_of(tried.own, tried.candidate.trace));
    return known != recorded_.end() ? &known->second : nullptr;
  }
  /// Finds the earlier records of the programs of candidates.
  auto open_programs(const std::vector<Tried>& candidates) -> Status;

  IRModule module_;
  Name function_;
  target::Target target_;
  std::string label_;
  SessionOptions options_;
  SteadyClock::time_point start_;
  SteadyClock::time_point search_deadline_ = SteadyClock::time_point::max();
  TaskKey key_;
  Sketches sketches_;
  std::unique_ptr<Search> search_;
  std::optional<Database> database_;
  std::vector<Record> records_;                            // of earlier searches
  std::vector<std::pair<IRModule, std::vector<Record>>> own_records_;   // of the programs that points have of their own
  std::unique_ptr<WorkerPool> pool_;
  int trials_limit_ = 0;                                   // of the present call of `search_until`
  FailureCauses causes_;
  Progress progress_;
  SessionResult result_;
  bool stopped_ = false;
  double check_seconds_ = 0;                               // the expected time of the comparison
  bool is_on_device_ = false;                              // the target is one of a device
  bool is_ranking_ = false;                                // no device measures
  uint64_t plain_hash_ = 0;                                // BuildReply::object_hash of the program as written; 0: not built
  uint64_t next_id_ = 2;                                   // 1: the program as written
  std::vector<Tried> measured_;                            // fastest first
  std::unordered_map<std::string, Record> recorded_;       // by `name_of`
  std::unordered_map<std::string, double> known_;          // seconds of trials from elsewhere, by `name_of`; 0: it has no time
  std::unordered_map<uint64_t, double> seconds_by_code_;   // by BuildReply::object_hash: equal code is measured once
};

// The program as written is measured only for comparison: for these seconds, and at most a quarter of the session.
constexpr double plain_limit = 3;
constexpr uint64_t plain_id = 1;
constexpr unsigned most_cuda_workers = 16;
// Searches with larger batches want no small ones first.
constexpr size_t usual_batch = 16;
constexpr const char* empty_trace = "[[], []]";

auto Session::make(const Proposal& proposal) const -> std::variant<Made, NotMade> {
  const Sketch& sketch = *sketches_[proposal.sketch];
  const IRModule own = sketch.own_program(proposal.point);
  const IRModule& program = own ? own : module_;
  schedule::Schedule sch(program, static_cast<int64_t>(options_.seed % 2147483646) + 1);
  Status done = sch.func_working_on() == function_ ? ok() : sch.work_on(function_);
  if (done.ok()) { done = sketch.apply(sch, proposal.point); }
  if (!done.ok()) {
    const Diagnostic& first = done.diagnostics().front();
    const std::string outcome = "not legal: " + std::string(code_id(first.code));
    // Only a sketch that is a trace knows the steps behind the refused one.
    const std::optional<schedule::Trace> whole = sketch.known_trace(proposal.point);
    return NotMade{outcome, first.message(), schedule::trace_to_json(whole ? *whole : sch.trace()), !whole};
  }
  Made made{schedule::trace_to_json(sch.trace()), {}, sch, own};
  if (options_.keep_order) {
    if (std::string why = why_order_changes(program, sch.module(), function_); !why.empty()) { return NotMade{"adds in another order", std::move(why), std::move(made.json)}; }
  }
  for (const std::string& line : sch.trace().python_lines()) { made.python += line + "\n"; }
  return made;
}

void Session::reject(const Proposal& proposal, const NotMade& why) {
  search_->reject(proposal);
  ++progress_.failures[why.outcome];
  SketchTally& tally = progress_.sketches[proposal.sketch];
  ++tally.failed;
  tally.outcome = why.outcome;
  tally.note = why.note;
  tally.seconds = 0;
  causes_.add(why.outcome, why.note, why.trace, why.is_prefix);
}

void Session::note_twin(size_t sketch, const char* outcome, double seconds) {
  progress_.sketches[sketch].outcome = outcome;
  progress_.sketches[sketch].note.clear();
  progress_.sketches[sketch].seconds = seconds;
}

auto Session::settle(Database& database, Tried tried, Outcome outcome, double seconds, double spread, int blocks,
                     const std::string& note, uint64_t lowered) -> Status {
  Record record;
  record.candidate = lowered;
  record.trace = tried.candidate.trace;
  record.outcome = outcome;
  record.median_seconds = seconds;
  record.spread_seconds = spread;
  record.blocks = blocks;
  record.note = note;
  record.seed = options_.seed;
  record.trial = progress_.trials;
  record.line = tried.log_line = sketches_[tried.proposal.sketch]->log_line(tried.proposal.point, outcome == Outcome::Measured ? seconds : 0);
  if (is_ranking_) {
    recorded_.emplace(name_of(tried.own, record.trace), record);
  } else if (const Record* known = recorded(tried); known == nullptr) {
    const TaskKey task = key_of(tried.own);
    if (tried.own) { LOOPSMITH_CHECK(database.add_workload(task, label_, print_script(tried.own))); }
    LOOPSMITH_TRY(id, database.add(task, record));
    record.id = id;
    recorded_.emplace(name_of(tried.own, record.trace), record);
  } else {
    record.id = known->id;
    if (known->line.empty() && !record.line.empty()) { LOOPSMITH_CHECK(database.set_line(record.id, record.line)); }
    ++progress_.from_database;
  }
  ++progress_.trials;
  SketchTally& of_sketch = progress_.sketches[tried.proposal.sketch];
  of_sketch.outcome = outcome_name(outcome);
  of_sketch.note = note;
  of_sketch.seconds = seconds;
  if (outcome == Outcome::Measured || outcome == Outcome::Censored) {
    search_->learn(tried.proposal, seconds, outcome == Outcome::Measured);
  } else {
    // The time limit of a candidate that was killed is a lower bound of its time; the others teach nothing.
    seconds > 0 ? search_->learn(tried.proposal, seconds, false) : search_->reject(tried.proposal);
    ++progress_.failures[outcome_name(outcome)];
    ++progress_.sketches[tried.proposal.sketch].failed;
    // The commands that reproduce a failure take the program of the file.
    causes_.add(outcome_name(outcome), note, tried.own ? std::string() : tried.candidate.trace);
  }
  if (outcome == Outcome::Measured) {
    SketchTally& tally = progress_.sketches[tried.proposal.sketch];
    ++tally.measured;
    if (tally.best_seconds == 0 || seconds < tally.best_seconds) { tally.best_seconds = seconds; }
    tried.seconds = seconds;
    tried.spread = spread;
    tried.timings = blocks;
    tried.record = record.id;
    auto place = std::upper_bound(measured_.begin(), measured_.end(), seconds, [](double s, const Tried& t) { return s < t.seconds; });
    measured_.insert(place, std::move(tried));
    progress_.best_seconds = measured_.front().seconds;
    progress_.best_python = measured_.front().python;
  }
  progress_.trial_seconds.push_back(outcome == Outcome::Measured ? seconds : 0);
  result_.best_so_far.push_back(progress_.best_seconds);
  report(is_ranking_ ? "ranking" : "measuring");
  return ok();
}

/// True if a program has loops that are bound to threads or blocks.
auto is_bound_to_threads(const PrimFunc& func) -> bool {
  bool out = false;
  post_order(func->body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    const auto* attr = stmt.as<AttrStmt>();
    out = out || (loop && loop->thread) || (attr && attr->key == "thread_extent");
  }, [](const Expr&) {});
  return out;
}

auto Session::measure_plain(WorkerPool& pool, Database& database) -> Status {
  const Timed timed(progress_.profile.measure);
  // Without bound loops a single thread of the device runs the program, which takes long, and its time has no use.
  if (is_ranking_ || options_.runner || (is_on_device_ && !is_bound_to_threads(module_->find(function_)))) { return ok(); }
  Candidate plain{plain_id, empty_trace};
  auto too_slow = [&](double limit) {
    result_.notes.push_back("the program as written takes more than " + duration_text(limit));
  };
  if (auto known = recorded_.find(empty_trace); known != recorded_.end()) {
    if (known->second.outcome == Outcome::Measured) { progress_.plain_seconds = known->second.median_seconds; }
    if (known->second.outcome == Outcome::Censored) { too_slow(known->second.median_seconds); }
    return ok();
  }
  BuildReply built = pool.build({plain}).front();
  if (stopping()) { return ok(); }
  if (built.outcome != BuildOutcome::Built) {
    return error(Code::CannotTune).arg("function", function_.view()).arg("reason", because(Why::PlainDoesNotBuild).arg("cause", built.note).text());
  }
  plain_hash_ = built.object_hash;
  double limit = options_.seconds > 0 ? std::min(plain_limit, options_.seconds / 4) : plain_limit;
  // One call first, since the program may be very slow; it only counts in that case. A cold call of a fast program takes several times as long as a warm one.
  MeasureReply reply = pool.measure(plain, 0, 1, limit);
  if (reply.outcome == Outcome::Measured && reply.median_seconds < limit / (4 * screen_blocks)) {
    MeasureReply warm = pool.measure(plain, 0, screen_blocks, limit);
    if (warm.outcome == Outcome::Measured) { reply = warm; }
  }
  if (stopping()) { return ok(); }
  if (reply.outcome == Outcome::Crashed) {
    return error(Code::CannotTune).arg("function", function_.view()).arg("reason", because(Why::PlainCrashes).arg("cause", reply.note).text());
  }
  if (reply.outcome == Outcome::Measured || reply.outcome == Outcome::TimedOut) {
    // A program that is too slow to measure may still have fast candidates.
    bool is_measured = reply.outcome == Outcome::Measured;
    is_measured ? void(progress_.plain_seconds = reply.median_seconds) : too_slow(reply.median_seconds);
    Record record;
    record.outcome = is_measured ? Outcome::Measured : Outcome::Censored;
    record.candidate = built.lowered_hash;
    record.trace = empty_trace;
    record.median_seconds = reply.median_seconds;
    record.spread_seconds = reply.spread_seconds;
    record.blocks = reply.blocks;
    record.note = "unscheduled";
    LOOPSMITH_TRY(id, database.add(key_, record));
    (void)id;
  }
  return ok();
}

/// Candidates that are not measured yet in this session. Illegal points cost no trial; others are proposed in their place.
auto Session::propose(size_t wanted) -> std::vector<Tried> {
  const Timed timed(progress_.profile.search);
  // Many schedules add in another order, so the search has to look at more of them.
  const int attempts = options_.keep_order ? 64 : 8;
  std::vector<Tried> fresh;
  for (int attempt = 0; attempt < attempts && fresh.size() < wanted; ++attempt) {
    std::vector<Proposal> proposals = search_->propose(wanted - fresh.size());
    if (proposals.empty()) { break; }
    for (Proposal& proposal : proposals) {
      if (stopping()) { return fresh; }
      ++progress_.sketches[proposal.sketch].proposed;
      std::variant<Made, NotMade> made = make(proposal);
      if (const auto* why = std::get_if<NotMade>(&made)) {
        reject(proposal, *why);
        continue;
      }
      auto& [json, python, sch, own] = std::get<Made>(made);
      if (auto known = known_.find(name_of(own, json)); known != known_.end()) {
        known->second > 0 ? search_->learn(proposal, known->second, true) : search_->reject(proposal);
        continue;
      }
      fresh.push_back({std::move(proposal), {next_id_++, std::move(json)}, std::move(python), 0, 0, 0});
      if (own) { fresh.back().candidate.module = print_script(sch.module()); }
      fresh.back().own = std::move(own);
      if (options_.runner) { fresh.back().sch = std::move(sch); }
    }
  }
  // The most promising candidate comes first: its time lets slow ones stop early.
  std::sort(fresh.begin(), fresh.end(), [](const Tried& a, const Tried& b) {
    return std::pair(a.proposal.expected_seconds, a.candidate.id) < std::pair(b.proposal.expected_seconds, b.candidate.id);
  });
  return fresh;
}

// The runner of others gives the times of a batch.
auto Session::run_elsewhere(std::vector<Tried> fresh, Database& database) -> Status {
  const Timed timed(progress_.profile.measure);
  std::vector<schedule::Schedule> candidates;
  for (const Tried& tried : fresh) {
    if (recorded(tried) == nullptr) { candidates.push_back(*tried.sch); }
  }
  const std::vector<RunReply> replies = candidates.empty() ? std::vector<RunReply>() : options_.runner->run({module_, function_, target_}, candidates);
  size_t next = 0;
  for (Tried& tried : fresh) {
    tried.sch.reset();
    if (const Record* known = recorded(tried)) {
      const Record r = *known;
      LOOPSMITH_CHECK(settle(database, std::move(tried), r.outcome, r.median_seconds, r.spread_seconds, r.blocks, r.note, r.candidate));
      continue;
    }
    // A runner may answer fewer after an error.
    const RunReply reply = next < replies.size() ? replies[next] : RunReply{0, "the runner gave no result"};
    ++next;
    const bool is_measured = reply.error.empty() && reply.seconds > 0;
    LOOPSMITH_CHECK(settle(database, std::move(tried), is_measured ? Outcome::Measured : Outcome::Rejected, reply.seconds, 0, 1, reply.error, 0));
  }
  return ok();
}

// Measures a built candidate, unless its code is known, and takes its time, or its failure.
auto Session::judge(WorkerPool& pool, Database& database, Tried tried, const BuildReply& reply) -> Status {
  if (reply.outcome != BuildOutcome::Built) {
    return settle(database, std::move(tried), trial_outcome(reply.outcome), 0, 0, 0, reply.note, 0);
  }
  if (reply.object_hash == plain_hash_ && plain_hash_ != 0) {
    // The steps do not change the machine code.
    pool.drop(tried.candidate.id);
    search_->learn(tried.proposal, std::max(progress_.plain_seconds, 1e-9), false);
    ++progress_.failures["same code as the program as written"];
    note_twin(tried.proposal.sketch, "same code as the program as written", progress_.plain_seconds);
    return ok();
  }
  if (auto twin = seconds_by_code_.find(reply.object_hash); twin != seconds_by_code_.end()) {
    pool.drop(tried.candidate.id);
    search_->learn(tried.proposal, std::max(twin->second, 1e-9), false);
    ++progress_.failures["same code as another"];
    note_twin(tried.proposal.sketch, "same code as another", twin->second);
    return ok();
  }
  tried.figures = reply.figures;
  if (is_ranking_) {
    seconds_by_code_[reply.object_hash] = reply.estimate_seconds;
    return reply.estimate_seconds > 0 ? settle(database, std::move(tried), Outcome::Measured, reply.estimate_seconds, 0, 0, {}, reply.lowered_hash)
                                      : settle(database, std::move(tried), Outcome::Rejected, 0, 0, 0, "nothing of it is bound to threads", 0);
  }
  Candidate candidate = tried.candidate;
  double to_beat = progress_.best_seconds > 0 ? progress_.best_seconds : progress_.plain_seconds;
  MeasureReply measured = pool.measure(candidate, to_beat, screen_blocks);
  if (stopping() && measured.outcome == Outcome::Rejected) { return ok(); }
  seconds_by_code_[reply.object_hash] = measured.median_seconds;
  if (measured.outcome == Outcome::Measured && progress_.best_seconds > 0 && measured.median_seconds < 0.98 * progress_.best_seconds) {
    // A new best is measured twice; the slower time counts.
    MeasureReply again = pool.measure(candidate, 0, screen_blocks * 2);
    if (again.outcome == Outcome::Measured && again.median_seconds > measured.median_seconds) { measured = again; }
  }
  LOOPSMITH_CHECK(settle(database, std::move(tried), measured.outcome, measured.median_seconds, measured.spread_seconds,
                         measured.blocks, measured.note, reply.lowered_hash));
  // To save memory, only candidates of the final comparison stay built.
  bool may_win = std::any_of(measured_.begin(), measured_.begin() + static_cast<std::ptrdiff_t>(std::min(finalists, measured_.size())),
                             [&](const Tried& t) { return t.candidate.id == candidate.id; });
  if (!may_win) { pool.drop(candidate.id); }
  return ok();
}

// Proposes, builds and measures one batch. False: the space is exhausted.
auto Session::round(WorkerPool& pool, Database& database) -> Result<bool> {
  const size_t batch = options_.batch > 0 ? options_.batch : search_->batch();
  size_t wanted = batch;
  if (trials_limit_ > 0) { wanted = std::min(wanted, static_cast<size_t>(trials_limit_ - progress_.trials)); }
  // The first batches are small, so that the search learns early.
  if (batch <= usual_batch && progress_.trials < static_cast<int>(batch)) { wanted = std::min<size_t>(wanted, 8); }
  std::vector<Tried> fresh = propose(wanted);
  for (size_t i = 0; i < sketches_.size(); ++i) { progress_.sketches[i].closed = search_->why_closed(i); }
  if (stopping()) { return true; }
  if (fresh.empty()) { return false; }
  LOOPSMITH_CHECK(open_programs(fresh));
  if (options_.runner) {
    LOOPSMITH_CHECK(run_elsewhere(std::move(fresh), database));
    return true;
  }
  // Candidates with a record take its time; the others are built and measured.
  std::vector<Candidate> to_build;
  for (const Tried& tried : fresh) {
    if (recorded(tried) == nullptr) { to_build.push_back(tried.candidate); }
  }
  Deadline begins_before = never();
  if (options_.seconds > 0) { begins_before = start_ + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(options_.seconds - reserve())); }
  std::vector<BuildReply> built = [&] {
    const Timed timed(progress_.profile.build);
    return pool.build(to_build, begins_before);
  }();
  const Timed timed(progress_.profile.measure);
  size_t next = 0;
  for (Tried& tried : fresh) {
    if (const Record* known = recorded(tried)) {
      const Record r = *known;
      LOOPSMITH_CHECK(settle(database, std::move(tried), r.outcome, r.median_seconds, r.spread_seconds, r.blocks, r.note, r.candidate));
      continue;
    }
    const BuildReply& reply = built[next++];
    if (stopping() || search_time_is_over()) {
      pool.drop(tried.candidate.id);
      continue;
    }
    LOOPSMITH_CHECK(judge(pool, database, std::move(tried), reply));
  }
  return true;
}

// Measures the fastest few again, in turns and with more blocks, since a short measurement cannot distinguish them.
auto Session::confirm(WorkerPool& pool) -> void {
  size_t count = std::min(finalists, measured_.size());
  if (count == 0) { return; }
  const Timed timed(progress_.profile.measure);
  report("confirming");
  std::vector<std::vector<double>> times(count);
  std::vector<int> timings(count);
  std::vector<double> plain_times;
  const Candidate plain{plain_id, empty_trace};
  // As many blocks as the reserved time allows.
  double turn_seconds = static_cast<double>(count) * measured_[0].seconds + progress_.plain_seconds;
  int blocks = final_blocks / final_turns;
  if (options_.seconds > 0) { blocks = static_cast<int>(std::clamp(reserve() / final_turns / std::max(turn_seconds, 1e-6), 1.0, static_cast<double>(blocks))); }
  for (int turn = 0; turn < final_turns && !stopping(); ++turn) {
    // Measured in the same minutes as the others: only then can the times be compared.
    if (progress_.plain_seconds > 0 && (turn == 0 || progress_.plain_seconds < 10 * measured_[0].seconds)) {
      MeasureReply reply = pool.measure(plain, 0, blocks);
      if (reply.outcome == Outcome::Measured) { plain_times.push_back(reply.median_seconds); }
    }
    for (size_t i = 0; i < count; ++i) {
      MeasureReply reply = pool.measure(measured_[i].candidate, 0, blocks);
      if (reply.outcome != Outcome::Measured) { continue; }
      times[i].push_back(reply.median_seconds);
      timings[i] += reply.blocks;
    }
    report("confirming");
  }
  if (!plain_times.empty()) {
    std::sort(plain_times.begin(), plain_times.end());
    progress_.plain_seconds = plain_times[plain_times.size() / 2];
  }
  for (size_t i = 0; i < count; ++i) {
    if (times[i].empty()) { continue; }
    std::sort(times[i].begin(), times[i].end());
    measured_[i].seconds = times[i][times[i].size() / 2];
    measured_[i].spread = std::max(times[i].back() - measured_[i].seconds, measured_[i].seconds - times[i].front());
    measured_[i].timings = timings[i];
  }
  std::sort(measured_.begin(), measured_.begin() + static_cast<std::ptrdiff_t>(count),
                   [](const Tried& a, const Tried& b) { return std::pair(a.seconds, a.candidate.id) < std::pair(b.seconds, b.candidate.id); });
}

// Adds the records of earlier searches that this search did not propose before it was stopped. They count as trials from the database.
void Session::recall(const std::vector<Record>& records) {
  std::unordered_set<std::string> met;
  for (const Tried& tried : measured_) { met.insert(name_of(tried.own, tried.candidate.trace)); }
  auto add = [&](const std::vector<Record>& of, const IRModule& own) {
    for (const Record& record : of) {
      const bool is_new = record.outcome == Outcome::Measured && record.trace != empty_trace && !met.contains(name_of(own, record.trace));
      if (is_new) { recall(record, own); }
    }
  };
  add(records, {});
  for (const auto& [own, of] : own_records_) { add(of, own); }
}

void Session::recall(const Record& record, const IRModule& own) {
  auto trace = schedule::trace_from_json(record.trace);
  if (!trace.ok()) { return; }
  Tried tried{{}, {next_id_++, record.trace}, {}, record.median_seconds, record.spread_seconds, record.blocks, record.id};
  if (own) {
    schedule::Schedule sch(own, 1);
    if (!sch.replay(*trace)) { return; }
    tried.candidate.module = print_script(sch.module());
    tried.own = own;
  }
  tried.log_line = record.line;
  for (const std::string& line : trace->python_lines()) { tried.python += line + "\n"; }
  auto place = std::upper_bound(measured_.begin(), measured_.end(), record.median_seconds, [](double s, const Tried& t) { return s < t.seconds; });
  measured_.insert(place, std::move(tried));
  ++progress_.trials;
  ++progress_.from_database;
  progress_.best_seconds = measured_.front().seconds;
  progress_.best_python = measured_.front().python;
  progress_.trial_seconds.push_back(record.median_seconds);
  result_.best_so_far.push_back(progress_.best_seconds);
}

auto Session::open_programs(const std::vector<Tried>& candidates) -> Status {
  for (const Tried& tried : candidates) {
    const bool is_known = !tried.own || std::any_of(own_records_.begin(), own_records_.end(), [&](const auto& one) { return one.first == tried.own; });
    if (is_known) { continue; }
    LOOPSMITH_TRY(records, database_->records(key_of(tried.own)));
    for (const Record& record : records) { recorded_.insert_or_assign(name_of(tried.own, record.trace), record); }
    own_records_.emplace_back(tried.own, std::move(records));
  }
  return ok();
}

/// The hash of the contents of arguments.
auto hash_of(const std::vector<std::vector<double>>& arguments) -> uint64_t {
  uint64_t out = arguments.size();
  for (const std::vector<double>& elements : arguments) { out = hash_bytes({reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(double)}, out); }
  return out;
}

auto Session::open() -> Status {
  PrimFunc func = module_->find(function_);
  auto refuse = [&](const Reason& why) { return error(Code::CannotTune).arg("function", function_.view()).arg("reason", why.text()); };
  is_on_device_ = target::is_device_target(target_);
  if (is_gpu_target(target_.kind) && !is_on_device_) {
    return refuse(because(Why::TargetNotMeasured).arg("target", target_.str()))
        .remedy("write the schedule by hand, and compare versions by `loopsmith bench`");
  }
  if (!func) { return refuse(because(Why::NoFunction)); }
  if (!root_block(func)) { return refuse(because(Why::NoBlocks)); }
  if (find_search(options_.search.substr(0, options_.search.find('('))) == nullptr) { return refuse(because(Why::NoSuchSearch).arg("search", options_.search).arg("known", search_names())); }
  if (ChosenSearch chosen = read_search(options_.search); !chosen.kind) { return error(Code::CannotTune).arg("function", function_.view()).arg("reason", chosen.problem); }
  const ModelKind* model = find_model(options_.model);
  if (model == nullptr) { return refuse(because(Why::NoSuchModel).arg("model", options_.model).arg("known", model_names())); }
  if (std::string why = model->why_not ? model->why_not() : std::string(); !why.empty()) { return refuse(because(Why::ModelUnusable).arg("model", options_.model).arg("cause", why)); }
  key_ = {structural_hash(module_), target_.str(), target::machine_identity()};
  if (is_on_device_) { LOOPSMITH_CHECK(open_device()); }
  if (!options_.arguments.empty()) { key_.machine += fmt::format(", arguments {:016x}", hash_of(options_.arguments)); }
  if (options_.runner) { key_.machine = result_.device = "runner " + options_.runner->name(); }
  LOOPSMITH_TRY(database, Database::open(options_.database.empty() ? Database::default_path() : options_.database));
  LOOPSMITH_TRY(records, database.records(key_));
  for (const Record& record : records) { recorded_.insert_or_assign(record.trace, record); }
  records_ = std::move(records);
  database_ = std::move(database);
  return ok();
}

/// The fastest trace of each other program with this target, the latest program first.
auto Session::traces_of_others() -> std::vector<std::pair<std::string, schedule::Trace>> {
  std::vector<std::pair<std::string, schedule::Trace>> out;
  auto workloads = database_->workloads();
  if (!workloads.ok()) { return out; }
  for (size_t i = workloads->size(); i-- > 0 && out.size() < most_transferable;) {
    const Database::Workload& one = (*workloads)[i];
    if (one.task.workload == key_.workload || one.task.target != key_.target || one.best_seconds <= 0) { continue; }
    auto best = database_->best(one.task);
    auto trace = best.ok() && *best && (*best)->trace != empty_trace ? schedule::trace_from_json((*best)->trace) : Result<schedule::Trace>(Diagnostics());
    if (trace.ok()) { out.emplace_back(one.name, *std::move(trace)); }
  }
  return out;
}

auto Session::make_space() -> Status {
  const Timed timed(progress_.profile.space);
  target::Hardware hardware = target::hardware(target_);
  SpaceContext context{module_, function_, hardware, cost::core_model(hardware)};
  context.is_over = [this] { return (options_.stop && options_.stop()) || (options_.seconds > 0 && elapsed() >= options_.seconds - reserve()); };
  if (is_on_device_) {
    const TaskReply& device = pool_->device();
    auto own = target::parse(device.code_target.empty() ? target_.str() : device.code_target);
    context.gpu = cost::gpu_model(own.ok() ? *own : target_);
    if (device.block_threads > 0) { context.gpu->limits.block_threads = device.block_threads; }
    if (device.shared_bytes > 0) { context.gpu->limits.shared_most = device.shared_bytes; }
    if (device.units > 0) { context.gpu->limits.units = device.units; }
  }
  if (options_.space) {
    LOOPSMITH_TRY(made, options_.space(context));
    sketches_ = std::move(made);
  } else if (is_on_device_) {
    // The rules of space/all.cpp are for processors.
    LOOPSMITH_TRY(made, metaschedule_space(context, target_, options_.seed));
    sketches_ = std::move(made);
  } else {
    sketches_ = design_space(context);
  }
  size_t transferred = 0;
  if (options_.transfer) {
    // These sketches come first, because the first points are measured in the order of the sketches.
    Sketches all = transferred_sketches(context, traces_of_others(), most_transferred);
    transferred = all.size();
    std::move(sketches_.begin(), sketches_.end(), std::back_inserter(all));
    sketches_ = std::move(all);
  }
  progress_.sketches.resize(sketches_.size());
  for (size_t i = 0; i < sketches_.size(); ++i) {
    progress_.sketches[i].name = sketches_[i]->name();
    for (const Knob& knob : sketches_[i]->knobs()) { progress_.sketches[i].knobs.emplace_back(knob.name, knob.choices.size()); }
  }
  search_ = read_search(options_.search).make(sketches_, options_.seed * 0x9e3779b97f4a7c15ULL + 1);
  search_->use_model(*find_model(options_.model));
  if (options_.known_points) {
    std::vector<KnownPoint> known = options_.known_points();
    for (KnownPoint& one : known) {
      one.sketch += transferred;
      // Other points may make the same steps.
      const std::variant<Made, NotMade> made = one.is_exact ? make({one.sketch, one.point, 0}) : NotMade{};
      if (const auto* it = std::get_if<Made>(&made)) { known_.insert_or_assign(name_of(it->own, it->json), one.seconds); }
    }
    search_ = make_preloaded(std::move(search_), sketches_, known);
  }
  if (options_.candidate_model) { search_ = make_judged(std::move(search_), sketches_, options_.candidate_model, {module_, function_, target_}, options_.seed + 1); }
  return ok();
}

auto Session::start() -> Status {
  LOOPSMITH_CHECK(open());
  std::string text = print_script(module_);
  if (!is_ranking_) { LOOPSMITH_CHECK(database_->add_workload(key_, label_, text)); }
  LOOPSMITH_CHECK(make_space());
  progress_.trials_total = options_.trials;
  progress_.limit_seconds = options_.seconds;
  progress_.flops = result_.flops = count_flops(module_, function_);
  check_seconds_ = comparison_seconds;
  schedule::State state(module_);
  if (const schedule::FuncState* written = state.func(function_)) {
    // The interpreter runs the program on two inputs; above some size, a second build replaces it.
    double instances = 0;
    for (const BlockFact& block : analyze(*written)) { instances += block.instances; }
    check_seconds_ += 2 * interpreter_seconds * std::min(instances, 1e8);
  }

  report("starting");
  if (!pool_) { LOOPSMITH_CHECK(start_pool(text)); }
  LOOPSMITH_CHECK(measure_plain(*pool_, *database_));
  report(is_ranking_ ? "ranking" : "measuring");
  return ok();
}

auto Session::start_pool(const std::string& text) -> Status {
  const bool is_cuda = is_on_device_ && target_.kind == target_kind::cuda;
  PoolOptions pool_options;
  pool_options.program = options_.worker;
  pool_options.workers = options_.workers > 0 ? options_.workers : is_cuda ? static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 2U, most_cuda_workers)) : 2;
  pool_options.stop = [this] { return stopping(); };
  pool_options.opens_device = is_on_device_;
  pool_options.measures_on_first = is_cuda;
  if (is_on_device_) {
    // Compilers of kernels start when they are needed first, and need seconds for loops that are written out.
    pool_options.build_limit = 30;
    pool_options.least_build_limit = 8;
  }
  if (options_.build_limit > 0) { pool_options.build_limit = options_.build_limit; }
  if (options_.measure_limit > 0) { pool_options.measure_limit = options_.measure_limit; }
  pool_ = std::make_unique<WorkerPool>(pool_options, WorkerTask{.module = text, .function = function_.str(), .target = target_.str(), .seed = options_.seed, .arguments = options_.arguments});
  return pool_->start();
}

// Devices belong to the key of records: times of two devices are not comparable.
auto Session::open_device() -> Status {
  LOOPSMITH_CHECK(start_pool(print_script(module_)));
  result_.device = pool_->device().device;
  if (result_.device.empty()) {
    is_ranking_ = result_.is_ranked = true;
    result_.notes.push_back("no device measures: " + pool_->device().no_device);
    key_.machine += ", without a device";
    return ok();
  }
  key_.machine = result_.device;
  return ok();
}

auto Session::search_until(int trials) -> Result<bool> {
  trials_limit_ = trials;
  while ((trials == 0 || progress_.trials < trials) && !search_time_is_over() && !stopping()) {
    LOOPSMITH_TRY(more, round(*pool_, *database_));
    if (!more) {
      result_.notes.push_back("the design space is exhausted");
      return false;
    }
  }
  return true;
}

auto Session::finish() -> Result<SessionResult> {
  result_.stopped = progress_.is_stopped = stopped_;
  if (is_ranking_ || options_.runner) {
    // Estimates, and times of others, are not measured again.
  } else if (stopped_) {
    recall(records_);
  } else {
    confirm(*pool_);
  }
  if (options_.verify && !measured_.empty()) { report("verifying"); }
  result_.plain_seconds = progress_.plain_seconds;
  result_.progress = progress_;
  result_.causes = causes_.sorted();
  result_.tasks = {key_};
  for (const auto& [own, records] : own_records_) { result_.tasks.push_back(key_of(own)); }
  // The callbacks of the session do not apply to the comparison.
  pool_->stop_when({});
  auto parts = std::make_unique<Comparison::Parts>(Comparison::Parts{
      .finalists = {}, .result = std::move(result_), .causes = std::move(causes_), .pool = std::move(pool_), .database = std::move(*database_), .options = options_, .start = start_});
  for (Tried& tried : measured_) { parts->finalists.push_back({std::move(tried.candidate), std::move(tried.python), tried.seconds, tried.spread, tried.timings, tried.record, std::move(tried.figures),
                                                                            tried.own ? print_script(tried.own) : std::string(), std::move(tried.log_line)}); }
  parts->options.stop = {};
  auto comparison = std::make_unique<Comparison>(std::move(parts));
  if (stopped_ && options_.compare_later && !measured_.empty()) {
    SessionResult left;
    left.stopped = true;
    left.plain_seconds = progress_.plain_seconds;
    left.flops = progress_.flops;
    left.progress = progress_;
    left.comparison = std::move(comparison);
    return left;
  }
  return comparison->finish();
}

auto Session::run() -> Result<SessionResult> {
  LOOPSMITH_CHECK(start());
  LOOPSMITH_TRY(more, search_until(options_.trials));
  (void)more;
  return finish();
}

/// One round of a search whose measurements are all in the database. False: it needs a measurement, or the space is exhausted.
auto Session::repeat_round() -> bool {
  const size_t batch = options_.batch > 0 ? options_.batch : search_->batch();
  std::vector<Tried> fresh = propose(batch <= usual_batch && progress_.trials < static_cast<int>(batch) ? std::min<size_t>(batch, 8) : batch);
  bool is_recorded = !fresh.empty() && open_programs(fresh).ok();
  for (Tried& tried : fresh) {
    const Record* known = recorded(tried);
    if (known == nullptr) {
      is_recorded = false;
      --progress_.sketches[tried.proposal.sketch].proposed;
      continue;
    }
    const Record r = *known;
    is_recorded = settle(*database_, std::move(tried), r.outcome, r.median_seconds, r.spread_seconds, r.blocks, r.note, r.candidate).ok() && is_recorded;
  }
  return is_recorded;
}

auto Session::explain() -> Result<SpaceExplained> {
  LOOPSMITH_CHECK(open());
  LOOPSMITH_CHECK(make_space());
  SpaceExplained out;
  out.search = options_.search;
  if (!records_.empty()) { while (repeat_round() && progress_.trials < static_cast<int>(records_.size())) {} }
  out.records = static_cast<int>(records_.size());
  for (size_t s = 0; s < sketches_.size(); ++s) { out.sketches.push_back(explain_sketch(*sketches_[s], progress_.sketches[s], search_->why_closed(s))); }
  target::Hardware hardware = target::hardware(target_);
  if (!is_on_device_) { out.units = unit_fits({module_, function_, hardware, cost::core_model(hardware)}); }
  out.causes = causes_.sorted();
  return out;
}

}  // namespace

struct SteppedSession::Impl { Session session; };

SteppedSession::SteppedSession(const IRModule& module, Name function, const target::Target& target, const std::string& label, SessionOptions options)
    : impl_(std::make_unique<Impl>(Impl{Session(module, function, target, label, std::move(options))})) {}
SteppedSession::SteppedSession(SteppedSession&&) noexcept = default;
auto SteppedSession::operator=(SteppedSession&&) noexcept -> SteppedSession& = default;
SteppedSession::~SteppedSession() = default;

auto SteppedSession::start() -> Status { return impl_->session.start(); }
auto SteppedSession::search_until(int trials, double seconds) -> Result<bool> {
  impl_->session.limit_search(seconds);
  return impl_->session.search_until(trials);
}
auto SteppedSession::progress() const -> const Progress& { return impl_->session.progress(); }
auto SteppedSession::finish(double seconds) -> Result<SessionResult> {
  impl_->session.set_limit(seconds);
  return impl_->session.finish();
}

auto explain_space(const IRModule& module, Name function, const target::Target& target, const SessionOptions& options) -> Result<SpaceExplained> {
  return Session(module, function, target, {}, options).explain();
}

auto tune(const IRModule& module, Name function, const target::Target& target, const std::string& label,
          const SessionOptions& options) -> Result<SessionResult> {
  return Session(module, function, target, label, options).run();
}

}  // namespace loopsmith::tune
