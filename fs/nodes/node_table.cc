#include "fs/nodes/node_table.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace arborfs {

namespace {

/// Rendered content longer than this is read in the worker pool: a single part of it can be that long.
constexpr std::uint64_t kQuickContent = 4U << 20U;
/// A log written less than this ago may be written again without a change of its mtime.
constexpr auto kRacy = std::chrono::milliseconds(50);

Result<std::size_t> read_stretch(const Content::Stretch& stretch, std::span<char> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(stretch.fd, into.data() + done, into.size() - done, static_cast<off_t>(stretch.offset + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return error_from_errno(errno, "cannot read the session log");
    }
    if (got == 0) {
      return Error{Errc::stale, "the log changed during the read; open the file again"};
    }
    done += static_cast<std::size_t>(got);
  }
  return done;
}

bool is_racy(const FileStat& st) {
  const auto age = std::chrono::system_clock::now().time_since_epoch() - std::chrono::nanoseconds(st.mtime_ns);
  return age < kRacy;
}

/// Bytes that are in the log as they are come directly from it, all others through Content::read.
Result<std::size_t> read_content(const Content& content, RequestContext& call, std::uint64_t offset,
                                 std::span<char> into) {
  std::size_t done = 0;
  while (done < into.size() && offset + done < content.size()) {
    const std::span<char> rest = into.subspan(done);
    const auto stretch = content.stretch_at(offset + done, rest.size());
    if (stretch.fd >= 0) {
      ASSIGN_OR_RETURN(const auto got, read_stretch(stretch, rest.first(stretch.length)));
      done += got;
      continue;
    }
    if (!call.may_take_long() && content.size() > kQuickContent) {
      return call.defer();
    }
    ASSIGN_OR_RETURN(auto bytes, content.read(offset + done, std::max<std::uint64_t>(stretch.length, 1)));
    if (bytes.empty()) {
      break;
    }
    const std::size_t size = std::min(bytes.size(), rest.size());
    std::memcpy(rest.data(), bytes.data(), size);
    done += size;
  }
  return done;
}

}  // namespace

SnapshotFile::SnapshotFile(SnapshotPtr document) : document_(std::move(document)) {
  if (!is_racy(document_->log_stat)) {
    checked_ = document_->log_stat;
  }
}

SnapshotPtr SnapshotFile::current() const {
  const std::lock_guard lock(mutex_);
  return document_;
}

void SnapshotFile::take(SnapshotPtr longer) {
  const std::lock_guard lock(mutex_);
  if (longer->attr.size > document_->attr.size) {
    document_ = std::move(longer);
  }
}

/// Cheap while the log's stat is unchanged; otherwise checks with the session whether the document's bytes are still
/// there. If the log was replaced, the old bytes are still in the open file. No document reads the title slot from the
/// log.
Result<void> SnapshotFile::check_log(const Snapshot& document, RequestContext& call) {
  ASSIGN_OR_RETURN(const auto st, document.log->stat());
  {
    const std::lock_guard lock(mutex_);
    if (st == checked_) {
      return {};
    }
  }
  if (!call.may_take_long() && !document.session->is_quick(Depth::raw)) {
    return call.defer();
  }
  if (auto done = document.session->refresh(Depth::raw); !done) {
    return {};  // the name is gone or unreadable: no writer reaches the open file
  }
  const auto raw = document.session->raw();
  const bool same_file = raw && raw->log->opened().same_file(document.log->opened());
  const bool holds =
      raw && (raw->bytes == document.bytes || (document.entries != 0 && raw->entries == document.entries));
  if (same_file && !holds) {
    return {Errc::stale, "the log was changed in place; open the file again"};
  }
  if (!is_racy(st)) {
    const std::lock_guard lock(mutex_);
    checked_ = st;
  }
  return {};
}

Result<std::size_t> SnapshotFile::read_of(const Snapshot& document, RequestContext& call, std::uint64_t offset,
                                          std::span<char> into) {
  auto got = read_content(*document.content, call, offset, into);
  if (got && document.log && !document.is_apart) {
    RETURN_IF_ERROR(check_log(document, call));
  }
  return got;
}

Result<std::size_t> SnapshotFile::read(MountState& /*state*/, RequestContext& call, std::uint64_t offset,
                                       std::span<char> into) {
  return read_of(*current(), call, offset, into);
}

Result<std::size_t> GrowingFile::read(MountState& state, RequestContext& call, std::uint64_t offset,
                                      std::span<char> into) {
  if (const auto document = current(); offset + into.size() > document->attr.size) {
    if (auto longer = document_of_node(state, call, document->attr.node)) {
      take(std::move(longer).value());
    } else if (call.is_deferred()) {
      return longer.error();
    }
  }
  return read_of(*current(), call, offset, into);
}

Result<std::size_t> DiskFile::read(MountState& /*state*/, RequestContext& /*call*/, std::uint64_t offset,
                                   std::span<char> into) {
  return file_->read_at(offset, into);
}

namespace {

std::uint64_t hash_of(const std::vector<NamesSnapshot::Item>& items, std::uint64_t seed) {
  for (const auto& item : items) {
    seed = xxh64(item.name, seed ^ item.child.node.value());
  }
  return seed;
}

}  // namespace

NamesSnapshot::NamesSnapshot(std::vector<Item> items, std::uint64_t state_version)
    : items_(std::move(items)), version_(hash_of(items_, state_version)) {}

