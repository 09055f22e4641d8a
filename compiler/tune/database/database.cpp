// The tuning database on SQLite: see database.h.
#include "tune/database/database.h"

#include "support/codes.h"
#include "support/reasons.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace loopsmith::tune {
namespace {

constexpr int schema_version = 1;

constexpr const char* schema = R"(
CREATE TABLE IF NOT EXISTS workload (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL,
  target TEXT NOT NULL,
  machine TEXT NOT NULL,
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (hash, target, machine)
);
CREATE TABLE IF NOT EXISTS record (
  id INTEGER PRIMARY KEY,
  workload INTEGER NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
  candidate TEXT NOT NULL,
  trace TEXT NOT NULL,
  outcome INTEGER NOT NULL,
  median_seconds REAL NOT NULL,
  spread_seconds REAL NOT NULL,
  blocks INTEGER NOT NULL,
  note TEXT NOT NULL,
  seed TEXT NOT NULL,
  trial INTEGER NOT NULL,
  verified TEXT NOT NULL,
  unix_time INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS record_by_candidate ON record (workload, candidate);
CREATE INDEX IF NOT EXISTS record_by_time ON record (workload, outcome, median_seconds);
)";

// Apart from the records, so that earlier versions of this program can still read and write the file.
constexpr const char* lines_table = "CREATE TABLE IF NOT EXISTS log_line (record INTEGER PRIMARY KEY REFERENCES record (id) ON DELETE CASCADE, line TEXT NOT NULL)";

// 64-bit hashes are kept as 16 hexadecimal digits, as SQLite's integers are signed.
auto hex(uint64_t value) -> std::string {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}
auto unhex(const char* text) -> uint64_t { return text ? std::strtoull(text, nullptr, 16) : 0; }

auto make_folders(const std::string& path) -> void {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), 0777);
  }
}

class Statement {
 public:
  Statement(sqlite3* db, const char* sql) { status_ = sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr); }
  Statement(const Statement&) = delete;
  auto operator=(const Statement&) -> Statement& = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  auto bind(int i, const std::string& text) -> Statement& {
    sqlite3_bind_text(statement_, i, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  auto bind(int i, int64_t value) -> Statement& { sqlite3_bind_int64(statement_, i, value); return *this; }
  auto bind(int i, double value) -> Statement& { sqlite3_bind_double(statement_, i, value); return *this; }
  /// True while the statement has another row.
  auto step() -> bool {
    if (status_ == SQLITE_OK || status_ == SQLITE_ROW) { status_ = sqlite3_step(statement_); }
    return status_ == SQLITE_ROW;
  }
  [[nodiscard]] auto failed() const -> bool { return status_ != SQLITE_OK && status_ != SQLITE_ROW && status_ != SQLITE_DONE; }
  [[nodiscard]] auto text(int i) const -> std::string {
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, i));
    return data ? std::string(data, static_cast<size_t>(sqlite3_column_bytes(statement_, i))) : std::string();
  }
  [[nodiscard]] auto integer(int i) const -> int64_t { return sqlite3_column_int64(statement_, i); }
  [[nodiscard]] auto real(int i) const -> double { return sqlite3_column_double(statement_, i); }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int status_ = SQLITE_OK;
};

constexpr const char* record_columns =
    "record.id, candidate, trace, outcome, median_seconds, spread_seconds, blocks, note, seed, trial, verified, unix_time";

// The condition for usable records: a damaged file may contain any number, or a text instead of a number, and imports may have any origin.
#define USABLE_RECORD \
  "typeof(record.outcome) = 'integer' AND record.outcome BETWEEN 0 AND 5 AND typeof(record.median_seconds) IN ('real', 'integer') " \
  "AND record.median_seconds BETWEEN 0 AND 1e7 AND (record.outcome <> 0 OR record.median_seconds > 0) "

