#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "fs/fuse/fuse_dispatch.h"
#include "fs/fuse/fuse_request.h"
#include "fs/fuse/fuse_server.h"
#include "fs/nodes/node_id.h"
#include "fs/nodes/node_table.h"

namespace arborfs {

namespace {

/// The answer to one readdir or readdirplus, filled item by item.
class DirBuffer {
 public:
  DirBuffer(std::size_t size, bool with_attributes) : bytes_(size), with_attributes_(with_attributes) {}
  /// False if the item does not fit.
  bool add(const DirectoryItem& item);
  [[nodiscard]] std::string_view bytes() const { return {bytes_.data(), used_}; }

 private:
  std::vector<char> bytes_;
  std::size_t used_ = 0;
  bool with_attributes_;
  std::string name_;
};

constexpr double kMoment = 0.7;
constexpr double kForeverSeconds = 1e9;
constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::uint64_t kStatBlock = 512;

mode_t mode_of(const Attr& attr) {
  switch (attr.type) {
    case FileType::directory:
      return S_IFDIR | 0700;
    case FileType::symlink:
      return S_IFLNK | 0777;
    case FileType::file:
      break;
  }
  return S_IFREG | (attr.writable ? 0600 : 0400);
}

timespec time_of(std::int64_t ns) {
  std::int64_t seconds = ns / kNanosPerSecond;
  std::int64_t rest = ns % kNanosPerSecond;
  if (rest < 0) {
    rest += kNanosPerSecond;
    --seconds;
  }
  return {static_cast<time_t>(seconds), static_cast<long>(rest)};
}

/// Seconds for which the kernel may cache an answer.
double seconds_of(CacheTtl life) {
  switch (life) {
    case CacheTtl::glance:
      return 0;
    case CacheTtl::moment:
      return kMoment;
    case CacheTtl::forever:
      break;
  }
  return kForeverSeconds;
}

struct stat stat_of(const Attr& attr) {
  // The ids of this process never change, and a listing may have very many files.
  static const uid_t owner = ::getuid();
  static const gid_t group = ::getgid();
  struct stat st {};
  st.st_ino = attr.ino;
  st.st_mode = mode_of(attr);
  st.st_nlink = attr.type == FileType::directory ? 2 : 1;
  st.st_uid = owner;
  st.st_gid = group;
  st.st_size = static_cast<off_t>(attr.size);
  st.st_blocks = static_cast<blkcnt_t>((attr.size + kStatBlock - 1) / kStatBlock);
  st.st_mtim = time_of(attr.mtime_ns);
  st.st_atim = st.st_mtim;
  st.st_ctim = st.st_mtim;
  return st;
}

fuse_entry_param entry_of(const Found& found) {
  fuse_entry_param entry{};
  entry.ino = found.attr.node.value();
  entry.attr = stat_of(found.attr);
  entry.attr_timeout = seconds_of(found.attr.life);
  entry.entry_timeout = seconds_of(found.name_life);
  return entry;
}

/// An answer that the name will never exist.
fuse_entry_param no_entry() {
  fuse_entry_param entry{};
  entry.entry_timeout = kForeverSeconds;
  return entry;
}

bool DirBuffer::add(const DirectoryItem& item) {
  name_.assign(item.name);
  char* const at = bytes_.data() + used_;
  const std::size_t room = bytes_.size() - used_;
  const auto next = static_cast<off_t>(item.next);
  std::size_t needed = 0;
  if (with_attributes_) {
    fuse_entry_param entry = entry_of({item.attr, item.name_life});
    if (!item.is_complete) {
      entry.ino = 0;  // only a name and its type; the kernel asks for the rest when it needs it
    }
    needed = fuse_add_direntry_plus(nullptr, at, room, name_.c_str(), &entry, next);
  } else {
    const struct stat st = stat_of(item.attr);
    needed = fuse_add_direntry(nullptr, at, room, name_.c_str(), &st, next);
  }
  if (needed > room) {
    return false;
  }
  used_ += needed;
  return true;
}

constexpr std::size_t kLongestNewName = 255;
constexpr std::size_t kPage = 4096;

/// For operations that the mount never supports.
template <class... Arguments>
void not_permitted(fuse_req_t req, Arguments... /*arguments*/) {
  fuse_reply_err(req, EPERM);
}

/// Answers a request that is refused without consulting the store, and returns false; otherwise returns true.
bool may_change(fuse_req_t req, fuse_ino_t folder, const char* name) {
  if (FuseDispatch::changes_of(req) == nullptr) {
    fuse_reply_err(req, EPERM);
  } else if (!FuseDispatch::is_from_owner(req)) {
    fuse_reply_err(req, EACCES);
  } else if (!NodeId(folder).is_known()) {
    fuse_reply_err(req, ESTALE);
  } else if (std::strlen(name) > kLongestNewName) {
    fuse_reply_err(req, ENAMETOOLONG);
  } else {
    return true;
  }
  return false;
}

RenameMode mode_of(unsigned flags) {
  if ((flags & ~static_cast<unsigned>(RENAME_NOREPLACE)) != 0) {
    return RenameMode::exchange;
  }
  return flags == 0 ? RenameMode::replace : RenameMode::no_replace;
}

void reply_attr(fuse_req_t req, const Attr& attr) {
  const struct stat st = stat_of(attr);
  fuse_reply_attr(req, &st, seconds_of(attr.life));
}

void reply_found(fuse_req_t req, const Found& found) {
  const fuse_entry_param entry = entry_of(found);
  fuse_reply_entry(req, &entry);
}

struct FuseWriteOperations : FuseDispatch {
  /// Times, modes and sizes may be set on control files and `title` only. This has no effect, except that truncating a
  /// handle drops its waiting input.
  static void setattr(fuse_req_t req, fuse_ino_t ino, struct stat* wanted, int to_set, fuse_file_info* fi) {
    if (changes_of(req) == nullptr || !WriteOps::takes_writes(NodeId(ino))) {
      fuse_reply_err(req, EPERM);
      return;
    }
    if (!is_from_owner(req)) {
      fuse_reply_err(req, EACCES);
      return;
    }
    const bool empties = (to_set & FUSE_SET_ATTR_SIZE) != 0 && wanted->st_size == 0;
    if (empties && fi != nullptr && file_handle(fi).control) {
      file_handle(fi).control->truncate();
    }
    serve<Attr>(
        req, ino, [ino](Vfs& vfs, RequestContext& call) { return vfs.getattr(call, NodeId(ino)); }, reply_attr);
  }

