// Reports for other tools, and the history that measurements are compared with.
#include "driver/reports.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/unit/catch.h"

using namespace loopsmith::driver;
using Json = nlohmann::json;

TEST_CASE("SARIF: rules once each, places as URIs, notes as related places, hints as notes") {
  Json d = {{"file", "a b/\xc3\xa4.tir"}, {"line", 3}, {"column", 5}, {"end_line", 3}, {"end_column", 9}, {"severity", "hint"}, {"code", "some-code"}, {"message", "what"},
            {"help", {"do this"}}, {"notes", {{{"file", "/x.tir"}, {"line", 1}, {"column", 1}, {"end_line", 1}, {"end_column", 2}, {"message", "here"}}}}};
  Json bare = {{"file", "c.tir"}, {"severity", "error"}, {"code", "other"}, {"message", "why"}};
  Json run = sarif({d, bare, d}, "1.2.3")["runs"][0];
  CHECK(run["tool"]["driver"]["version"] == "1.2.3");
  REQUIRE(run["tool"]["driver"]["rules"].size() == 2);
  REQUIRE(run["results"].size() == 3);
  const Json& first = run["results"][0];
  CHECK(first["ruleIndex"] == 0);
  CHECK(run["results"][1]["ruleIndex"] == 1);
  CHECK(run["results"][2]["ruleIndex"] == 0);
  CHECK(first["level"] == "note");
  CHECK(first["message"]["text"] == "what\nhelp: do this");
  CHECK(first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b/%C3%A4.tir");
  CHECK(first["locations"][0]["physicalLocation"]["region"]["endColumn"] == 9);
  CHECK(first["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///x.tir");
  CHECK(first["relatedLocations"][0]["message"]["text"] == "here");
  CHECK_FALSE(run["results"][1]["locations"][0]["physicalLocation"].contains("region"));
}

TEST_CASE("JUnit: failures are counted, texts are escaped") {
  std::string text = junit("a & b", {{"p", "plain", 0.5}, {"p", "<fast>", 0.25, "\"slow\"\n"}});
  CHECK(text == "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<testsuites tests=\"2\" failures=\"1\" time=\"0.750000000\">\n"
                "  <testsuite name=\"a &amp; b\" tests=\"2\" failures=\"1\" time=\"0.750000000\">\n"
                "    <testcase classname=\"p\" name=\"plain\" time=\"0.500000000\"/>\n"
                "    <testcase classname=\"p\" name=\"&lt;fast&gt;\" time=\"0.250000000\">\n"
                "      <failure message=\"&quot;slow&quot;&#10;\"/>\n"
                "    </testcase>\n"
                "  </testsuite>\n"
                "</testsuites>\n");
}

TEST_CASE("a history gives the median of the last five measurements of the same") {
  auto path = (std::filesystem::temp_directory_path() / ("loopsmith-history-" + std::to_string(getpid()))).string();
  std::filesystem::remove(path);
  Json row = {{"program", "p"}, {"name", "fast"}, {"target", "t"}, {"threads", 2}, {"cache", "hot"}, {"arguments", Json::array()}, {"seconds", 0.0}};
  CHECK_FALSE(earlier_seconds(path, row).ok());
  std::vector<Json> rows;
  for (double seconds : {100.0, 1.0, 5.0, 3.0, 2.0, 4.0}) {
    rows.push_back(row);
    rows.back()["seconds"] = seconds;
  }
  for (const char* key : {"program", "name", "target", "cache"}) {   // others
    rows.push_back(row);
    rows.back()[key] = "another";
    rows.back()["seconds"] = 1e9;
  }
  REQUIRE(append_history(path, rows).ok());
  std::ofstream(path, std::ios::app) << "broken {\n[1]\n";
  auto found = earlier_seconds(path, row);
  REQUIRE(found.ok());
  CHECK(*found == 3.0);
  row["threads"] = 1;
  found = earlier_seconds(path, row);
  REQUIRE(found.ok());
  CHECK_FALSE(found->has_value());
  std::filesystem::remove(path);
}
