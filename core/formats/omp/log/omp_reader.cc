#include "core/formats/omp/log/omp_reader.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/formats/omp/log/header.h"
#include "core/formats/omp/log/omp_index.h"
#include "core/formats/omp/log/record_scanner.h"
#include "core/formats/omp/log/session_name.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kHeadLimit = 1024 * 1024;  // how far read_header reads
constexpr std::size_t kHeadStep = 4096;

class OmpReader final : public LogReader {
 public:
  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override { return arborfs::read_header(log); }
  [[nodiscard]] Result<std::unique_ptr<LogIndex>> index(const LogSource& log,
                                                        const IndexOptions& options) const override {
    return OmpIndex::build(log, {std::nullopt, options.cancelled, options.observer});
  }
  [[nodiscard]] bool serves_observers() const override { return true; }
  [[nodiscard]] bool only_grow() const override { return true; }
  /// No earlier name, and no entries that only pi or omp writes, can be seen in the head.
  void keep_findings(const Header& before, Header& header) const override {
    if (before.is_named && !header.is_named && header.title.empty()) {
      set_name(header, before.title);
    }
    if (before.has_slot == header.has_slot && before.length == header.length) {
      header.of_other_agent = before.of_other_agent;
    }
  }
  [[nodiscard]] std::string_view dialect_name(DialectNumber dialect) const override {
    switch (Dialect{dialect}) {
      case Dialect::omp13:
        return "13";
      case Dialect::omp18:
        return "18";
      default:
        return "pi";
    }
  }
};

}  // namespace

const LogReader& omp_reader() {
  static const OmpReader reader;
  return reader;
}

Result<Header> read_header(const LogSource& log, std::optional<Dialect> dialect) {
  // Decoded text has its own size; for a file, the size from its stat when it was opened is used.
  ASSIGN_OR_RETURN(const auto size, log.is_decoded() ? log.size() : Result<std::uint64_t>(log.opened().size));
  LogWindow window(log, std::min(size, kHeadLimit), nullptr, kHeadStep);
  ASSIGN_OR_RETURN(auto head, read_head(window, dialect));
  RecordScanner scanner(window, {head.slot_end, ScanPoint::Phase::line_start}, has_lenient_boms(log, size));
  ASSIGN_OR_RETURN(const auto record, scanner.next());
  if (record == nullptr) {
    Header missing = missing_header(head.slot.has_value());
    if (size > kHeadLimit) {
      missing.problem = "the first MiB of the log has no record";
    }
    return missing;
  }
  ASSIGN_OR_RETURN(auto session, read_session_header(window, record->offset, record->length, head.slot));
  Header& header = session.header;
  if (!dialect && !head.slot && header.valid && header.title.empty() && is_uuid(header.id)) {
    header.of_other_agent = true;
    ASSIGN_OR_RETURN(const auto name, find_session_name(log));
    if (name) {
      set_name(header, *name);
    }
  }
  return std::move(header);
}

}  // namespace arborfs
