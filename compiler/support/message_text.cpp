// Texts of the catalogues, with their arguments filled in: see message_text.h.
#include "support/message_text.h"

namespace loopsmith {
namespace {

// Nouns that follow a count in the catalogue's texts, with their singular.
constexpr std::pair<std::string_view, std::string_view> counted[] = {
    {" arguments", " argument"}, {" positional arguments", " positional argument"}, {" dimensions", " dimension"}, {" indices", " index"},
    {" items", " item"},         {" names", " name"},                              {" values", " value"},         {" results", " result"},
    {" buffers", " buffer"},     {" axis kinds", " axis kind"},                    {" loop variables", " loop variable"},
    {" candidates", " candidate"}, {" probabilities", " probability"},
    {" errors", " error"},
};

}  // namespace

auto fill_message(std::string_view text, const std::vector<std::pair<std::string, std::string>>& args) -> std::string {
  std::string out;
  while (!text.empty()) {
    size_t open = text.find('{');
    size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) { break; }
    out += text.substr(0, open);
    std::string_view name = text.substr(open + 1, close - open - 1);
    for (const auto& [key, value] : args) {
      // A block without a name is shown as the text of its statement.
      if (key == name) { out += value.empty() && name == "block" ? "T.block()" : value; }
    }
    text.remove_prefix(close + 1);
    bool is_one = out.ends_with("1") && (out.size() == 1 || out[out.size() - 2] == ' ');
    for (const auto& [many, one] : counted) {
      if (!is_one || !text.starts_with(many)) { continue; }
      out += one;
      text.remove_prefix(many.size());
      break;
    }
  }
  out += text;
  return out;
}

}  // namespace loopsmith