  /// cp -p sets an ACL and accepts that ACLs are not supported.
  static void setxattr(fuse_req_t req, fuse_ino_t ino, const char* /*name*/, const char* /*value*/,
                       std::size_t /*size*/, int /*flags*/) {
    const bool is_control = changes_of(req) != nullptr && WriteOps::takes_writes(NodeId(ino));
    fuse_reply_err(req, is_control ? ENOTSUP : EPERM);
  }

  static void write(fuse_req_t req, fuse_ino_t /*ino*/, const char* bytes, std::size_t size, off_t /*offset*/,
                    fuse_file_info* fi) {
    auto control = file_handle(fi).control;
    if (!control) {
      fuse_reply_err(req, EPERM);
      return;
    }
    // The kernel splits a longer write at a page boundary, so a piece may be up to a page shorter than the longest.
    const bool goes_on = size + kPage > longest_write_of(req);
    serve_write<std::size_t>(
        req,
        [control = std::move(control), text = std::string(bytes, size), goes_on,
         client = client_of(req)](RequestContext& /*call*/) -> Result<std::size_t> {
          RETURN_IF_ERROR(control->write(text, goes_on, client));
          return text.size();
        },
        [](fuse_req_t request, std::size_t written) { fuse_reply_write(request, written); });
  }

  /// Comes for each descriptor that is closed; usually there is nothing to do.
  static void flush(fuse_req_t req, fuse_ino_t /*ino*/, fuse_file_info* fi) {
    auto control = file_handle(fi).control;
    if (control) {
      control->release_inode();
    }
    if (!control || !control->is_waiting()) {
      fuse_reply_err(req, 0);
      return;
    }
    const auto closing = control->judge_close(client_of(req));
    if (closing.was_killed) {
      // Nothing is written, so this is done here: in the pool, the request would be ended because its client is killed,
      // and the following release might run first and take the text for a complete one.
      static_cast<void>(control->close_one(closing));
      fuse_reply_err(req, 0);
      return;
    }
    serve_change(req, [control, closing](RequestContext&) { return control->close_one(closing); });
  }

