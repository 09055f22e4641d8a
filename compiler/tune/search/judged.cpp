// A search whose proposals a model of whole candidates judges: of several times as many points as are measured, those with the best scores. An eighth of a batch is
// drawn from the others, so that a model that errs does not exclude fast candidates for ever. Points that were not chosen wait for the next batch.
#include <algorithm>
#include <map>
#include <random>

#include "tune/search/search.h"

namespace loopsmith::tune {
namespace {

// The points among which one is chosen.
constexpr size_t points_per_choice = 4;
constexpr size_t chance_share = 8;
// More points do not wait: those with the worst scores are dropped.
constexpr size_t most_waiting = 256;

class Judged final : public Search {
 public:
  Judged(std::unique_ptr<Search> inner, const Sketches& sketches, std::shared_ptr<CandidateModel> model, ModelTask task, uint64_t seed)
      : inner_(std::move(inner)), sketches_(sketches), model_(std::move(model)), task_(std::move(task)), random_(seed) {}
  // The model outlives the search, and may serve another one: it learns from the last batch, too.
  ~Judged() override { teach(); }
  Judged(const Judged&) = delete;
  auto operator=(const Judged&) -> Judged& = delete;

  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override {
    teach();
    std::vector<Proposal> out;
    const size_t wanted = points_per_choice * count;
    std::vector<Waiting> fresh;
    if (waiting_.size() < wanted) {
      for (Proposal& proposal : inner_->propose(wanted - waiting_.size())) {
        const IRModule own = sketches_[proposal.sketch]->own_program(proposal.point);
        schedule::Schedule sch(own ? own : task_.module, 1);
        const bool is_legal = sch.work_on(task_.function).ok() && sketches_[proposal.sketch]->apply(sch, proposal.point).ok();
        // The session finds the reason of a point that is not legal; it costs no trial.
        is_legal ? fresh.push_back({std::move(proposal), std::move(sch), 0, next_number_++}) : out.push_back(std::move(proposal));
      }
    }
    judge(fresh);
    for (size_t i = 0; i < count && !waiting_.empty(); ++i) {
      const bool by_chance = i + 1 > count - count / chance_share && waiting_.size() > 1;
      const size_t at = by_chance ? 1 + random_() % (waiting_.size() - 1) : 0;
      out.push_back(waiting_[at].proposal);
      chosen_.insert_or_assign(key_of(waiting_[at].proposal), std::move(waiting_[at].sch));
      waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(at));
    }
    if (waiting_.size() > most_waiting) { waiting_.resize(most_waiting, waiting_.front()); }
    return out;
  }

  void learn(const Proposal& proposal, double seconds, bool exact) override {
    inner_->learn(proposal, seconds, exact);
    add_lesson(proposal, seconds, exact, false);
  }
  void reject(const Proposal& proposal) override {
    inner_->reject(proposal);
    add_lesson(proposal, 0, false, true);
  }
  void use_model(const ModelKind& kind) override { inner_->use_model(kind); }
  [[nodiscard]] auto batch() const -> size_t override { return inner_->batch(); }
  [[nodiscard]] auto why_closed(size_t sketch) const -> std::string override { return inner_->why_closed(sketch); }

 private:
  struct Waiting { Proposal proposal; schedule::Schedule sch; double score = 0; size_t number = 0; };
  using Key = std::pair<size_t, Point>;
  static auto key_of(const Proposal& proposal) -> Key { return {proposal.sketch, proposal.point}; }

  void add_lesson(const Proposal& proposal, double seconds, bool exact, bool has_failed) {
    auto found = chosen_.find(key_of(proposal));
    if (found == chosen_.end()) { return; }
    lessons_.push_back({std::move(found->second), seconds, exact, has_failed});
    chosen_.erase(found);
  }
  void teach() {
    if (lessons_.empty()) { return; }
    model_->update(task_, lessons_);
    lessons_.clear();
    is_stale_ = true;
  }
  /// Adds points to those that wait, the best scores first. Points without an answer of the model keep the order of the search.
  void judge(std::vector<Waiting>& fresh) {
    const size_t known = is_stale_ ? 0 : waiting_.size();
    for (Waiting& one : fresh) { waiting_.push_back(std::move(one)); }
    is_stale_ = false;
    if (known == waiting_.size()) { return; }
    std::vector<schedule::Schedule> unscored;
    for (size_t i = known; i < waiting_.size(); ++i) { unscored.push_back(waiting_[i].sch); }
    const std::vector<double> scores = model_->predict(task_, unscored);
    if (scores.size() != unscored.size()) { return; }
    for (size_t i = known; i < waiting_.size(); ++i) { waiting_[i].score = scores[i - known]; }
    std::sort(waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) { return a.score != b.score ? a.score > b.score : a.number < b.number; });
  }

  std::unique_ptr<Search> inner_;
  const Sketches& sketches_;
  std::shared_ptr<CandidateModel> model_;
  ModelTask task_;
  std::mt19937_64 random_;
  std::vector<Waiting> waiting_;                   // the best first
  std::map<Key, schedule::Schedule> chosen_;       // proposed, and not measured yet
  std::vector<Lesson> lessons_;
  size_t next_number_ = 0;                         // in the order of the search
  bool is_stale_ = false;                          // the model has learnt since it gave the scores
};

}  // namespace

auto make_judged(std::unique_ptr<Search> inner, const Sketches& sketches, std::shared_ptr<CandidateModel> model, ModelTask task, uint64_t seed) -> std::unique_ptr<Search> {
  return std::make_unique<Judged>(std::move(inner), sketches, std::move(model), std::move(task), seed);
}

}  // namespace loopsmith::tune
