#include "fs/fuse/fuse_write_operations.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/base/result_macros.h"
#include "fs/fuse/fuse_reply.h"

namespace arborfs {

namespace {

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

}  // namespace

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
        req, ino, [ino](Vfs& vfs, RequestContext& call) { return vfs.getattr(call, NodeId(ino)); },
        [](fuse_req_t request, const Attr& attr) {
          const struct stat st = stat_of(attr);
          fuse_reply_attr(request, &st, seconds_of(attr.life));
        });
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
         client = client_of(req)](RequestContext& call) -> Result<std::size_t> {
          RETURN_IF_ERROR(control->write(text, goes_on, client, call.cancelled()));
          return text.size();
        },
        [](fuse_req_t request, std::size_t written) { fuse_reply_write(request, written); });
  }

  /// Comes for each descriptor that is closed; usually there is nothing to do.
  static void flush(fuse_req_t req, fuse_ino_t /*ino*/, fuse_file_info* fi) {
    auto control = file_handle(fi).control;
    if (control) {
      control->leave_door();
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
        [](fuse_req_t request, const Found& found) {
          const fuse_entry_param entry = entry_of(found);
          fuse_reply_entry(request, &entry);
        },
        hold(req, {at}));
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
    return changes.news().hold(changes.held_folders(names));
  }
};

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
      [changes = FuseDispatch::changes_of(req), ino, client = FuseDispatch::client_of(req)](
          Vfs&, RequestContext& call) { return changes->open_control(call, NodeId(ino), client); },
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

}  // namespace arborfs
