// All searches on made-up spaces whose times are known. No machine code is made.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tests/unit/catch.h"
#include "tune/search/search.h"
#include "tune/session/several.h"

using namespace loopsmith;
using namespace loopsmith::tune;

namespace {

/// Knobs whose times add up; each has one best choice. The draft knows the first knob only, and refuses some points where that is asked for.
class Bowl : public Sketch {
 public:
  Bowl(std::string name, std::vector<size_t> sizes, double base, bool refuses = false) : base_(base), refuses_(refuses) {
    name_ = std::move(name);
    for (size_t k = 0; k < sizes.size(); ++k) {
      Knob knob{"knob " + std::to_string(k), {}};
      for (int64_t c = 0; c < static_cast<int64_t>(sizes[k]); ++c) { knob.choices.push_back({c}); }
      knobs_.push_back(knob);
    }
  }
  auto apply(schedule::Schedule&, const Point&) const -> Status override { return ok(); }
  [[nodiscard]] auto best(size_t knob) const -> int64_t { return static_cast<int64_t>((knobs_[knob].choices.size() * (knob + 2) / 5 + 1) % knobs_[knob].choices.size()); }
  [[nodiscard]] auto time(const Point& p) const -> double {
    double sum = 0;
    for (size_t k = 0; k < p.size(); ++k) { sum += std::abs(static_cast<double>(p[k] - best(k))) / static_cast<double>(knobs_[k].choices.size()); }
    return base_ * (1 + sum);
  }
  auto draft(const Point& p) const -> double override {
    if (p.empty()) { return base_; }
    if (refuses_ && p[0] % 3 == 2) { return std::numeric_limits<double>::infinity(); }
    return base_ * (1 + std::abs(static_cast<double>(p[0] - best(0))));
  }
  auto features(const Point& p) const -> std::vector<double> override {
    std::vector<double> out;
    for (uint16_t c : p) { out.push_back(c); out.push_back(c * c); }
    return out;
  }
  [[nodiscard]] auto optimum() const -> double { return base_; }

 private:
  double base_;
  bool refuses_;
};

using At = std::pair<size_t, Point>;

struct Course { std::vector<At> proposed; double best = 1e9; bool has_ended = false; };

/// Runs a search. `rejects`: every point with an odd last choice is refused.
auto run(const SearchKind& kind, const Sketches& sketches, uint64_t seed, size_t trials, bool rejects = false) -> Course {
  auto search = kind.make(sketches, seed);
  Course out;
  while (out.proposed.size() < trials) {
    auto batch = search->propose(std::min<size_t>(search->batch(), trials - out.proposed.size()));
    if (batch.empty()) {
      out.has_ended = true;
      break;
    }
    for (const Proposal& p : batch) {
      out.proposed.emplace_back(p.sketch, p.point);
      if (rejects && p.point.back() % 2 == 1) {
        search->reject(p);
        continue;
      }
      const double seconds = static_cast<const Bowl&>(*sketches[p.sketch]).time(p.point);
      // Slow points are measured in part only, as a session does.
      const bool is_exact = seconds < 2 * out.best;
      search->learn(p, is_exact ? seconds : 2 * out.best, is_exact);
      out.best = std::min(out.best, seconds);
    }
  }
  return out;
}

auto two_sketches() -> Sketches {
  Sketches out;
  out.push_back(std::make_unique<Bowl>("slow", std::vector<size_t>{6, 5, 4}, 2e-3));
  out.push_back(std::make_unique<Bowl>("fast", std::vector<size_t>{8, 6, 5, 4}, 1e-3));
  return out;
}

/// The proposals within which a search has found the optimum of the 1,080 points of `two_sketches`, for the worst of five seeds.
auto proposals_to_optimum(const SearchKind& kind) -> size_t {
  Sketches sketches = two_sketches();
  size_t worst = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    auto search = kind.make(sketches, seed);
    size_t proposed = 0;
    bool is_found = false;
    while (!is_found) {
      auto batch = search->propose(search->batch());
      REQUIRE(!batch.empty());
      for (const Proposal& p : batch) {
        const auto& bowl = static_cast<const Bowl&>(*sketches[p.sketch]);
        search->learn(p, bowl.time(p.point), true);
        if (!is_found) { ++proposed; }
        is_found = is_found || (p.sketch == 1 && bowl.time(p.point) <= bowl.optimum() * (1 + 1e-9));
      }
    }
    worst = std::max(worst, proposed);
  }
  return worst;
}

}  // namespace

