// Searches choose the points of a design space that are measured next. All of them have one interface: a session asks for proposals, and returns
// their outcomes.
//
// Deterministic: the same sketches, seed and answers give the same proposals. Sessions resume by this.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tune/cost/candidate_model.h"
#include "tune/cost/model.h"
#include "tune/space/sketch.h"

namespace loopsmith::tune {

struct Proposal {
  size_t sketch = 0;
  Point point;
  double expected_seconds = 0;
};

class Search {
 public:
  virtual ~Search() = default;

  /// Up to `count` points that were never proposed before; fewer when the space is exhausted.
  [[nodiscard]] virtual auto propose(size_t count) -> std::vector<Proposal> = 0;

  /// Takes the measurement of a proposal. `exact` false: the true time is at least `seconds`.
  virtual void learn(const Proposal& proposal, double seconds, bool exact) = 0;
  /// Takes the news that the point is not a candidate: it is not legal, or did not build, run or give the right result.
  virtual void reject(const Proposal& proposal) = 0;

  /// Corrects drafts by a model of this kind instead of the default one. Call it first. Searches without a model ignore it.
  virtual void use_model(const ModelKind& /*kind*/) {}
  /// Sets a parameter of the search kind. Call it first.
  virtual void set_number(std::string_view /*name*/, double /*value*/) {}
  /// The number of proposals that the search wants to make before it learns from them.
  [[nodiscard]] virtual auto batch() const -> size_t { return 16; }
  /// The reason why the search proposes no more points of a sketch; empty: it may.
  [[nodiscard]] virtual auto why_closed(size_t /*sketch*/) const -> std::string { return {}; }
};

/// A parameter of a search.
struct SearchNumber {
  std::string_view name;
  double usual = 0, least = 0, most = 1;
  bool is_whole = false;
};

using Numbers = std::vector<std::pair<std::string, double>>;
/// Reads the text behind a name: nothing, or "(population_size=128, eps_greedy=0.1)". A mistake is described in `problem`; `what` is the owner of the parameters.
[[nodiscard]] auto read_numbers(std::string_view text, std::string_view what, const std::vector<SearchNumber>& known, std::string& problem) -> Numbers;

/// A search by name, with a line for help texts.
struct SearchKind {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Search> (*make)(const Sketches& sketches, uint64_t seed);
  std::vector<SearchNumber> numbers = {};
};

/// All searches; the default is the first.
[[nodiscard]] auto search_kinds() -> const std::vector<SearchKind>&;
/// Null: no search has the name.
[[nodiscard]] auto find_search(std::string_view name) -> const SearchKind*;
/// The names, as a sentence lists them: "guided, random, ... or gradient".
[[nodiscard]] auto search_names() -> std::string;

/// A search with parameters that differ from the usual ones.
struct ChosenSearch {
  const SearchKind* kind = nullptr;                             // null: `problem` is the reason
  Numbers numbers = {};
  std::string problem = {};
  [[nodiscard]] auto make(const Sketches& sketches, uint64_t seed) const -> std::unique_ptr<Search>;
};
/// Reads "evolutionary", or "evolutionary(population_size=128, eps_greedy=0.1)".
[[nodiscard]] auto read_search(std::string_view text) -> ChosenSearch;

// The makers of the searches, one per file. The sketches must outlive the search.
[[nodiscard]] auto make_guided(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;
[[nodiscard]] auto make_random(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;
[[nodiscard]] auto make_replay_trace(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;
[[nodiscard]] auto make_grid(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;
[[nodiscard]] auto make_greedy(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;
[[nodiscard]] auto make_coordinate(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;
[[nodiscard]] auto make_annealing(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;
[[nodiscard]] auto make_genetic(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;
[[nodiscard]] auto make_evolutionary(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;
[[nodiscard]] auto make_bandit(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;
[[nodiscard]] auto make_mcts(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;
[[nodiscard]] auto make_bayesian(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;
[[nodiscard]] auto make_q_learning(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;
[[nodiscard]] auto make_gradient(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search>;

/// A point whose trial is known from elsewhere, such as a log that a file preloads.
struct KnownPoint {
  size_t sketch = 0;
  Point point;
  double seconds = 0;            // 0: it has no time
  bool is_exact = true;          // false: it is only near the candidate with this time
};
/// A search that learns from the exact points, and never proposes them; it proposes the others first, the fastest in front.
[[nodiscard]] auto make_preloaded(std::unique_ptr<Search> inner, const Sketches& sketches, const std::vector<KnownPoint>& known) -> std::unique_ptr<Search>;

/// A search whose proposals a model of whole candidates judges.
[[nodiscard]] auto make_judged(std::unique_ptr<Search> inner, const Sketches& sketches, std::shared_ptr<CandidateModel> model, ModelTask task, uint64_t seed) -> std::unique_ptr<Search>;

}  // namespace loopsmith::tune
