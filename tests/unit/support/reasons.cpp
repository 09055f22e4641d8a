// The catalogue of reasons: the form of its texts, their arguments, and that the code uses each row.
#include "support/reasons.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "support/message_text.h"
#include "support/text.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

constexpr std::string_view names[] = {
#define REASON(why, text) #why,
#include "support/reasons.def"
#undef REASON
};

/// The names in braces; empty text: a brace has no partner.
auto arguments_in(std::string_view text) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (size_t at = text.find_first_of("{}"); at != std::string_view::npos; at = text.find_first_of("{}", at + 1)) {
    size_t end = text.find_first_of("{}", at + 1);
    bool is_pair = text[at] == '{' && end != std::string_view::npos && text[end] == '}';
    out.emplace_back(is_pair ? text.substr(at + 1, end - at - 1) : std::string_view());
    if (!is_pair) { break; }
    at = end;
  }
  return out;
}

}  // namespace

TEST_CASE("the text of a reason is a clause with named arguments") {
  REQUIRE(all_reasons().size() == std::size(names));
  std::set<std::string_view> texts;
  for (Why why : all_reasons()) {
    std::string_view text = reason_text(why);
    CAPTURE(text);
    REQUIRE(!text.empty());
    CHECK(text.back() != '.');
    // Names such as LLVM and CUDA keep their capitals.
    CHECK((std::isupper(static_cast<unsigned char>(text[0])) == 0 || std::isupper(static_cast<unsigned char>(text[1])) != 0));
    for (const std::string& argument : arguments_in(text)) { CHECK(is_name(argument)); }
    CHECK(texts.insert(text).second);
  }
}

TEST_CASE("arguments are filled in, and a noun follows the number before it") {
  CHECK(because(Why::ReadsUndeclared).arg("block", "C").arg("buffer", "A").text() == "`C` reads `A` without declaring it");
  CHECK(because(Why::ReadsUndeclared).arg("block", "").arg("buffer", "A").text() == "`T.block()` reads `A` without declaring it");
  CHECK(because(Why::PadValueCount).arg("count", size_t{2}).text() == "its pad value is 2 values, not one");
  CHECK(because(Why::RangesCount).arg("count", 3).arg("dimensions", 1).text() == "there are 3 begins and ends for 1 dimension");
  CHECK(because(Why::MapNotInvertible).arg("analysis_message", "a {text} with braces").text() == "a {text} with braces");
}

TEST_CASE("no message has a plural behind the count 1") {
  const std::set<std::string> no_plurals = {"as", "axis", "begins", "belongs", "declares", "does", "has", "is", "lacks", "needs", "reads", "s", "uses", "waits"};
  std::vector<std::string> messages;
  auto filled = [](std::string_view text) {
    std::vector<std::pair<std::string, std::string>> ones;
    for (std::string& argument : arguments_in(text)) { ones.emplace_back(std::move(argument), "1"); }
    return fill_message(text, ones);
  };
  for (Why why : all_reasons()) { messages.push_back(filled(reason_text(why))); }
  for (Code code : all_codes()) { messages.push_back(filled(code_text(code))); }
  for (const std::string& message : messages) {
    std::istringstream words(message);
    for (std::string before, word; words >> word; before = word) {
      CAPTURE(message);
      CHECK((before != "1" || !word.ends_with("s") || no_plurals.contains(word)));
    }
  }
}

TEST_CASE("the code gives each reason somewhere") {
  std::set<std::string> used;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tests::source_folder() + "/compiler")) {
    if (entry.path().extension() != ".cpp") { continue; }
    std::ifstream in(entry.path());
    std::ostringstream text;
    text << in.rdbuf();
    const std::string all = text.str();
    for (size_t at = all.find("Why::"); at != std::string::npos; at = all.find("Why::", at + 1)) { used.insert(all.substr(at + 5, name_end(all, at + 5) - at - 5)); }
  }
  for (std::string_view name : names) {
    CAPTURE(name);
    CHECK(used.contains(std::string(name)));
  }
}