  static void fsync(fuse_req_t req, fuse_ino_t /*ino*/, int /*datasync*/, fuse_file_info* fi) {
    auto control = file_handle(fi).control;
    if (!control || !control->is_waiting()) {
      fuse_reply_err(req, 0);
      return;
    }
    serve_change(req, [control = std::move(control)](RequestContext&) { return control->sync(); });
  }

  static void symlink(fuse_req_t req, const char* target, fuse_ino_t folder, const char* name) {
    if (!may_change(req, folder, name)) {
      return;
    }
    const NameIn at{NodeId(folder), name};
    serve_write<Found>(
        req,
        [changes = changes_of(req), at, target = std::string(target)](RequestContext& call) {
          return changes->symlink(call, at, target);
        },
        reply_found, hold(req, {at}));
  }

  template <Result<void> (WriteOps::*kRemove)(RequestContext&, const NameIn&, pid_t)>
  static void remove(fuse_req_t req, fuse_ino_t folder, const char* name) {
    if (!may_change(req, folder, name)) {
      return;
    }
    const NameIn at{NodeId(folder), name};
    serve_change(
        req,
        [changes = changes_of(req), at, client = client_of(req)](RequestContext& call) {
          return (changes->*kRemove)(call, at, client);
        },
        hold(req, {at}));
  }

  static void rename(fuse_req_t req, fuse_ino_t folder, const char* name, fuse_ino_t to_folder, const char* to_name,
                     unsigned flags) {
    if (!may_change(req, folder, name) || !may_change(req, to_folder, to_name)) {
      return;
    }
    const NameIn from{NodeId(folder), name};
    const NameIn to{NodeId(to_folder), to_name};
    serve_change(
        req,
        [changes = changes_of(req), from, to, mode = mode_of(flags)](RequestContext& call) {
          return changes->rename(call, from, to, mode);
        },
        hold(req, {from, to}));
  }

 private:
  static std::shared_ptr<void> hold(fuse_req_t req, const std::vector<NameIn>& names) {
    WriteOps& changes = *changes_of(req);
    return changes.invalidations().hold(changes.held_folders(names));
  }
};

/// Whether an open is for a control file.
bool is_control_open(fuse_req_t req, fuse_ino_t ino, bool is_for_writing) {
  const NodeId node(ino);
  return FuseDispatch::changes_of(req) != nullptr && node.is_known() &&
         (WriteOps::is_control(node) || (is_for_writing && WriteOps::takes_writes(node)));
}

/// The right to write is checked for the process that opens, as with any file; it may then pass the handle on.
void open_control(fuse_req_t req, fuse_ino_t ino, fuse_file_info info) {
  if (!FuseDispatch::is_from_owner(req)) {
    fuse_reply_err(req, EACCES);
    return;
  }
  FuseDispatch::serve<ControlFilePtr>(
      req, ino,
      [changes = FuseDispatch::changes_of(req), ino, client = FuseDispatch::client_of(req),
       adds = (info.flags & O_APPEND) != 0](Vfs&, RequestContext& call) {
        return changes->open_control(call, NodeId(ino), client, adds);
      },
      [info](fuse_req_t request, ControlFilePtr control) mutable {
        info.direct_io = 1;
        info.noflush = (info.flags & O_ACCMODE) == O_RDONLY ? 1 : 0;
        auto handle = std::make_shared<FileHandle>();
        handle->control = std::move(control);
        FuseDispatch::give(request, info, std::move(handle));
      });
}

void read_control(fuse_req_t req, ControlFilePtr control, std::size_t size) {
  FuseDispatch::serve_write<std::string>(
      req, [control = std::move(control), size](RequestContext& call) { return control->read(call, size); },
      [](fuse_req_t request, const std::string& bytes) { fuse_reply_buf(request, bytes.data(), bytes.size()); });
}

/// For a read-only mount, in case the kernel asks anyway.
void add_refusals(fuse_lowlevel_ops& ops) {
  ops.setattr = not_permitted;
  ops.write = not_permitted;
  ops.symlink = not_permitted;
  ops.unlink = not_permitted;
  ops.rmdir = not_permitted;
  ops.rename = not_permitted;
  ops.mknod = not_permitted;
  ops.mkdir = not_permitted;
  ops.link = not_permitted;
  ops.create = not_permitted;
  ops.setxattr = not_permitted;
  ops.removexattr = not_permitted;
}

/// Also adds flush and fsync.
void add_write_operations(fuse_lowlevel_ops& ops) {
  add_refusals(ops);
  ops.setattr = callback<FuseWriteOperations::setattr>;
  ops.write = callback<FuseWriteOperations::write>;
  ops.flush = callback<FuseWriteOperations::flush>;
  ops.fsync = callback<FuseWriteOperations::fsync>;
  ops.symlink = callback<FuseWriteOperations::symlink>;
  ops.unlink = callback<&FuseWriteOperations::remove<&WriteOps::unlink>>;
  ops.rmdir = callback<&FuseWriteOperations::remove<&WriteOps::rmdir>>;
  ops.rename = callback<FuseWriteOperations::rename>;
  ops.setxattr = callback<FuseWriteOperations::setxattr>;
}

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kLongestName = 255;

OpenDirPtr& dir_handle(const fuse_file_info* fi) {
  return *reinterpret_cast<OpenDirPtr*>(fi->fh);
}

/// Holds the bytes of a read between work and answer, which run one after the other on one thread.
std::vector<char>& read_buffer() {
  thread_local std::vector<char> bytes;
  return bytes;
}

}  // namespace

struct FuseOperations : FuseDispatch {
  static void init(void* userdata, fuse_conn_info* conn) {
    auto& server = *static_cast<FuseServer*>(userdata);
    conn->want |= conn->capable & (FUSE_CAP_READDIRPLUS | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_AUTO_INVAL_DATA |
                                   FUSE_CAP_EXPIRE_ONLY | FUSE_CAP_CACHE_SYMLINKS);
    conn->want &= ~static_cast<unsigned>(FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_WRITEBACK_CACHE);
    conn->max_read = server.settings_.max_read;
    server.longest_write_ = conn->max_write;  // set by libfuse to the size of its buffers
    try {
      if (server.settings_.notify) {
        server.start_read_ahead();
      }
      server.on_init_();
    } catch (const std::exception&) {
      log_exception("cannot start");
      fuse_session_exit(server.session_);
    }
  }

