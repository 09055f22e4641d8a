// The comparison of the fastest candidates with the program, at the end of a session: see session.h.
#include "tune/session/comparison.h"

#include <algorithm>

#include "support/text.h"

namespace loopsmith::tune {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The least seconds for the interpreter: small programs are always compared with it.
constexpr double least_interpreter = 1;
// A schedule that takes more than this part of the time as written may be faster only by noise, and is not offered.
constexpr double least_gain = 0.98;
// The most candidates with wrong results that are tried in one comparison.
constexpr int most_wrong = 8;
// The most candidates whose comparison ends at its limit: others of the program take as long.
constexpr int most_late = 2;

/// The seconds since a point in time.
auto since(SteadyClock::time_point begin) -> double { return std::chrono::duration<double>(SteadyClock::now() - begin).count(); }

}  // namespace

Comparison::Comparison(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Comparison::~Comparison() = default;

auto Comparison::best_seconds() const -> double { return parts_->finalists.empty() ? 0 : parts_->finalists.front().seconds; }

auto Comparison::finish(std::function<bool()> abandon) -> Result<SessionResult> {
  SessionResult& result = parts_->result;
  const SteadyClock::time_point begin = SteadyClock::now();
  const SessionOptions& options = parts_->options;
  const auto& report = abandon ? decltype(options.on_progress){} : options.on_progress;
  if (!abandon) { abandon = options.abandon; }
  auto show_elapsed = [&] {
    result.progress.elapsed_seconds = since(parts_->start);
    if (report) { report(result.progress); }
  };
  // It is called often while a comparison runs.
  parts_->pool->stop_when([&] {
    show_elapsed();
    return abandon && abandon();
  });
  // The times of a stopped search were not measured side by side, so a small gain may be real.
  double enough = (result.stopped ? 1 : least_gain) * result.plain_seconds;
  if (!parts_->finalists.empty() && result.plain_seconds > 0 && parts_->finalists.front().seconds >= enough) {
    result.is_unscheduled_best = true;
    result.closest_seconds = parts_->finalists.front().seconds;
    parts_->finalists.clear();
  }
  int wrong = 0, late = 0;
  for (Finalist& finalist : parts_->finalists) {
    if (options.verify) {
      // The rest of the budget, minus the time for another build that replaces the interpreter if that is too slow.
      double interpreter = options.seconds > 0 ? std::max(least_interpreter, 0.7 * (options.seconds - since(parts_->start))) : 0;
      CheckReply reply = parts_->pool->check(finalist.candidate, options.verify_seconds, interpreter);
      // The comparison did not finish, so the candidate is neither right nor wrong.
      if (!reply.equal && abandon && abandon()) {
        result.abandoned = true;
        break;
      }
      // Without a device a large program is not compared at all.
      const bool is_compared = !(result.is_ranked && !reply.equal && reply.inputs == 0);
      if (!is_compared) { result.notes.push_back("the results were not compared: " + reply.note); }
      if (is_compared && !reply.equal) {
        if (wrong++ == 0) { result.notes.push_back("a candidate of " + duration_text(finalist.seconds) + " was left out: " + reply.note); }
        // Results that nobody saw are not wrong. A ranking has no records.
        const char* outcome = reply.timed_out ? "not compared in time" : outcome_name(Outcome::Wrong);
        if (finalist.record > 0 && !reply.timed_out) { LOOPSMITH_CHECK(parts_->database.mark_wrong(finalist.record, reply.note)); }
        ++result.progress.failures[outcome];
        parts_->causes.add(outcome, reply.note, finalist.candidate.trace);
        if (wrong == most_wrong || (reply.timed_out && ++late == most_late)) { break; }
        continue;
      }
      if (is_compared) { result.verified = verified_text(reply); }
      if (is_compared && finalist.record > 0) { LOOPSMITH_CHECK(parts_->database.mark_verified(finalist.record, result.verified)); }
    }
    result.found = true;
    result.trace = std::move(finalist.candidate.trace);
    result.trace_python = std::move(finalist.python);
    result.best_seconds = finalist.seconds;
    result.spread_seconds = finalist.spread;
    result.timings = finalist.timings;
    result.figures = finalist.figures;
    result.program = std::move(finalist.program);
    result.log_line = std::move(finalist.log_line);
    break;
  }
  if (wrong > 1) { result.notes.push_back(std::to_string(wrong - 1) + " more candidates were left out for the same reason"); }
  result.causes = parts_->causes.sorted();
  (void)parts_->database.sync();
  parts_->pool->stop_when({});
  result.progress.phase = "done";
  result.progress.profile.compare += since(begin);
  show_elapsed();
  return std::move(result);
}

}  // namespace loopsmith::tune
