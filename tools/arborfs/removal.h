// Functions that the verbs that remove sessions share.
#pragma once

#include <string>
#include <vector>

#include "core/write/trash.h"
#include "tools/arborfs/access.h"

namespace arborfs::cli {

/// Asks the user at the terminal. `refusal` is what is said if the user does not say yes. Errors: interrupted if so, or
/// if the user cannot be asked because standard input is no terminal.
Result<void> ask(const std::string& question, const std::string& refusal, Terminal& io);
/// "ID (TITLE)", safe to show; without a title the first message, which can be read only before the session is removed.
std::string described(const Listed& of);
/// Asks the user at the terminal before sessions are removed, once for all. Does nothing if the command line says yes.
/// Errors: interrupted if the user does not say yes, or cannot be asked because standard input is no terminal.
Result<void> confirm_removal(const CommandLine& line, const std::vector<Listed>& sessions, Terminal& io);
/// The stores to which sessions go back: those that the command line names, else the user's own, `more`, and those from
/// which sessions were removed before.
Result<StoreSet> stores_to_go_back(const CommandLine& line, std::vector<RemovedFrom> more = {});
/// Restores a session, and protects again the entries that arborfs protected before the removal. Returns its path.
Result<std::string> restore_trashed(const Trashed& trashed, const StoreSet& open);
/// The name in the trash of the newest session that was removed from this place.
std::string name_in_trash(const Trash& trash, const std::string& sessions, const LogPlace& place);

}  // namespace arborfs::cli
