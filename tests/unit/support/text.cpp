// Names and quantities in text: names in any writing system are whole words, and every quantity has one spelling.
#include "support/text.h"

#include <string>

#include "../catch.h"

using namespace loopsmith;

TEST_CASE("a name begins with a letter, `_` or a character outside ASCII") {
  for (const char* name : {"a", "_", "Z9", "block_1", "größe", "Δx", "名前"}) { CHECK(is_name(name)); }
  for (const char* text : {"", "1", "9a", "a.b", "a-b", "a b", " a"}) { CHECK_FALSE(is_name(text)); }
  CHECK(is_name("for"));
  CHECK(is_python_keyword("for"));
  CHECK(is_python_keyword("None"));
  CHECK_FALSE(is_python_keyword("none"));
  CHECK_FALSE(is_python_keyword("f"));
}

TEST_CASE("any text becomes a name") {
  CHECK(to_name("T.block") == "T_block");
  CHECK(to_name("3d conv") == "v3d_conv");
  CHECK(to_name("") == "v");
  CHECK(to_name("größe") == "größe");
}

TEST_CASE("the ends of a name, from any byte of it") {
  std::string text = "x = T.größe(12)";
  size_t open = text.find('(');
  CHECK(name_begin(text, open) == 6);
  CHECK(name_end(text, 6) == open);
  for (size_t at = 6; at <= open; ++at) { CHECK(name_around(text, at) == "größe"); }
  CHECK(dotted_name_begin(text, open) == 4);
  CHECK(name_begin(text, 3) == 3);
  CHECK(name_end(text, open) == open);
  CHECK(name_around(text, 3).empty());
}

TEST_CASE("a name is found where it stands on its own") {
  CHECK(find_name("a_1 = a + ba", "a") == 6);
  CHECK(find_name("a_1 = a + a", "a", 7) == 10);
  CHECK(contains_name("sch.split(i, [4])", "i"));
  CHECK_FALSE(contains_name("sch.split(j, [4])", "i"));
  CHECK_FALSE(contains_name("größe", "gr"));
  CHECK_FALSE(contains_name("größe", "e"));
  CHECK_FALSE(contains_name("a", ""));
}

TEST_CASE("characters are not cut in the middle") {
  CHECK(character_count("größe") == 5);
  CHECK(first_bytes("größe", 3) == "gr");
  CHECK(first_bytes("größe", 4) == "grö");
  CHECK(first_bytes("abc", 3) == "abc");
  CHECK(first_bytes("ö", 1).empty());
}

TEST_CASE("a duration has four significant digits and the unit that fits") {
  CHECK(duration_text(0) == "0 s");
  CHECK(duration_text(3.21e-10) == "0.321 ns");
  CHECK(duration_text(4.2e-8) == "42.00 ns");
  CHECK(duration_text(4.12e-4) == "412.0 us");
  CHECK(duration_text(1.0984e-3) == "1.098 ms");
  CHECK(duration_text(0.0123456) == "12.35 ms");
  CHECK(duration_text(2) == "2.000 s");
  CHECK(duration_text(3605.2) == "3605 s");
  CHECK(duration_text(-0.5) == "-500.0 ms");
  // A number that rounds to 1000 is 1 of the next unit.
  CHECK(duration_text(9.9996e-4) == "1.000 ms");
  CHECK(duration_text(0.99994) == "999.9 ms");
}

TEST_CASE("a time that someone waits is in whole seconds") {
  CHECK(waiting_text(0) == "0 s");
  CHECK(waiting_text(7.2) == "8 s");
  CHECK(waiting_text(65) == "1:05 min");
  CHECK(waiting_text(7209) == "2:00:09 h");
}

TEST_CASE("bytes, operations and counts") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(96) == "96 B");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(2050) == "2.0 KiB");
  CHECK(bytes_text(1 << 20) == "1 MiB");
  CHECK(bytes_text(431104) == "421 KiB");
  CHECK(bytes_text(1048575) == "1.0 MiB");
  CHECK(flops_text(9999) == "9,999 flop");
  CHECK(flops_text(268435456) == "268.4 Mflop");
  CHECK(grouped(999) == "999");
  CHECK(grouped(134217728) == "134,217,728");
  CHECK(grouped(-1000) == "-1,000");
  CHECK(grouped(-999) == "-999");
  CHECK(count_text(1, "trial") == "1 trial");
  CHECK(count_text(2048, "trial") == "2,048 trials");
  CHECK(count_text(0, "index", "indices") == "0 indices");
  CHECK(plural(1, "statement is", "statements are") == "statement is");
}