  static void lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
    if (std::strlen(name) > kLongestName) {
      fuse_reply_err(req, ENAMETOOLONG);
      return;
    }
    if (NodeId(parent).is_known() && Vfs::is_never_a_name(NodeId(parent), name)) {
      const fuse_entry_param nothing = no_entry();
      fuse_reply_entry(req, &nothing);
      return;
    }
    serve<Found>(
        req, parent,
        [parent, name = std::string(name)](Vfs& vfs, RequestContext& call) {
          return vfs.lookup(call, NodeId(parent), name);
        },
        reply_found);
  }

  static void forget(fuse_req_t req, fuse_ino_t /*ino*/, std::uint64_t /*count*/) { fuse_reply_none(req); }
  static void forget_multi(fuse_req_t req, std::size_t /*count*/, fuse_forget_data* /*forgets*/) {
    fuse_reply_none(req);
  }

  static void getattr(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi) {
    if (NodeId(ino).kind() == Kind::events) {
      getattr_events(req, ino, fi);
      return;
    }
    serve<Attr>(
        req, ino, [ino](Vfs& vfs, RequestContext& call) { return vfs.getattr(call, NodeId(ino)); }, reply_attr);
  }

  /// The kernel passes a handle only when a program seeks to the end.
  static void getattr_events(fuse_req_t req, fuse_ino_t ino, const fuse_file_info* fi) {
    if (fi != nullptr && file_handle(fi).events) {
      server_of(req).events_.read_as_file(*file_handle(fi).events);
    }
    serve<Attr>(
        req, ino, [ino](Vfs& vfs, RequestContext& call) { return vfs.getattr(call, NodeId(ino)); },
        [](fuse_req_t request, Attr attr) {
          attr.size = server_of(request).events_.size();
          reply_attr(request, attr);
        });
  }

  static void readlink(fuse_req_t req, fuse_ino_t ino) {
    serve<std::string>(
        req, ino, [ino](Vfs& vfs, RequestContext& call) { return vfs.readlink(call, NodeId(ino)); },
        [](fuse_req_t request, const std::string& target) { fuse_reply_readlink(request, target.c_str()); });
  }