auto read_record(const Statement& row) -> Record {
  auto small = [](int64_t number) { return static_cast<int>(std::clamp<int64_t>(number, 0, INT32_MAX)); };
  Record r;
  r.id = row.integer(0);
  r.candidate = unhex(row.text(1).c_str());
  r.trace = row.text(2);
  r.outcome = static_cast<Outcome>(row.integer(3));
  r.median_seconds = row.real(4);
  r.spread_seconds = is_time(row.real(5)) ? row.real(5) : 0;
  r.blocks = small(row.integer(6));
  r.note = row.text(7);
  r.seed = unhex(row.text(8).c_str());
  r.trial = small(row.integer(9));
  r.verified = row.text(10);
  r.unix_time = row.integer(11);
  return r;
}
/// Reads a record with its line, which follows the other columns.
auto read_with_line(const Statement& row) -> Record {
  Record r = read_record(row);
  r.line = row.text(12);
  return r;
}

}  // namespace

auto is_time(double seconds) -> bool { return seconds > 0 && seconds <= 1e7; }

auto outcome_name(Outcome outcome) -> const char* {
  switch (outcome) {
    case Outcome::Measured: return "measured";
    case Outcome::Censored: return "stopped early";
    case Outcome::Rejected: return "rejected";
    case Outcome::Crashed: return "crashed";
    case Outcome::TimedOut: return "timed out";
    case Outcome::Wrong: return "wrong result";
  }
  return "";
}

struct Database::Impl {
  sqlite3* db = nullptr;
  std::string path;
  ~Impl() { sqlite3_close(db); }

  auto failure() const -> Diagnostic {
    return error(Code::DatabaseFailed).arg("file", path).arg("reason", sqlite3_errmsg(db));
  }
  auto run(const char* sql) const -> Status {
    if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) { return failure(); }
    return ok();
  }
  auto select(const TaskKey& task, const std::string& rest) -> std::string {
    return std::string("SELECT ") + record_columns + ", log_line.line FROM record JOIN workload ON record.workload = workload.id "
           "LEFT JOIN log_line ON log_line.record = record.id "
           "WHERE " USABLE_RECORD "AND workload.hash = ?1 AND workload.target = ?2 AND workload.machine = ?3 " + rest;
  }
};

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::Database(Database&&) noexcept = default;
auto Database::operator=(Database&&) noexcept -> Database& = default;
Database::~Database() = default;

auto Database::default_path() -> std::string {
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  std::string base = data && *data ? data : (home && *home ? std::string(home) + "/.local/share" : std::string("/tmp"));
  return base + "/loopsmith/tuning.db";
}

auto Database::open(const std::string& path) -> Result<Database> {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  if (path != ":memory:") { make_folders(path); }
  if (sqlite3_open_v2(path.c_str(), &impl->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) != SQLITE_OK) {
    return impl->failure();
  }
  // Another process may lock the file for a moment; a commit takes microseconds.
  sqlite3_busy_timeout(impl->db, 5000);
  int64_t version = 0;
  {
    Statement row(impl->db, "PRAGMA user_version");
    if (row.step()) { version = row.integer(0); }
    if (row.failed()) {
      return error(Code::DatabaseUnreadable).arg("file", path).arg("reason", sqlite3_errmsg(impl->db));
    }
  }
  if (version > schema_version) {
    return error(Code::DatabaseUnreadable).arg("file", path).arg("reason", because(Why::NewerVersion).text());
  }
  LOOPSMITH_CHECK(impl->run("PRAGMA journal_mode = WAL"));
  LOOPSMITH_CHECK(impl->run("PRAGMA synchronous = NORMAL"));
  LOOPSMITH_CHECK(impl->run("PRAGMA foreign_keys = ON"));
  if (version < schema_version) {
    // IMMEDIATE: when two processes open a new file at the same time, one creates the tables and the other finds them.
    LOOPSMITH_CHECK(impl->run("BEGIN IMMEDIATE"));
    Status made = impl->run(schema);
    if (made.ok()) { made = impl->run(("PRAGMA user_version = " + std::to_string(schema_version)).c_str()); }
    if (!made.ok()) {
      (void)impl->run("ROLLBACK");
      return std::move(made).diagnostics();
    }
    LOOPSMITH_CHECK(impl->run("COMMIT"));
  }
  LOOPSMITH_CHECK(impl->run(lines_table));
  return Database(std::move(impl));
}

