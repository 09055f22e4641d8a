// The loop of a tuning session: see session.h.
#include "tune/session/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "support/codes.h"
#include "support/hash.h"
#include "support/text.h"
#include "target/hardware.h"
#include "tune/measure/pool.h"
#include "tune/space/analysis.h"
#include "tune/space/sketch.h"

namespace loopsmith::tune {

using SteadyClock = std::chrono::steady_clock;

/// A measured candidate for the final comparison.
struct Finalist {
  Candidate candidate;
  std::string python;
  double seconds = 0;
  double spread = 0;
  int timings = 0;
  int64_t record = 0;
};

struct Comparison::Parts {
  std::vector<Finalist> finalists;   // fastest first
  SessionResult result;
  std::unique_ptr<WorkerPool> pool;
  Database database;
  SessionOptions options;
  SteadyClock::time_point start;
};

namespace {

// The number of candidates in the final comparison, and of their blocks there.
constexpr size_t finalists = 4;
constexpr int final_blocks = 25;
constexpr int screen_blocks = 5;

class Session {
 public:
  Session(const IRModule& module, Name function, const target::Target& target, std::string label, const SessionOptions& options)
      : module_(module), function_(function), target_(target), label_(std::move(label)), options_(options), start_(SteadyClock::now()) {}

  auto run() -> Result<SessionResult>;

 private:
  struct Tried {
    Proposal proposal;
    Candidate candidate;
    std::string python;
    double seconds = 0;
    double spread = 0;
    int timings = 0;
    int64_t record = 0;
  };
  struct Made { std::string json; std::string python; };

  [[nodiscard]] auto elapsed() const -> double { return std::chrono::duration<double>(SteadyClock::now() - start_).count(); }
  [[nodiscard]] auto out_of_budget() const -> bool {
    return (options_.trials > 0 && progress_.trials >= options_.trials) || (options_.seconds > 0 && elapsed() >= options_.seconds);
  }
  [[nodiscard]] auto stopping() -> bool {
    wait_while_paused();
    if (!stopped_ && options_.stop && options_.stop()) { stopped_ = true; }
    return stopped_;
  }
  /// The clock of the budget stands still meanwhile.
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
    if (options_.on_progress) { options_.on_progress(progress_); }
  }
  [[nodiscard]] auto make(const Proposal& proposal) const -> Result<Made>;
  auto measure_plain(WorkerPool& pool, Database& database) -> Status;
  auto round(Search& search, WorkerPool& pool, Database& database) -> Result<bool>;
  auto settle(Search& search, Database& database, Tried tried, Outcome outcome, double seconds, double spread, int blocks,
              const std::string& note, uint64_t lowered) -> Status;
  auto confirm(WorkerPool& pool) -> void;
  void recall(const std::vector<Record>& records);