  static void open(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi) {
    const bool is_for_writing = (fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC) != 0;
    if (is_control_open(req, ino, is_for_writing)) {
      open_control(req, ino, *fi);
      return;
    }
    if (is_for_writing) {
      fuse_reply_err(req, EACCES);
      return;
    }
    if (NodeId(ino).kind() == Kind::events) {
      open_events(req, *fi);
      return;
    }
    if (NodeId(ino).kind() == Kind::wait) {
      open_wait(req, NodeId(ino), *fi);
      return;
    }
    serve<OpenFilePtr>(
        req, ino, [ino](Vfs& vfs, RequestContext& call) { return vfs.open(call, NodeId(ino)); },
        [info = *fi](fuse_req_t request, OpenFilePtr file) mutable {
          info.keep_cache = file->keeps_cache() ? 1 : 0;
          info.noflush = 1;
          reply_open(request, info, std::move(file), nullptr);
        });
  }

  static void open_events(fuse_req_t req, fuse_file_info info) {
    info.direct_io = 1;
    info.noflush = 1;
    reply_open(req, info, nullptr, server_of(req).events_.open());
  }

  static void open_wait(fuse_req_t req, NodeId node, fuse_file_info info) {
    FuseServer& server = server_of(req);
    const auto submit = [&server, node](WorkerPool::Job job) {
      if (const auto folder = server.vfs_.submount_of(node)) {
        server.submount_pools_.submit(*folder, std::move(job));
      } else {
        server.worker_pool_.submit(std::move(job));
      }
    };
    info.direct_io = 1;
    info.noflush = 1;
    auto handle = std::make_shared<FileHandle>();
    handle->turn =
        std::make_shared<TurnReader>(TurnReader::Calls{[&server, node] { return server.vfs_.turn(node); }, submit});
    give(req, info, std::move(handle));
  }

  static void reply_open(fuse_req_t req, fuse_file_info& info, OpenFilePtr file, std::shared_ptr<EventReader> events) {
    auto handle = std::make_shared<FileHandle>();
    handle->file = std::move(file);
    handle->events = std::move(events);
    give(req, info, std::move(handle));
  }

  static void release(fuse_req_t req, fuse_ino_t /*ino*/, fuse_file_info* fi) {
    if (const auto& poll = file_handle(fi).poll) {
      poll->drop();
    }
    if (const auto& control = file_handle(fi).control; control && control->is_waiting()) {
      write_pool_of(req).submit([control](std::stop_source&) { control->release(); });
    }
    take_back(req, *fi);
    fuse_reply_err(req, 0);
  }

  static void no_open(fuse_req_t req, fuse_ino_t /*ino*/, fuse_file_info* /*fi*/) { fuse_reply_err(req, ENOSYS); }

  static void read_without_open(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t offset,
                                fuse_file_info* /*fi*/) {
    note_read(req, ino, offset);
    serve<std::size_t>(
        req, ino,
        [ino, size, offset](Vfs& vfs, RequestContext& call) {
          return vfs.read_without_open(call, NodeId(ino), static_cast<std::uint64_t>(offset), room_for(size));
        },
        reply_read);
  }

  /// Called before the answer, so that the reads of one reader are noted in order.
  static void note_read(fuse_req_t req, fuse_ino_t ino, off_t offset) {
    auto& ahead = server_of(req).read_ahead_;
    if (offset == 0 && ahead && !server_of(req).vfs_.submount_of(NodeId(ino))) {
      ahead->note(NodeId(ino));
    }
  }

  static std::span<char> room_for(std::size_t size) {
    read_buffer().resize(std::max(read_buffer().size(), size));
    return std::span(read_buffer()).first(size);
  }
  static void reply_read(fuse_req_t req, std::size_t got) { fuse_reply_buf(req, read_buffer().data(), got); }

  static void read(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t offset, fuse_file_info* fi) {
    FileHandle& handle = file_handle(fi);
    if (handle.events) {
      read_events(req, handle, size, offset, fi->flags);
      return;
    }
    if (handle.turn) {
      read_turn(req, handle.turn, size, offset, fi->flags);
      return;
    }
    if (handle.control) {
      read_control(req, handle.control, size);
      return;
    }
    note_read(req, ino, offset);
    serve<std::size_t>(
        req, ino,
        [file = handle.file, size, offset](Vfs& vfs, RequestContext& call) {
          return vfs.read(call, *file, static_cast<std::uint64_t>(offset), room_for(size));
        },
        reply_read);
  }

