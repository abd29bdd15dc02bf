#include <cuenv/detail/archive.hpp>

#include <support/image_builder.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace cuenv;
using namespace cuenv::detail;
using namespace image_builder;

namespace {

struct Seen {
  Damage damage = Damage::none;
  std::vector<std::string> members;
};

Seen visit(std::string const& bytes) {
  ByteReader reader{memory_source(bytes.data(), bytes.size())};
  Seen seen;
  seen.damage = visit_archive_members({reader, 0, bytes.size()}, [&](std::string const& name, ByteRange range) {
    seen.members.push_back(name + ":" + std::string{range.look(0, 100).text()});
  });
  return seen;
}

using List = std::vector<std::string>;

}  // namespace

TEST_CASE("members have names of three kinds", "[archive]") {
  CHECK(visit(archive({{"a.o/", "one"}, {"b.o/", "four"}})).members == List{"a.o:one", "b.o:four"});
  CHECK(visit(archive({{"a.obj", "one"}})).members == List{"a.obj:one"});
  CHECK(visit(archive({{"/", "?"}, {"/SYM64/", "?"}, {"//", "first/\nsecond/\n"}, {"/0", "1"}, {"/7", "2"}})).members ==
        List{"first:1", "second:2"});
  CHECK(visit(archive({{"//", std::string("x.obj\0y.obj\0", 12)}, {"/6", "2"}})).members == List{"y.obj:2"});
  CHECK(visit(archive({{"#1/4", std::string("ab\0\0data", 8)}})).members == List{"ab:data"});
}

TEST_CASE("archives that lie", "[archive]") {
  std::string const good = archive({{"a.o/", "data"}, {"b.o/", "data"}});
  CHECK(visit(good).damage == Damage::none);
  CHECK(visit(patched(good, 8 + 48, "99999999  ")).damage == Damage::cut);
  CHECK(visit(patched(good, 8 + 48, "-1        ")).damage == Damage::header);
  CHECK(visit(patched(good, 8 + 58, "xx")).damage == Damage::header);
  CHECK(visit(good.substr(0, good.size() - 1)).members.size() == 1);
  CHECK(visit(good.substr(0, 40)).damage == Damage::cut);
  CHECK(visit(archive({{"#1/99", "short"}})).damage == Damage::header);
  CHECK(visit(archive({{"/999999", "x"}})).members == List{":x"});
}