namespace {

/// Emits an item with its attributes, unless it has vanished. Returns false to stop. Errors: interrupted (deferred).
Result<bool> emit_named(MountState& state, RequestContext& call, const NamesSnapshot::Item& item, std::uint64_t next,
                        const DirectorySnapshot::Emit& emit) {
  if (item.brief) {
    return emit({item.name, *item.brief, item.child.name_life, false, next});
  }
  state.kernel.note(item.child.node);
  const auto attr = attr_of(state, call, item.child.node);
  if (call.is_deferred()) {
    return attr.error();
  }
  return !attr || emit({item.name, *attr, item.child.name_life, true, next});
}

}  // namespace

Result<void> NamesSnapshot::walk(MountState& state, RequestContext& call, std::uint64_t from, const Emit& emit) const {
  for (std::uint64_t at = from; at < items_.size(); ++at) {
    ASSIGN_OR_RETURN(const auto goes_on, emit_named(state, call, items_[at], at + 1, emit));
    if (!goes_on) {
      return {};
    }
  }
  return {};
}

namespace {

/// Changes when an entry does.
std::uint64_t version_of(const Session::Guard& guard) {
  return std::uint64_t{guard.generation_of(Session::Guard::kLastEntry)} << 32U;
}

}  // namespace

EntriesSnapshot::EntriesSnapshot(SessionRef ref, const Session::Guard& guard, const Row& row, Ordinal count)
    : ref_(std::move(ref)), row_(row), count_(count), version_(version_of(guard) + count) {}

EntriesSnapshot::EntriesSnapshot(SessionRef ref, const Session::Guard& guard, const Row& row,
                                 std::vector<Ordinal> ordinals, std::optional<NamesSnapshot::Item> first)
    : ref_(std::move(ref)),
      row_(row),
      first_(std::move(first)),
      ordinals_(std::move(ordinals)),
      count_(ordinals_.size()),
      version_(xxh64({reinterpret_cast<const char*>(ordinals_.data()), ordinals_.size() * sizeof(Ordinal)},
                     version_of(guard) ^ (first_ ? first_->child.node.value() : 0))) {}

Result<void> EntriesSnapshot::walk(MountState& state, RequestContext& call, std::uint64_t from,
                                   const Emit& emit) const {
  const std::uint64_t before = first_ ? 1 : 0;
  if (from < before) {
    ASSIGN_OR_RETURN(const auto goes_on, emit_named(state, call, *first_, 1, emit));
    if (!goes_on) {
      return {};
    }
  }
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref_));
  std::uint32_t generation = 0;  // the one of `slot`
  std::uint32_t slot = 0;
  for (std::uint64_t at = std::max(from, before) - before; at < count_; ++at) {
    const Ordinal ordinal = ordinals_.empty() ? static_cast<Ordinal>(at + 1) : ordinals_[at];
    if (ordinal > guard.index().size()) {
      return {};
    }
    if (generation != guard.generation_of(ordinal)) {
      generation = guard.generation_of(ordinal);
      ASSIGN_OR_RETURN(slot, slot_of_entry(state, ref_, guard, ordinal));
    }
    const Attr attr = row_.attr(guard, ref_.seed, NodeId(row_.kind, slot, ordinal));
    if (!emit({row_.name(guard.index(), ordinal), attr, entry_name_life(guard, ordinal), true, at + before + 1})) {
      return {};
    }
  }
  return {};
}

// clang-format off
namespace blob_nodes { NodeRows rows(); }
namespace branch_nodes { NodeRows rows(); }      // branches/ and below
namespace control_nodes { NodeRows rows(); }     // `new`, those of a session, `append` of a branch (control_file.h)
namespace document_nodes { NodeRows rows(); }    // the readable files of a session: all documents that core makes
namespace entry_nodes { NodeRows rows(); }       // entries/, text/, images/
namespace history_nodes { NodeRows rows(); }     // history/: a file for each day on which prompts were typed
namespace label_nodes { NodeRows rows(); }       // labels/ and damage/
namespace project_nodes { NodeRows rows(); }     // projects/, down to the sessions, and children/ of a session
namespace root_nodes { NodeRows rows(); }        // the root, README.md, status.json, events
namespace search_nodes { NodeRows rows(); }      // search/: a folder for each query, which searches when it is listed
namespace session_nodes { NodeRows rows(); }     // a session's folder, and its link `leaf`
namespace shortcut_nodes { NodeRows rows(); }    // recent/, tags/, by-id/, by-agent/, terminals/; symlinks to sessions
namespace shown_file_nodes { NodeRows rows(); }  // artifacts/, checkpoints/ and native/: files that agents made
namespace stats_nodes { NodeRows rows(); }       // stats/: a file for each kind of sum; looking it up reads all logs
// clang-format on

namespace {

using Table = std::array<NodeRow, kFirstView + 1>;

Table all_rows() {
  Table table{};
  for (const NodeRows rows :
       {root_nodes::rows(), project_nodes::rows(), shortcut_nodes::rows(), search_nodes::rows(), stats_nodes::rows(),
        history_nodes::rows(), session_nodes::rows(), document_nodes::rows(), entry_nodes::rows(), branch_nodes::rows(),
        label_nodes::rows(), control_nodes::rows(), shown_file_nodes::rows(), blob_nodes::rows()}) {
    for (const NodeRow& row : rows) {
      table.at(static_cast<std::size_t>(row.kind)) = row;
    }
  }
  return table;
}

}  // namespace

const NodeRow& row_of(Kind kind) {
  static const Table kTable = all_rows();
  return kTable[std::min(static_cast<std::size_t>(kind), kFirstView)];
}

Result<Attr> attr_of(MountState& state, RequestContext& call, NodeId node) {
  return row_of(node.kind()).attr(state, call, node);
}

}  // namespace arborfs
