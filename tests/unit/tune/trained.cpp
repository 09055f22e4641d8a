// Models that are trained from samples: they rank candidates that they have not seen, of the same program and of another size, and their place in a search.
#include <cmath>
#include <random>

#include "schedule/trace_json.h"
#include "tests/support/effort.h"
#include "tests/support/tuned_program.h"
#include "tests/unit/catch.h"
#include "tune/cost/trained.h"
#include "tune/search/search.h"
#include "tune/space/trace_spaces.h"
#include "tune/space/transferred.h"

using namespace loopsmith;

namespace {

/// A machine that the draft does not know: vectors and unrolled loops have another weight there. The noise is that of a measurement.
auto truth(const tune::Sample& sample, std::mt19937_64& random) -> double {
  double ratio = 0;
  for (const auto& row : sample.stores) { ratio += 0.6 * std::abs(row[17] - 4) - 0.05 * row[28] + 0.1 * row[162]; }
  const double noise = 0.02 * static_cast<double>(random() % 100) / 100;
  return sample.draft_seconds * std::exp(ratio + noise);
}

struct Program {
  explicit Program(int size) : module(testing::module_of(testing::product_relu(size, size, size))), target(testing::target_of("llvm -mcpu=x86-64-v3 -num-cores=2")) {
    auto made = tune::metaschedule_space(testing::context_of(module, target), target, 0);
    REQUIRE(made.ok());
    sketches = std::move(*made);
  }
  /// Samples of random points, measured on that machine.
  auto samples(size_t count, uint64_t seed) -> std::vector<tune::Sample> {
    std::mt19937_64 random(seed);
    const tune::Sampler sampler(target);
    std::vector<tune::Sample> out;
    for (size_t tries = 0; out.size() < count && tries < 20 * count; ++tries) {
      const tune::Sketch& sketch = *sketches[tries % sketches.size()];
      tune::Point point;
      for (const tune::Knob& knob : sketch.knobs()) { point.push_back(static_cast<uint16_t>(random() % knob.choices.size())); }
      schedule::Schedule sch(module, 1);
      if (!sketch.apply(sch, point).ok()) { continue; }
      auto sample = sampler.sample(sch, Name("main"));
      if (!sample) { continue; }
      sample->task = sample->program = "product" + std::to_string(seed);
      sample->seconds = truth(*sample, random);
      out.push_back(std::move(*sample));
    }
    REQUIRE(out.size() == count);
    return out;
  }
  IRModule module;
  target::Target target;
  tune::Sketches sketches;
};

auto score_of(const tune::TrainedModel& model, const std::vector<tune::Sample>& samples) -> tune::TaskScore {
  auto scores = tune::score_tasks(samples, [&](const tune::Sample& sample) { return model.score(sample); });
  REQUIRE(scores.size() == 1);
  return scores[0];
}

}  // namespace

TEST_CASE("a trained model ranks candidates that it has not seen, better than chance and than the draft") {
  Program small(64);
  auto all = small.samples(120, 2);
  const std::vector<tune::Sample> held(all.begin() + 80, all.end());
  all.resize(80);
  auto model = tune::train(all);
  REQUIRE(model.ok());
  CHECK(model->samples == 80);
  CHECK(model->tasks == 1);
  const tune::TaskScore mine = score_of(*model, held);
  const tune::TaskScore draft = tune::score_tasks(held, [](const tune::Sample& sample) { return -sample.draft_seconds; }).at(0);
  CHECK(mine.pairwise > 0.75);
  CHECK(mine.pairwise > draft.pairwise);
  CHECK(mine.correlation > 0.5);
  CHECK(mine.ndcg > draft.ndcg);

  // Another size of the program, of which it has no sample.
  const tune::TaskScore other = score_of(*model, Program(128).samples(40, 3));
  CHECK(other.pairwise > 0.65);
}

TEST_CASE("scores have their known values for the right, the reversed and no order") {
  std::vector<tune::Sample> samples(20);
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i].task = "t";
    samples[i].seconds = 1 + static_cast<double>(i);
  }
  const auto of = [&](const tune::ScoreSample& score) { return tune::score_tasks(samples, score).at(0); };
  const tune::TaskScore right = of([](const tune::Sample& s) { return -s.seconds; }), wrong = of([](const tune::Sample& s) { return s.seconds; }), none = of([](const tune::Sample&) { return 0.0; });
  CHECK(right.pairwise == 1);
  CHECK(right.correlation == Approx(1));
  CHECK(right.recall == 1);
  CHECK(right.ndcg == Approx(1));
  CHECK(wrong.pairwise == 0);
  CHECK(wrong.correlation == Approx(-1));
  CHECK(wrong.recall == 0);
  CHECK(none.pairwise == 0.5);
  CHECK(none.correlation == 0);
  samples.resize(3);
  CHECK(tune::score_tasks(samples, [](const tune::Sample&) { return 0.0; }).empty());
  CHECK(!tune::train(samples).ok());
}

TEST_CASE("trees from a file are checked before they are walked") {
  using Nodes = std::vector<tune::Tree::Node>;
  const auto why = [](Nodes nodes) { return tune::why_not_trees({tune::Tree{std::move(nodes)}}); };
  CHECK(!why({{.value = 1}}));
  CHECK(!why({{.feature = 3, .threshold = 1, .left = 1, .right = 2}, {.value = 1}, {.value = 2}}));
  CHECK(why({{.feature = 3, .threshold = 1, .left = 0, .right = 1}, {.value = 1}}));
  CHECK(why({{.feature = 3, .threshold = 1, .left = 1, .right = 9}, {.value = 1}}));
  CHECK(why({{.feature = 100000, .threshold = 1, .left = 1, .right = 1}, {.value = 1}}));
  CHECK(why({{.value = std::nan("")}}));
}