TEST_CASE("searches find the optimum of an easy space within a stated number of proposals") {
  // The space has 960 + 120 points. Searches that learn nothing may need all of them.
  const std::map<std::string_view, size_t> allowed = {{"guided", 160}, {"random", 1080}, {"grid", 1080}, {"greedy", 200}, {"coordinate", 200}, {"annealing", 500},
                                                      {"genetic", 500}, {"evolutionary", 260}, {"replay-trace", 1080}, {"bandit", 200}, {"mcts", 500},
                                                      {"bayesian", 260}, {"q-learning", 400}, {"gradient", 260}};
  for (const SearchKind& kind : search_kinds()) {
    CAPTURE(kind.name);
    REQUIRE(allowed.contains(kind.name));
    const size_t needed = proposals_to_optimum(kind);
    CHECK(needed <= allowed.at(kind.name));
  }
}

TEST_CASE("every search proposes each accepted point once, and ends when the space is exhausted") {
  Sketches sketches;
  sketches.push_back(std::make_unique<Bowl>("refusing", std::vector<size_t>{6, 4, 3}, 1e-3, true));
  sketches.push_back(std::make_unique<Bowl>("whole", std::vector<size_t>{5, 4}, 2e-3));
  for (const SearchKind& kind : search_kinds()) {
    CAPTURE(kind.name);
    Course course = run(kind, sketches, 7, 1000);
    CHECK(course.has_ended);
    std::set<At> different(course.proposed.begin(), course.proposed.end());
    CHECK(different.size() == course.proposed.size());
    // Of the 72 points of the first sketch the draft refuses 24. `replay-trace` asks no draft, but then ends with the points that it accepts.
    if (kind.name == "replay-trace") { CHECK(different.size() >= 68); } else { CHECK(different.size() == 68); }
  }
}

TEST_CASE("the same seed and answers give the same proposals, another seed gives others") {
  Sketches sketches = two_sketches();
  for (const SearchKind& kind : search_kinds()) {
    CAPTURE(kind.name);
    const Course once = run(kind, sketches, 3, 96);
    CHECK(run(kind, sketches, 3, 96).proposed == once.proposed);
    // A grid has no chance in it.
    CHECK((run(kind, sketches, 4, 96).proposed == once.proposed) == (kind.name == "grid"));
  }
}

TEST_CASE("refused points are not proposed again, and the search goes on among the others") {
  Sketches sketches = two_sketches();
  for (const SearchKind& kind : search_kinds()) {
    CAPTURE(kind.name);
    const Course course = run(kind, sketches, 5, 1080, true);
    CHECK(course.proposed.size() == 1080);
    CHECK(std::set<At>(course.proposed.begin(), course.proposed.end()).size() == 1080);
    double best = 1e9;
    for (const auto& [sketch, point] : course.proposed) {
      if (point.back() % 2 == 0) { best = std::min(best, static_cast<const Bowl&>(*sketches[sketch]).time(point)); }
    }
    CHECK(course.best == best);
  }
}

TEST_CASE("a space without sketches and a sketch without knobs end at once") {
  for (const SearchKind& kind : search_kinds()) {
    CAPTURE(kind.name);
    Sketches none;
    CHECK(kind.make(none, 1)->propose(8).empty());
    Sketches one;
    one.push_back(std::make_unique<Bowl>("as written", std::vector<size_t>{}, 1e-3, false));
    auto search = kind.make(one, 1);
    auto first = search->propose(8);
    REQUIRE(first.size() == 1);
    CHECK(first[0].point.empty());
    search->learn(first[0], 1e-3, true);
    CHECK(search->propose(8).empty());
  }
}

TEST_CASE("the guided search closes sketches with a reason") {
  Sketches sketches = two_sketches();
  auto search = find_search("guided")->make(sketches, 1);
  for (int i = 0; i < 6; ++i) {
    for (const Proposal& p : search->propose(16)) { search->learn(p, static_cast<const Bowl&>(*sketches[p.sketch]).time(p.point), true); }
  }
  CHECK(search->why_closed(0).find("times as slow as the best of all") != std::string::npos);
  CHECK(search->why_closed(1).empty());
  CHECK(find_search("nothing") == nullptr);
  CHECK(search_names().starts_with("guided, random, "));
  CHECK(search_names().ends_with(" or gradient"));
}