  static void read_events(fuse_req_t req, FileHandle& handle, std::size_t size, off_t offset, int flags) {
    FuseServer& server = server_of(req);
    const auto from = static_cast<std::uint64_t>(offset);
    const std::string bytes = server.events_.read(*handle.events, from, size);
    if (!bytes.empty() || !server.events_.is_stream(*handle.events)) {
      fuse_reply_buf(req, bytes.data(), bytes.size());
    } else if ((flags & O_NONBLOCK) != 0) {
      fuse_reply_err(req, EAGAIN);
    } else {
      park_events_read(req, server.events_, handle.events, from, size, server.interrupts_);
    }
  }

  static void read_turn(fuse_req_t req, const std::shared_ptr<TurnReader>& turn, std::size_t size, off_t offset,
                        int flags) {
    FuseServer& server = server_of(req);
    const auto from = static_cast<std::uint64_t>(offset);
    const auto known = turn->text();
    if (known && !*known) {
      fuse_reply_err(req, errno_of(known->error().code));
    } else if (known) {
      const std::string& text = **known;
      const std::string_view rest = std::string_view(text).substr(std::min<std::uint64_t>(from, text.size()), size);
      fuse_reply_buf(req, rest.data(), rest.size());
    } else if ((flags & O_NONBLOCK) != 0) {
      TurnReader::start_look(turn);  // so that a later read has the answer
      fuse_reply_err(req, EAGAIN);
    } else {
      park_turn_read(req, server.events_, turn, from, size, server.interrupts_);
    }
  }

  static void poll(fuse_req_t req, fuse_ino_t /*ino*/, fuse_file_info* fi, fuse_pollhandle* ph) {
    FileHandle& handle = file_handle(fi);
    EventsFile& events = server_of(req).events_;
    const bool has_some =
        handle.turn ? handle.turn->text().has_value() : !handle.events || events.has_some(*handle.events);
    auto fresh = ph == nullptr ? nullptr : std::make_shared<PollHandle>(ph);
    if (!fresh || has_some) {
      fuse_reply_poll(req, has_some ? POLLIN | POLLRDNORM : 0);
      return;
    }
    {
      const std::lock_guard lock(handle.mutex);
      if (handle.poll) {
        handle.poll->drop();
      }
      handle.poll = fresh;
    }
    if (handle.turn) {
      events.park(std::make_shared<TurnPoll>(handle.turn, std::move(fresh)));
    } else {
      events.park(std::make_shared<EventsPoll>(events, handle.events, std::move(fresh)));
    }
    fuse_reply_poll(req, 0);
  }

  static void opendir(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi) {
    serve<OpenDirPtr>(
        req, ino, [ino](Vfs& vfs, RequestContext& call) { return vfs.opendir(call, NodeId(ino)); },
        [info = *fi](fuse_req_t request, OpenDirPtr dir) mutable {
          info.cache_readdir = 1;
          info.keep_cache = dir->keeps_cache() ? 1 : 0;
          give(request, info, std::make_shared<OpenDirPtr>(std::move(dir)));
        });
  }

  static void list(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t offset, fuse_file_info* fi, bool plus) {
    serve<std::shared_ptr<DirBuffer>>(
        req, ino,
        [dir = dir_handle(fi), size, offset, plus](Vfs& vfs,
                                                   RequestContext& call) -> Result<std::shared_ptr<DirBuffer>> {
          auto buffer = std::make_shared<DirBuffer>(size, plus);
          const auto done = vfs.readdir(call, *dir, static_cast<std::uint64_t>(offset),
                                        [&](const DirectoryItem& item) { return buffer->add(item); });
          if (!done && buffer->bytes().empty()) {
            return done.error();
          }
          return buffer;
        },
        [](fuse_req_t request, const std::shared_ptr<DirBuffer>& buffer) {
          fuse_reply_buf(request, buffer->bytes().data(), buffer->bytes().size());
        });
  }
  static void readdir(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t offset, fuse_file_info* fi) {
    list(req, ino, size, offset, fi, false);
  }
  static void readdirplus(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t offset, fuse_file_info* fi) {
    list(req, ino, size, offset, fi, true);
  }