TEST_CASE("a model chooses among the proposals of any search, and learns from the measurements") {
  /// Prefers schedules with many instructions, so its choice is known.
  class Longest final : public tune::CandidateModel {
   public:
    auto predict(const tune::ModelTask&, const std::vector<schedule::Schedule>& candidates) -> std::vector<double> override {
      std::vector<double> out;
      for (const auto& sch : candidates) { out.push_back(static_cast<double>(sch.trace().instructions().size())); }
      judged += candidates.size();
      return out;
    }
    void update(const tune::ModelTask&, const std::vector<tune::Lesson>& more) override { lessons.insert(lessons.end(), more.begin(), more.end()); }
    size_t judged = 0;
    std::vector<tune::Lesson> lessons;
  };
  Program small(64);
  const char* evolutionary = "evolutionary(population_size=16, genetic_num_iters=1)";
  for (const char* name : tests::size_of_test<std::vector<const char*>>({"random", "genetic", evolutionary}, {"random", "genetic", evolutionary}, {evolutionary})) {
    INFO(name);
    auto model = std::make_shared<Longest>();
    auto search = tune::make_judged(tune::read_search(name).make(small.sketches, 1), small.sketches, model, {small.module, Name("main"), small.target}, 1);
    const auto proposals = search->propose(8);
    REQUIRE(proposals.size() >= 8);
    CHECK(model->judged >= 16);
    for (const auto& proposal : proposals) { search->learn(proposal, 1e-3, true); }
    (void)search->propose(8);
    CHECK(model->lessons.size() == proposals.size());
  }
}

TEST_CASE("searches take parameters in parentheses, and refuse others") {
  CHECK(tune::read_search("evolutionary").kind != nullptr);
  const auto read = tune::read_search("evolutionary( population_size=16, eps_greedy=0.5 )");
  REQUIRE(read.kind != nullptr);
  REQUIRE(read.numbers.size() == 2);
  CHECK(read.numbers[0] == std::pair<std::string, double>("population_size", 16));
  for (const char* text : {"nothing", "evolutionary(", "evolutionary(size=3)", "evolutionary(population_size=0)", "evolutionary(population_size=1.5)", "evolutionary(eps_greedy=2)", "evolutionary(eps_greedy=)",
                           "evolutionary(eps_greedy=nan)", "guided(eps_greedy=0.1)"}) {
    INFO(text);
    CHECK(tune::read_search(text).kind == nullptr);
    CHECK(!tune::read_search(text).problem.empty());
  }
  // A parameter changes the proposals.
  Program small(64);
  const auto points = [&](const char* text) {
    std::vector<tune::Point> out;
    for (const auto& proposal : tune::read_search(text).make(small.sketches, 1)->propose(8)) { out.push_back(proposal.point); }
    return out;
  };
  const auto usual = points("evolutionary(population_size=16)");
  CHECK(points("evolutionary(population_size=16, eps_greedy=0.05)") == usual);
  for (const char* other : {"population_size=12", "genetic_num_iters=1", "genetic_mutate_prob=0", "eps_greedy=1"}) { CHECK(points(("evolutionary(population_size=16, " + std::string(other) + ")").c_str()) != usual); }
}

TEST_CASE("a recorded schedule of another size is a sketch where it applies") {
  const IRModule small = testing::module_of(testing::product_relu(64, 64, 64)), large = testing::module_of(testing::product_relu(96, 128, 64));
  const target::Target target = testing::target_of("llvm -mcpu=x86-64-v3 -num-cores=2");
  schedule::Schedule sch(small, 1);
  auto loops = sch.call("get_loops", {*sch.call("get_block", {"C", "main"})});
  REQUIRE(loops.ok());
  const auto factors = [](int64_t a, int64_t b) { return schedule::Value(schedule::Value::List{schedule::Value(a), schedule::Value(b)}); };
  REQUIRE(sch.call("split", {(*loops->as<schedule::Value::List>())[1], factors(8, 8)}).ok());
  schedule::Schedule other(small, 1);
  REQUIRE(other.call("get_block", {"D", "main"}).ok());

  const auto context = testing::context_of(large, target);
  // The second one is the same trace, the third has a block that the program does not have.
  auto foreign = schedule::trace_from_json(R"([[["GetBlock", [], ["missing", "main"], ["b0"]]], []])");
  REQUIRE(foreign.ok());
  const auto sketches = tune::transferred_sketches(context, {{"small", sch.trace()}, {"again", sch.trace()}, {"foreign", *foreign}, {"other", other.trace()}}, 4);
  REQUIRE(sketches.size() == 2);
  CHECK(sketches[0]->name() == "record of small");
  CHECK(std::isfinite(sketches[0]->draft({})));
  schedule::Schedule adapted(large, 1);
  REQUIRE(sketches[0]->apply(adapted, {}).ok());
  std::string lines;
  for (const std::string& line : adapted.trace().python_lines()) { lines += line + "\n"; }
  CHECK(lines.find("factors=[None, 8]") != std::string::npos);
  CHECK(tune::transferred_sketches(context, {{"small", sch.trace()}, {"other", other.trace()}}, 1).size() == 1);
}