auto Database::add_workload(const TaskKey& task, const std::string& name, const std::string& text) -> Status {
  Statement insert(impl_->db, "INSERT OR IGNORE INTO workload (hash, target, machine, name, text) VALUES (?1, ?2, ?3, ?4, ?5)");
  insert.bind(1, hex(task.workload)).bind(2, task.target).bind(3, task.machine).bind(4, name).bind(5, text).step();
  if (insert.failed()) { return impl_->failure(); }
  return ok();
}

auto Database::add(const TaskKey& task, Record record) -> Result<int64_t> {
  bool is_usable = record.outcome == Outcome::Measured ? is_time(record.median_seconds) : record.median_seconds == 0 || is_time(record.median_seconds);
  if (!is_usable) { return error(Code::DatabaseFailed).arg("file", impl_->path).arg("reason", because(Why::TimeNotSeconds).arg("seconds", std::to_string(record.median_seconds)).text()); }
  if (!is_time(record.spread_seconds)) { record.spread_seconds = 0; }
  if (record.unix_time == 0) { record.unix_time = static_cast<int64_t>(std::time(nullptr)); }
  Statement insert(impl_->db,
                   "INSERT INTO record (workload, candidate, trace, outcome, median_seconds, spread_seconds, blocks, note, seed, "
                   "trial, verified, unix_time) SELECT id, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14 FROM workload "
                   "WHERE hash = ?1 AND target = ?2 AND machine = ?3");
  insert.bind(1, hex(task.workload)).bind(2, task.target).bind(3, task.machine);
  insert.bind(4, hex(record.candidate)).bind(5, record.trace).bind(6, static_cast<int64_t>(record.outcome));
  insert.bind(7, record.median_seconds).bind(8, record.spread_seconds).bind(9, static_cast<int64_t>(record.blocks));
  insert.bind(10, record.note).bind(11, hex(record.seed)).bind(12, static_cast<int64_t>(record.trial));
  insert.bind(13, record.verified).bind(14, record.unix_time).step();
  if (insert.failed()) { return impl_->failure(); }
  if (sqlite3_changes(impl_->db) != 1) {
    return error(Code::DatabaseFailed).arg("file", impl_->path).arg("reason", because(Why::WorkloadMissing).text());
  }
  const auto id = static_cast<int64_t>(sqlite3_last_insert_rowid(impl_->db));
  if (!record.line.empty()) { LOOPSMITH_CHECK(set_line(id, record.line)); }
  return id;
}

auto Database::set_line(int64_t record, const std::string& line) -> Status {
  Statement insert(impl_->db, "INSERT OR REPLACE INTO log_line (record, line) VALUES (?1, ?2)");
  insert.bind(1, record).bind(2, line).step();
  if (insert.failed()) { return impl_->failure(); }
  return ok();
}

auto Database::mark_verified(int64_t record, const std::string& how) -> Status {
  Statement update(impl_->db, "UPDATE record SET verified = ?2 WHERE id = ?1");
  update.bind(1, record).bind(2, how).step();
  if (update.failed()) { return impl_->failure(); }
  return ok();
}

auto Database::mark_wrong(int64_t record, const std::string& why) -> Status {
  Statement update(impl_->db, "UPDATE record SET outcome = ?2, note = ?3 WHERE id = ?1");
  update.bind(1, record).bind(2, static_cast<int64_t>(Outcome::Wrong)).bind(3, why).step();
  if (update.failed()) { return impl_->failure(); }
  return ok();
}