  static void releasedir(fuse_req_t req, fuse_ino_t /*ino*/, fuse_file_info* fi) {
    take_back(req, *fi);
    fuse_reply_err(req, 0);
  }

  static void statfs(fuse_req_t req, fuse_ino_t /*ino*/) {
    struct statvfs st = server_of(req).space_.now();
    if (st.f_frsize == 0) {
      st.f_bsize = st.f_frsize = kBlock;
    }
    st.f_namemax = kLongestName;
    fuse_reply_statfs(req, &st);
  }

  static void reply_sized(fuse_req_t req, std::size_t size, const std::string& value) {
    if (size == 0) {
      fuse_reply_xattr(req, value.size());
    } else if (value.size() > size) {
      fuse_reply_err(req, ERANGE);
    } else {
      fuse_reply_buf(req, value.data(), value.size());
    }
  }
  static void getxattr(fuse_req_t req, fuse_ino_t ino, const char* name, std::size_t size) {
    if (std::strncmp(name, "user.arborfs.", 13) != 0) {
      fuse_reply_err(req, ENODATA);
      return;
    }
    serve<std::optional<std::string>>(
        req, ino,
        [ino, name = std::string(name)](Vfs& vfs, RequestContext& call) -> Result<std::optional<std::string>> {
          auto value = vfs.xattr(call, NodeId(ino), name);
          if (!value && value.error().code != Errc::not_found) {
            return value.error();
          }
          return value ? std::optional(std::move(*value)) : std::nullopt;
        },
        [size](fuse_req_t request, const std::optional<std::string>& value) {
          value ? reply_sized(request, size, *value) : static_cast<void>(fuse_reply_err(request, ENODATA));
        });
  }
  static void listxattr(fuse_req_t req, fuse_ino_t ino, std::size_t size) {
    serve<std::string>(
        req, ino, [ino](Vfs& vfs, RequestContext& call) { return vfs.xattr_names(call, NodeId(ino)); },
        [size](fuse_req_t request, const std::string& names) { reply_sized(request, size, names); });
  }
  static void no_getxattr(fuse_req_t req, fuse_ino_t /*ino*/, const char* /*name*/, std::size_t /*size*/) {
    fuse_reply_err(req, ENOSYS);
  }
  static void no_listxattr(fuse_req_t req, fuse_ino_t /*ino*/, std::size_t /*size*/) { fuse_reply_err(req, ENOSYS); }
};

namespace {

/// libfuse answers callbacks that are left out with ENOSYS; the kernel remembers that and does not ask again.
void add_handles(fuse_lowlevel_ops& ops) {
  ops.open = callback<FuseOperations::open>;
  ops.read = callback<FuseOperations::read>;
  ops.release = callback<FuseOperations::release>;
  ops.poll = callback<FuseOperations::poll>;
  add_write_operations(ops);
}

void add_no_handles(fuse_lowlevel_ops& ops) {
  ops.open = FuseOperations::no_open;  // libfuse's default would answer success
  ops.read = callback<FuseOperations::read_without_open>;
  add_refusals(ops);
}

}  // namespace

fuse_lowlevel_ops fuse_operations(const MountSettings& settings) {
  fuse_lowlevel_ops ops{};
  ops.init = FuseOperations::init;
  ops.lookup = callback<FuseOperations::lookup>;
  ops.forget = FuseOperations::forget;
  ops.forget_multi = FuseOperations::forget_multi;
  ops.getattr = callback<FuseOperations::getattr>;
  ops.readlink = callback<FuseOperations::readlink>;
  ops.opendir = callback<FuseOperations::opendir>;
  ops.readdir = callback<FuseOperations::readdir>;
  ops.readdirplus = callback<FuseOperations::readdirplus>;
  ops.releasedir = callback<FuseOperations::releasedir>;
  ops.statfs = callback<FuseOperations::statfs>;
  ops.getxattr = settings.xattr ? callback<FuseOperations::getxattr> : FuseOperations::no_getxattr;
  ops.listxattr = settings.xattr ? callback<FuseOperations::listxattr> : FuseOperations::no_listxattr;
  settings.read_only ? add_no_handles(ops) : add_handles(ops);
  return ops;
}

}  // namespace arborfs
