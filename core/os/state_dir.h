// Where arborfs keeps what belongs in no store: $XDG_STATE_HOME/arborfs, else ~/.local/state/arborfs, and the trash
// under $XDG_DATA_HOME/arborfs. Folders are made when first needed, for their owner alone (FAILURES.md S12). Reads
// the environment; any thread that does not race with setenv.
#pragma once

#include <string>
#include <string_view>

#include "core/os/disk.h"

namespace arborfs {

/// `below` is one component such as "trash", or "" for the folder itself.
std::string state_path(const std::string& below);
std::string data_path(const std::string& below);
/// The name of a file there that is about one log of one store: a hash of both, so that a renamed folder of logs loses
/// none of them.
std::string state_file_name(const std::string& store_key, const std::string& log_name);
/// Opens a folder that must be this user's own. Errors: not_found; permission when it belongs to somebody else, who
/// could have laid in it what they like.
Result<Dir> open_private_folder(const std::string& path);
/// The same, after making it and those above it that are missing, with mode 0700. Errors also: permission when they
/// would have to be made in a folder of another user, root's excepted: with HOME kept by `sudo -E` they would be in the
/// way of its owner. With `sync` the new names are on the disk when it returns.
Result<Dir> make_private_folder(Disk& disk, const std::string& path, bool sync = true);
/// The file says `text`, and with `sync` is on the disk, or is as it was. One caller at a time for one name in one
/// process. Errors: those of the disk.
Result<void> replace_private_file(Disk& disk, const Dir& folder, const std::string& name, std::string_view text,
                                  bool sync = true);
/// What such a file says; "" where there is none. Errors: those of opening and reading it.
Result<std::string> read_private_file(const Dir& folder, const std::string& name);

}  // namespace arborfs