TEST_CASE("trials go to the program with the largest expected gain") {
  // If the curves are otherwise equal, a larger weight or a longer best time gives the larger gain.
  const TaskCurve usual{.first_seconds = 2e-3, .best_seconds = 1e-3, .roof_seconds = 2e-4, .weight = 1, .last_gain = 0.1, .flat_slices = 0};
  auto with = [&](auto change) {
    TaskCurve curve = usual;
    change(curve);
    return expected_gain(curve);
  };
  CHECK(with([](TaskCurve& c) { c.weight = 3; }) > expected_gain(usual));
  CHECK(with([](TaskCurve& c) { c.best_seconds = 3e-3; }) > expected_gain(usual));
  CHECK(with([](TaskCurve& c) { c.flat_slices = 2; }) < expected_gain(usual));
  CHECK(with([](TaskCurve& c) { c.roof_seconds = 9e-4; c.last_gain = 0; }) < expected_gain(usual));
  CHECK(with([](TaskCurve& c) { c.roof_seconds = 1e-3; c.last_gain = 0; }) == 0);
  CHECK(with([](TaskCurve& c) { c.best_seconds = 0; }) > with([](TaskCurve& c) { c.weight = 1000; }));
}

TEST_CASE("task schedulers of TVM: the gradient of a task, and parameters in parentheses") {
  const tune::TaskScheduler usual{.kind = tune::TaskScheduler::Kind::Gradient};
  // As in TVM: alpha x the gain of the last slices + (1 - alpha) x the best time / the number of slices, times the weight.
  CHECK(tune::gradient_of({8, 6, 5, 2}, 1, usual) == Approx(0.2 * (8 - 2) / 3.0 + 0.8 * 2 / 4));
  CHECK(tune::gradient_of({8, 6, 5, 2}, 3, usual) == Approx(3 * (0.2 * 2 + 0.4)));
  CHECK(tune::gradient_of({8, 2}, 1, usual) == Approx(0.2 * 2 + 0.8 * 1));
  CHECK(tune::gradient_of({}, 1, usual) > 1e6);
  std::string problem;
  const auto read = tune::read_scheduler("gradient(alpha=0.5, window_size=2)", problem);
  REQUIRE(read.has_value());
  CHECK(read->alpha == 0.5);
  CHECK(read->window_size == 2);
  CHECK(tune::read_scheduler("round-robin", problem)->kind == tune::TaskScheduler::Kind::RoundRobin);
  CHECK(tune::read_scheduler("gain", problem)->kind == tune::TaskScheduler::Kind::Gain);
  for (const char* text : {"best", "gradient(alpha=2)", "gradient(window_size=0)", "gradient(", "round-robin(alpha=0.1)"}) {
    INFO(text);
    problem.clear();
    CHECK(!tune::read_scheduler(text, problem));
    CHECK(!problem.empty());
  }
}

TEST_CASE("a search that is preloaded proposes near points first, and never the known ones", "[search]") {
  for (const SearchKind& kind : search_kinds()) {
    Sketches sketches;
    sketches.push_back(std::make_unique<Bowl>("a", std::vector<size_t>{4, 5}, 1.0));
    sketches.push_back(std::make_unique<Bowl>("b", std::vector<size_t>{3}, 2.0));
    const std::vector<KnownPoint> known = {{0, {1, 2}, 1.5, true}, {0, {0, 0}, 3.0, false}, {1, {2}, 2.5, false}, {0, {3, 3}, 0, true}, {0, {1, 2}, 1.4, true}};
    auto search = make_preloaded(kind.make(sketches, 7), sketches, known);
    std::set<At> proposed;
    std::vector<At> order;
    for (;;) {
      const std::vector<Proposal> more = search->propose(4);
      if (more.empty()) { break; }
      for (const Proposal& one : more) {
        INFO(kind.name);
        REQUIRE(proposed.insert({one.sketch, one.point}).second);
        order.push_back({one.sketch, one.point});
        search->learn(one, 1, true);
      }
    }
    INFO(kind.name);
    REQUIRE(order.at(0) == At{1, {2}});
    REQUIRE(order.at(1) == At{0, {0, 0}});
    // All points but the two that are exact.
    REQUIRE(order.size() == 20 + 3 - 2);
  }
}