  IRModule module_;
  Name function_;
  target::Target target_;
  std::string label_;
  const SessionOptions& options_;
  SteadyClock::time_point start_;
  TaskKey key_;
  Sketches sketches_;
  Progress progress_;
  SessionResult result_;
  bool stopped_ = false;
  uint64_t next_id_ = 2;                                   // 1: the program as written
  std::vector<Tried> measured_;                            // fastest first
  std::unordered_map<std::string, Record> recorded_;       // by trace
  std::unordered_map<uint64_t, double> seconds_by_code_;   // by BuildReply::object_hash: equal code is measured once
};

// The program as written is measured for comparison only: for these seconds, and at most a quarter of the session.
constexpr double plain_limit = 3;
constexpr uint64_t plain_id = 1;
constexpr const char* empty_trace = "[[], []]";

auto Session::make(const Proposal& proposal) const -> Result<Made> {
  schedule::Schedule sch(module_, static_cast<int64_t>(options_.seed % 2147483646) + 1);
  if (!(sch.func_working_on() == function_)) { LOOPSMITH_CHECK(sch.work_on(function_)); }
  LOOPSMITH_CHECK(sketches_[proposal.sketch]->apply(sch, proposal.point));
  Made made;
  made.json = schedule::trace_to_json(sch.trace());
  for (const std::string& line : sch.trace().python_lines()) { made.python += line + "\n"; }
  return made;
}

auto Session::settle(Search& search, Database& database, Tried tried, Outcome outcome, double seconds, double spread, int blocks,
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
  if (auto known = recorded_.find(tried.candidate.trace); known == recorded_.end()) {
    LOOPSMITH_TRY(id, database.add(key_, record));
    record.id = id;
    recorded_.emplace(record.trace, record);
  } else {
    record.id = known->second.id;
    ++progress_.from_database;
  }
  ++progress_.trials;
  if (outcome == Outcome::Measured || outcome == Outcome::Censored) {
    search.learn(tried.proposal, seconds, outcome == Outcome::Measured);
  } else {
    // The time limit of a candidate that was killed is a lower bound of its time; the others teach nothing.
    seconds > 0 ? search.learn(tried.proposal, seconds, false) : search.reject(tried.proposal);
    ++progress_.failures[outcome_name(outcome)];
  }
  if (outcome == Outcome::Measured) {
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
  report("measuring");
  return ok();
}

auto Session::measure_plain(WorkerPool& pool, Database& database) -> Status {
  Candidate plain{plain_id, empty_trace};
  auto too_slow = [&](double limit) {
    result_.notes.push_back(fmt::format("the program as written takes more than {:.3g} s", limit));
  };
  if (auto known = recorded_.find(empty_trace); known != recorded_.end()) {
    if (known->second.outcome == Outcome::Measured) { progress_.plain_seconds = known->second.median_seconds; }
    if (known->second.outcome == Outcome::Censored) { too_slow(known->second.median_seconds); }
    return ok();
  }
  BuildReply built = pool.build({plain}).front();
  if (stopping()) { return ok(); }
  if (built.outcome != BuildOutcome::Built) {
    return error(Code::CannotTune).arg("function", function_.view()).arg("why", "the program as written does not build: " + built.note);
  }
  double limit = options_.seconds > 0 ? std::min(plain_limit, options_.seconds / 4) : plain_limit;
  MeasureReply reply = pool.measure(plain, 0, 1, limit);
  if (stopping()) { return ok(); }
  if (reply.outcome == Outcome::Crashed) {
    return error(Code::CannotTune).arg("function", function_.view()).arg("why", "the program as written crashes its worker: " + reply.note);
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

// Proposes, builds and measures one batch. False: the space is exhausted.
auto Session::round(Search& search, WorkerPool& pool, Database& database) -> Result<bool> {
  size_t wanted = options_.batch;
  if (options_.trials > 0) { wanted = std::min(wanted, static_cast<size_t>(options_.trials - progress_.trials)); }
  // The first batches are small, so that the search learns early.
  if (progress_.trials < static_cast<int>(options_.batch)) { wanted = std::min<size_t>(wanted, 8); }
  std::vector<Tried> fresh;
  // Illegal points cost no trial; others are proposed in their place.
  for (int attempt = 0; attempt < 8 && fresh.size() < wanted; ++attempt) {
    std::vector<Proposal> proposals = search.propose(wanted - fresh.size());
    if (proposals.empty()) { break; }
    for (Proposal& proposal : proposals) {
      if (stopping()) { return true; }
      Result<Made> made = make(proposal);
      if (!made.ok()) {
        search.reject(proposal);
        ++progress_.failures[std::string("not legal: ") + std::string(code_id(made.diagnostics().front().code))];
        continue;
      }
      fresh.push_back({std::move(proposal), {next_id_++, std::move(made->json)}, std::move(made->python), 0, 0, 0});
    }
  }
  if (fresh.empty()) { return false; }
  // The most promising candidate comes first: its time lets slow ones stop early.
  std::sort(fresh.begin(), fresh.end(), [](const Tried& a, const Tried& b) {
    return std::pair(a.proposal.expected_seconds, a.candidate.id) < std::pair(b.proposal.expected_seconds, b.candidate.id);
  });

  // Candidates with a record take its time; the others are built and measured.
  std::vector<Candidate> to_build;
  for (const Tried& tried : fresh) {
    if (!recorded_.contains(tried.candidate.trace)) { to_build.push_back(tried.candidate); }
  }
  std::vector<BuildReply> built = pool.build(to_build);
  size_t next = 0;
  for (Tried& tried : fresh) {
    if (auto known = recorded_.find(tried.candidate.trace); known != recorded_.end()) {
      Record r = known->second;
      LOOPSMITH_CHECK(settle(search, database, std::move(tried), r.outcome, r.median_seconds, r.spread_seconds, r.blocks, r.note, r.candidate));
      continue;
    }
    BuildReply reply = built[next++];
    if (stopping() || (options_.seconds > 0 && elapsed() >= options_.seconds)) {
      pool.drop(tried.candidate.id);
      continue;
    }
    if (reply.outcome != BuildOutcome::Built) {
      LOOPSMITH_CHECK(settle(search, database, std::move(tried), trial_outcome(reply.outcome), 0, 0, 0, reply.note, 0));
      continue;
    }
    if (auto twin = seconds_by_code_.find(reply.object_hash); twin != seconds_by_code_.end()) {
      pool.drop(tried.candidate.id);
      search.learn(tried.proposal, std::max(twin->second, 1e-9), false);
      ++progress_.failures["same code as another"];
      continue;
    }
    Candidate candidate = tried.candidate;
    double to_beat = progress_.best_seconds > 0 ? progress_.best_seconds : progress_.plain_seconds;
    MeasureReply measured = pool.measure(candidate, to_beat, screen_blocks);
    if (stopping() && measured.outcome == Outcome::Rejected) { continue; }
    seconds_by_code_[reply.object_hash] = measured.median_seconds;
    if (measured.outcome == Outcome::Measured && progress_.best_seconds > 0 && measured.median_seconds < 0.98 * progress_.best_seconds) {
      // A new best is measured twice; the slower time counts.
      MeasureReply again = pool.measure(candidate, 0, screen_blocks * 2);
      if (again.outcome == Outcome::Measured && again.median_seconds > measured.median_seconds) { measured = again; }
    }
    LOOPSMITH_CHECK(settle(search, database, std::move(tried), measured.outcome, measured.median_seconds, measured.spread_seconds,
                           measured.blocks, measured.note, reply.lowered_hash));
    // To save memory, only candidates of the final comparison stay built.
    bool may_win = std::any_of(measured_.begin(), measured_.begin() + static_cast<std::ptrdiff_t>(std::min(finalists, measured_.size())),
                               [&](const Tried& t) { return t.candidate.id == candidate.id; });
    if (!may_win) { pool.drop(candidate.id); }
  }
  return true;
}

// Measures the fastest few again, in turns and with more blocks, as a short screening cannot tell them apart.
auto Session::confirm(WorkerPool& pool) -> void {
  size_t count = std::min(finalists, measured_.size());
  if (count == 0) { return; }
  report("confirming");
  std::vector<std::vector<double>> times(count);
  std::vector<int> timings(count);
  for (int turn = 0; turn < 3; ++turn) {
    for (size_t i = 0; i < count; ++i) {
      MeasureReply reply = pool.measure(measured_[i].candidate, 0, final_blocks / 3);
      if (reply.outcome != Outcome::Measured) { continue; }
      times[i].push_back(reply.median_seconds);
      timings[i] += reply.blocks;
    }
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

// Takes up the records of earlier searches that this search was stopped before proposing. They count as trials from the database.
void Session::recall(const std::vector<Record>& records) {
  std::unordered_set<std::string_view> met;
  for (const Tried& tried : measured_) { met.insert(tried.candidate.trace); }
  for (const Record& record : records) {
    if (record.outcome != Outcome::Measured || record.trace == empty_trace || met.contains(record.trace)) { continue; }
    auto trace = schedule::trace_from_json(record.trace);
    if (!trace.ok()) { continue; }
    Tried tried{{}, {next_id_++, record.trace}, {}, record.median_seconds, record.spread_seconds, record.blocks, record.id};
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
}

auto Session::run() -> Result<SessionResult> {
  PrimFunc func = module_->find(function_);
  if (!func) { return error(Code::CannotTune).arg("function", function_.view()).arg("why", "the module has no such function"); }
  if (!root_block(func)) {
    return error(Code::CannotTune).arg("function", function_.view()).arg("why", "it is not at schedule level (no blocks to schedule)");
  }
  std::string text = print_script(module_);
  key_ = {structural_hash(module_), target_.str(), target::machine_identity()};
  LOOPSMITH_TRY(database, Database::open(options_.database.empty() ? Database::default_path() : options_.database));
  LOOPSMITH_CHECK(database.add_workload(key_, label_, text));
  LOOPSMITH_TRY(records, database.records(key_));
  for (const Record& record : records) { recorded_.insert_or_assign(record.trace, record); }

  target::Hardware hardware = target::hardware(target_);
  SpaceContext context{module_, function_, hardware, cost::core_model(hardware)};
  sketches_ = design_space(context);
  progress_.trials_total = options_.trials;
  progress_.limit_seconds = options_.seconds;
  progress_.flops = result_.flops = count_flops(module_, function_);

  PoolOptions pool_options;
  pool_options.program = options_.worker;
  pool_options.workers = options_.workers;
  pool_options.stop = [this] { return stopping(); };
  auto pool = std::make_unique<WorkerPool>(pool_options, WorkerTask{text, function_.str(), target_.str(), options_.seed});
  report("starting");
  LOOPSMITH_CHECK(pool->start());
  LOOPSMITH_CHECK(measure_plain(*pool, database));
  report("measuring");

  Search search(sketches_, options_.seed * 0x9e3779b97f4a7c15ULL + 1, options_.strategy);
  while (!out_of_budget() && !stopping()) {
    LOOPSMITH_TRY(more, round(search, *pool, database));
    if (!more) {
      result_.notes.push_back("the design space is exhausted");
      break;
    }
  }
  result_.stopped = progress_.is_stopped = stopped_;
  if (stopped_) { recall(records); } else { confirm(*pool); }
  if (options_.verify && !measured_.empty()) { report("verifying"); }
  result_.plain_seconds = progress_.plain_seconds;
  result_.progress = progress_;
  auto parts = std::make_unique<Comparison::Parts>(Comparison::Parts{
      .finalists = {}, .result = std::move(result_), .pool = std::move(pool), .database = std::move(database), .options = options_, .start = start_});
  for (Tried& tried : measured_) { parts->finalists.push_back({std::move(tried.candidate), std::move(tried.python), tried.seconds, tried.spread, tried.timings, tried.record}); }
  // The callbacks of the session do not apply to the comparison.
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

}  // namespace

Comparison::Comparison(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Comparison::~Comparison() = default;

auto Comparison::best_seconds() const -> double { return parts_->finalists.empty() ? 0 : parts_->finalists.front().seconds; }

auto Comparison::finish(std::function<bool()> abandon) -> Result<SessionResult> {
  SessionResult& result = parts_->result;
  const SessionOptions& options = parts_->options;
  const auto& report = abandon ? decltype(options.on_progress){} : options.on_progress;
  if (!abandon) { abandon = options.abandon; }
  parts_->pool->stop_when(abandon);
  for (Finalist& finalist : parts_->finalists) {
    if (options.verify) {
      CheckReply reply = parts_->pool->check(finalist.candidate, options.verify_seconds);
      // The comparison did not end, so the candidate is neither right nor wrong.
      if (!reply.equal && abandon && abandon()) {
        result.abandoned = true;
        break;
      }
      if (!reply.equal) {
        result.notes.push_back("a candidate of " + duration_text(finalist.seconds) + " was left out: " + reply.note);
        LOOPSMITH_CHECK(parts_->database.mark_wrong(finalist.record, reply.note));
        ++result.progress.failures[outcome_name(Outcome::Wrong)];
        continue;
      }
      result.verified = verified_text(reply);
      LOOPSMITH_CHECK(parts_->database.mark_verified(finalist.record, result.verified));
    }
    result.found = true;
    result.trace = std::move(finalist.candidate.trace);
    result.trace_python = std::move(finalist.python);
    result.best_seconds = finalist.seconds;
    result.spread_seconds = finalist.spread;
    result.timings = finalist.timings;
    break;
  }
  result.is_unscheduled_best = result.found && result.plain_seconds > 0 && result.plain_seconds < result.best_seconds;
  (void)parts_->database.sync();
  result.progress.phase = "done";
  result.progress.elapsed_seconds = std::chrono::duration<double>(SteadyClock::now() - parts_->start).count();
  if (report) { report(result.progress); }
  return std::move(result);
}

auto count_flops(const IRModule& module, Name function) -> double {
  schedule::State state(module);
  const schedule::FuncState* func = state.func(function);
  if (!func) { return 0; }
  double flops = 0;
  for (const BlockFact& block : analyze(*func)) { flops += block.flops * block.instances; }
  return flops;
}

auto least_seconds(const IRModule& module, Name function, const target::Peaks& peaks) -> double {
  PrimFunc func = module->find(function);
  if (!func) { return 0; }
  double bytes = 0;
  for (const auto& [param, buffer] : func->buffer_map) {
    double size = (buffer->dtype.bits * buffer->dtype.lanes + 7) / 8;
    for (const Expr& extent : buffer->shape) {
      auto number = as_int(extent);
      if (!number || !(buffer->dtype == DataType::float_(32))) { return 0; }
      size *= static_cast<double>(*number);
    }
    bytes += size;
  }
  double rate = peaks.copy_rate(static_cast<uint64_t>(bytes), true) * 1e9;
  double peak = peaks.fma_f32_all * 1e9;
  if (rate <= 0 || peak <= 0) { return 0; }
  return std::max(count_flops(module, function) / peak, bytes / rate);
}

auto tune(const IRModule& module, Name function, const target::Target& target, const std::string& label,
          const SessionOptions& options) -> Result<SessionResult> {
  return Session(module, function, target, label, options).run();
}

}  // namespace loopsmith::tune