auto Database::sync() -> Status { return impl_->run("PRAGMA wal_checkpoint(FULL)"); }

auto Database::records(const TaskKey& task) -> Result<std::vector<Record>> {
  std::string sql = impl_->select(task, "ORDER BY record.id");
  Statement rows(impl_->db, sql.c_str());
  rows.bind(1, hex(task.workload)).bind(2, task.target).bind(3, task.machine);
  std::vector<Record> out;
  while (rows.step()) { out.push_back(read_with_line(rows)); }
  if (rows.failed()) { return impl_->failure(); }
  return out;
}

auto Database::find(const TaskKey& task, uint64_t candidate) -> Result<std::optional<Record>> {
  std::string sql = impl_->select(task, "AND candidate = ?4 ORDER BY record.id LIMIT 1");
  Statement row(impl_->db, sql.c_str());
  row.bind(1, hex(task.workload)).bind(2, task.target).bind(3, task.machine).bind(4, hex(candidate));
  std::optional<Record> out;
  if (row.step()) { out = read_with_line(row); }
  if (row.failed()) { return impl_->failure(); }
  return out;
}

auto Database::best(const TaskKey& task) -> Result<std::optional<Record>> {
  std::string sql = impl_->select(task, "AND outcome = 0 ORDER BY median_seconds, record.id LIMIT 1");
  Statement row(impl_->db, sql.c_str());
  row.bind(1, hex(task.workload)).bind(2, task.target).bind(3, task.machine);
  std::optional<Record> out;
  if (row.step()) { out = read_with_line(row); }
  if (row.failed()) { return impl_->failure(); }
  return out;
}

auto Database::workloads() -> Result<std::vector<Workload>> {
  Statement rows(impl_->db,
                 "SELECT hash, target, machine, name, text, (SELECT count(*) FROM record WHERE " USABLE_RECORD "AND record.workload = workload.id), "
                 "coalesce((SELECT min(median_seconds) FROM record WHERE " USABLE_RECORD "AND record.workload = workload.id AND outcome = 0), 0) "
                 "FROM workload ORDER BY name, workload.id");
  std::vector<Workload> out;
  while (rows.step()) {
    Workload w;
    w.task = {unhex(rows.text(0).c_str()), rows.text(1), rows.text(2)};
    w.name = rows.text(3);
    w.text = rows.text(4);
    w.records = rows.integer(5);
    w.best_seconds = rows.real(6);
    out.push_back(std::move(w));
  }
  if (rows.failed()) { return impl_->failure(); }
  return out;
}

auto Database::at_once(const std::function<Status()>& work) -> Status {
  LOOPSMITH_CHECK(impl_->run("BEGIN IMMEDIATE"));
  Status done = work();
  if (done.ok()) { done = impl_->run("COMMIT"); }
  if (!done.ok()) { (void)impl_->run("ROLLBACK"); }
  return done;
}

auto Database::forget(const Unwanted& unwanted) -> Result<Forgotten> {
  Forgotten out;
  LOOPSMITH_CHECK(at_once([&]() -> Status {
    // Ranks records within a workload: measured ones first, the fastest first.
    Statement records(impl_->db,
                      "DELETE FROM record WHERE id IN (SELECT id FROM (SELECT id, outcome, unix_time, row_number() OVER "
                      "(PARTITION BY workload ORDER BY NOT (" USABLE_RECORD ") OR outcome <> 0, median_seconds, id) AS place FROM record) "
                      "WHERE NOT (place = 1 AND outcome = 0) AND (place > ?1 OR unix_time < ?2))");
    records.bind(1, unwanted.beyond.value_or(INT64_MAX)).bind(2, unwanted.before.value_or(INT64_MIN)).step();
    if (records.failed()) { return impl_->failure(); }
    out.records = sqlite3_changes(impl_->db);
    Statement workloads(impl_->db, "DELETE FROM workload WHERE id NOT IN (SELECT workload FROM record)");
    workloads.step();
    if (workloads.failed()) { return impl_->failure(); }
    out.workloads = sqlite3_changes(impl_->db);
    return ok();
  }));
  LOOPSMITH_CHECK(impl_->run("VACUUM"));
  LOOPSMITH_CHECK(impl_->run("PRAGMA wal_checkpoint(TRUNCATE)"));
  return out;
}

