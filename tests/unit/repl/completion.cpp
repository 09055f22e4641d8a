// Completion at the prompt: words of commands, primitives that are legal here, arguments, and names in any script.
#include <algorithm>
#include <string>
#include <vector>

#include "repl/session.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::repl;

namespace {

constexpr const char* program = R"(@T.prim_func
def rows(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
    for i, j in T.grid(64, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
)";

/// A session with a program, in which inputs were executed.
struct Prompt {
  explicit Prompt(const std::vector<std::string>& inputs) : session(host()) {
    REQUIRE(session.load_text("rows.tir", program));
    for (const std::string& input : inputs) {
      INFO(input << ": " << output());
      REQUIRE(session.execute(input));
    }
  }
  /// The words offered at the end of the input, and the part of the input that they replace.
  auto at_end_of(const std::string& input) -> std::vector<std::string> {
    size_t start = 0;
    std::vector<std::string> words = session.complete(input, input.size(), start);
    replaced = input.substr(start);
    return words;
  }
  static auto output() -> std::string& {
    static std::string text;
    return text;
  }
  static auto host() -> Host {
    Host host;
    output().clear();
    host.out = host.err = [](std::string_view text) { output() += text; };
    host.render = [](const Diagnostic& d, const Locator&, const std::string&) { return d.message() + "\n"; };
    return host;
  }
  Session session;
  std::string replaced;
};

auto has(const std::vector<std::string>& words, const std::string& word) -> bool { return std::find(words.begin(), words.end(), word) != words.end(); }

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("names in any script are completed as whole words") {
  Prompt prompt({"größe, länge = sch.get_loops(\"B\")", "ширина = 4"});
  CHECK(prompt.at_end_of("grö") == Words{"größe"});
  CHECK(prompt.replaced == "grö");
  CHECK(prompt.at_end_of("sch.split(größ") == Words{"größe"});
  CHECK(prompt.replaced == "größ");
  CHECK(prompt.at_end_of("sch.reorder(länge, g") == Words{"größe"});
  CHECK(prompt.at_end_of("шир") == Words{"ширина"});
  CHECK(prompt.replaced == "шир");
  CHECK(prompt.at_end_of(":past lä") == Words{"länge"});
  CHECK(prompt.replaced == "lä");
}

TEST_CASE("arguments are those with which the call is legal") {
  Prompt prompt({"i, j = sch.get_loops(\"B\")", "sch.parallel(i)"});
  CHECK(prompt.at_end_of("sch.split(j, factors=[") == Words{"None", "2", "4", "8", "16", "32"});
  CHECK(prompt.at_end_of("sch.split(j, fac") == Words{"factors="});
  CHECK(prompt.at_end_of("sch.get_block(\"") == Words{"B"});
  CHECK(has(prompt.at_end_of("sch.bind(j, \"thr"), "threadIdx.x"));
  CHECK(prompt.at_end_of("sch.crd") == Words{"cache_read"});
  CHECK(prompt.replaced == "crd");
}

TEST_CASE("a call that is asked about is completed as one that is made") {
  Prompt prompt({"i, j = sch.get_loops(\"B\")"});
  CHECK(has(prompt.at_end_of(":why-not spl"), "split"));
  CHECK(prompt.at_end_of(":why-not split(j, fac") == Words{"factors="});
  CHECK(prompt.replaced == "fac");
  CHECK(prompt.at_end_of(":why-not sch.split(j, fac") == Words{"factors="});
  CHECK(prompt.replaced == "fac");
  CHECK(has(prompt.at_end_of(":time sch.vec"), "vectorize"));
  CHECK(prompt.replaced == "vec");
}

TEST_CASE("commands have words of their own") {
  Prompt prompt({"i, j = sch.get_loops(\"B\")", ":branch start"});
  CHECK(prompt.at_end_of(":unr").empty());
  CHECK(prompt.at_end_of(":und") == Words{"undo"});
  CHECK(prompt.at_end_of(":goto s") == Words{"start"});
  CHECK(prompt.at_end_of(":set plain o") == Words{"off", "on"});
  CHECK(prompt.at_end_of("?split ") == Words{"B", "i", "j"});
  CHECK(prompt.at_end_of(":undo ").empty());
  CHECK(prompt.at_end_of("# gr").empty());
}