namespace {

/// A number that changes with every write to a regular file. None: it is not a regular file.
auto stamp_of(const std::string& path) -> std::optional<std::array<int64_t, 4>> {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size == 0) { return std::nullopt; }
  return std::array<int64_t, 4>{static_cast<int64_t>(facts.st_ino), static_cast<int64_t>(facts.st_size), facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

/// `immutable`: SQLite takes no lock and creates no log or index next to the file.
auto immutable_uri(const std::string& path) -> std::string {
  std::string uri = "file:";
  for (char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      char escaped[4];
      std::snprintf(escaped, sizeof escaped, "%%%02x", static_cast<unsigned>(c));
      uri += escaped;
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

auto measured_on_disk(const std::string& path, uint64_t workload, const std::string& machine, int64_t most) -> std::vector<Record> {
  auto before = stamp_of(path);
  if (!before) { return {}; }
  sqlite3* db = nullptr;
  int opened = sqlite3_open_v2(immutable_uri(path).c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> owner(db, sqlite3_close);
  if (opened != SQLITE_OK) { return {}; }
  {
    Statement version(db, "PRAGMA user_version");
    if (!version.step() || version.integer(0) != schema_version) { return {}; }
  }
  std::vector<Record> out;
  {
    Statement row(db, (std::string("SELECT ") + record_columns + " FROM record JOIN workload ON record.workload = workload.id "
                       "WHERE " USABLE_RECORD "AND workload.hash = ?1 AND workload.machine = ?2 AND outcome = ?3 ORDER BY record.id DESC LIMIT ?4").c_str());
    row.bind(1, hex(workload)).bind(2, machine).bind(3, static_cast<int64_t>(Outcome::Measured)).bind(4, most);
    while (row.step()) { out.push_back(read_record(row)); }
  }
  if (stamp_of(path) != before) { return {}; }
  return out;
}

auto recorded_on_disk(const std::string& path, uint64_t workload, const std::string& machine) -> std::optional<Recorded> {
  auto before = stamp_of(path);
  if (!before) { return std::nullopt; }
  sqlite3* db = nullptr;
  int opened = sqlite3_open_v2(immutable_uri(path).c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> owner(db, sqlite3_close);
  if (opened != SQLITE_OK) { return std::nullopt; }
  {
    Statement version(db, "PRAGMA user_version");
    if (!version.step() || version.integer(0) != schema_version) { return std::nullopt; }
  }
  Recorded out;
  {
    Statement row(db, (std::string("SELECT ") + record_columns + ", workload.target FROM record JOIN workload ON record.workload = workload.id "
                       "WHERE " USABLE_RECORD "AND workload.hash = ?1 AND workload.machine = ?2 AND outcome = ?3 "
                       "ORDER BY verified = '', median_seconds, record.id LIMIT 1").c_str());
    row.bind(1, hex(workload)).bind(2, machine).bind(3, static_cast<int64_t>(Outcome::Measured));
    if (!row.step()) { return std::nullopt; }
    out.best = read_record(row);
    out.target = row.text(12);
  }
  {
    Statement row(db, "SELECT COUNT(*) FROM record JOIN workload ON record.workload = workload.id WHERE " USABLE_RECORD "AND workload.hash = ?1 AND workload.machine = ?2");
    row.bind(1, hex(workload)).bind(2, machine);
    if (row.step()) { out.records = row.integer(0); }
  }
  // Without a lock, the pages that were read may come from before and after a write.
  if (stamp_of(path) != before) { return std::nullopt; }
  return out;
}

}  // namespace loopsmith::tune
