"""Sessions whose agents edit files: random sequences of edits, writes and patches, as each agent records them, and the
files before and after. The changes are made here, without arborfs."""

import json

WORDS = ("tide", "kelp", "réef", "sand()", "\tcurrent", "  if x:", "return", "", "}", "wave = 1", "日本", "-dash",
         "+plus", "@@ at", "# comment", "\\ slash", "tide", "}")
NAMES = ("a.py", "b c.txt", 'odd"name.c', "sub/deep.h", "tab\there", "ünicode.md", "--- x", "d\\e")


def lines_of(text):
    """The lines of a text, each with its line feed."""
    return text.splitlines(keepends=True) if "\r" not in text else text.split("\n")


class Sequence:
    """One session: `before` and `after` are the files by their absolute names; `records` what the agent writes."""

    def __init__(self, dice, number):
        self.dice, self.folder = dice, f"/w/s{number:04}"
        self.before, self.now, self.records, self.calls = {}, {}, [], 0
        self.known = set()  # files of which the session has the whole contents
        self.tip = None  # the id of the record that the next one follows, where the records are a tree

    def line(self):
        return " ".join(self.dice.choice(WORDS) for _ in range(self.dice.randint(1, 3)))

    def text(self, least=0, most=30, ends=True):
        lines = [self.line() for _ in range(self.dice.randint(least, most))]
        return "".join(line + "\n" for line in lines) if ends or not lines else "\n".join(lines)

    def give_files(self, ends):
        """Files that are there before the session."""
        for name in self.dice.sample(NAMES, self.dice.randint(1, 4)):
            path = f"{self.folder}/{name}"
            self.before[path] = self.now[path] = self.text(1, 40, ends or self.dice.random() < 0.7)

    def go(self, steps):
        """Steps, some of which are taken back with the files: the conversation goes on from where they began."""
        for _ in range(steps):
            if self.dice.random() < 0.15:
                tip, now, known = self.tip, dict(self.now), set(self.known)
                for _ in range(self.dice.randint(1, 3)):
                    self.step()
                self.tip, self.now, self.known = tip, now, known
                self.say("again")
            self.step()

    def pick(self, paths=None):
        paths = sorted(self.now if paths is None else paths)
        return self.dice.choice(paths) if paths else None

    def new_name(self):
        free = sorted(set(NAMES) - {path[len(self.folder) + 1:] for path in {*self.before, *self.now}})
        return f"{self.folder}/{self.dice.choice(free)}" if free else None

    def only(self, text, whole_lines):
        """A piece of a text that stands there once, or None."""
        lines = lines_of(text)
        for _ in range(20):
            if not lines:
                return None
            first = self.dice.randrange(len(lines))
            piece = "".join(lines[first:first + self.dice.randint(1, 4)])
            if whole_lines:
                piece = piece if self.dice.random() < 0.5 else piece[:-1]
            elif len(piece) > 2:
                start = self.dice.randrange(len(piece) // 2)
                piece = piece[start:self.dice.randint(start + 1, len(piece))]
            if piece.strip() and text.count(piece) == 1 and (not whole_lines or ("\n" + text).count("\n" + piece) == 1):
                return piece
        return None

    def other(self, piece, whole_lines=False):
        """What a piece becomes."""
        words = self.text(0, 3, whole_lines and piece.endswith("\n"))
        if whole_lines and not piece.endswith("\n"):
            words = words or self.line()
        return words if words != piece else words + "x" + ("\n" if piece.endswith("\n") else "")


def numbered(before, after, context=4):
    """The diff that pi shows: numbered lines, four around each change, and dots for the others."""
    old, new = before.split("\n"), after.split("\n")
    width = len(str(max(len(old), len(new))))
    parts = parts_of(lines_of(before), lines_of(after))
    out, at, was_change = [], [1, 1], False
    for number, (kind, lines) in enumerate(parts):
        raw = [line.rstrip("\n") for line in lines]
        if kind != " ":
            for line in raw:
                side = 1 if kind == "+" else 0
                out.append(f"{kind}{at[side]:>{width}} {line}")
                at[side] += 1
            was_change = True
            continue
        is_next = number + 1 < len(parts)
        shown, left_out, cut = raw, 0, 0
        if was_change or is_next:
            if not was_change:
                left_out = max(0, len(raw) - context)
                shown = raw[left_out:]
            if not is_next and len(shown) > context:
                cut = len(shown) - context
                shown = shown[:context]
            if left_out:
                out.append(f" {'':>{width}} ...")
            at = [at[0] + left_out, at[1] + left_out]
            for line in shown:
                out.append(f" {at[0]:>{width}} {line}")
                at = [at[0] + 1, at[1] + 1]
            if cut:
                out.append(f" {'':>{width}} ...")
            at = [at[0] + cut, at[1] + cut]
        else:
            at = [at[0] + len(raw), at[1] + len(raw)]
        was_change = False
    return "\n".join(out)


def parts_of(old, new):
    """Runs of equal, removed and added lines: of the longest sequence that both lists have."""
    longest = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            longest[i][j] = (longest[i + 1][j + 1] + 1 if old[i] == new[j]
                             else max(longest[i + 1][j], longest[i][j + 1]))
    parts, i, j = [], 0, 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            kind, line, i, j = " ", old[i], i + 1, j + 1
        elif i < len(old) and (j == len(new) or longest[i + 1][j] >= longest[i][j + 1]):
            kind, line, i = "-", old[i], i + 1
        else:
            kind, line, j = "+", new[j], j + 1
        if parts and parts[-1][0] == kind:
            parts[-1][1].append(line)
        else:
            parts.append((kind, [line]))
    return parts


def found_first(lines, wanted, start):
    """The first place at `start` or later where apply_patch finds lines: exactly, else without white space at the end,
    else without that around them."""
    for same in (str, str.rstrip, str.strip):
        sought = [same(line) for line in wanted]
        for at in range(start, len(lines) - len(wanted) + 1):
            if [same(line) for line in lines[at:at + len(wanted)]] == sought:
                return at
    return None


def random_chunks(sequence, text):
    """The lines of an update for apply_patch, and the text after it; None for one that it would not find."""
    dice, lines = sequence.dice, text.split("\n")[:-1]
    patch, after, next_line = [], [], 0
    for _ in range(dice.randint(1, 3)):
        if len(lines) - next_line < 1:
            break
        lead, gone, tail = dice.randint(0, 3), dice.randint(0, 3), dice.randint(0, 3)
        first = dice.randrange(next_line, len(lines))
        wanted = lines[first:first + lead + gone + tail]
        lead = min(lead, len(wanted))
        gone = min(gone, len(wanted) - lead)
        added = [sequence.line() for _ in range(dice.randint(0 if gone else 1, 3))]
        if not wanted or wanted[lead:lead + gone] == added:
            continue
        search = next_line
        mark = "@@"
        if first > next_line and dice.random() < 0.3:
            above = dice.randrange(next_line, first)
            if lines[above].strip() and found_first(lines, [lines[above]], next_line) == above:
                mark, search = "@@ " + lines[above], above + 1
        if found_first(lines, wanted, search) != first:
            continue
        signs = ((" ", wanted[:lead]), ("-", wanted[lead:lead + gone]), ("+", added), (" ", wanted[lead + gone:]))
        patch += [mark, *(sign + line for sign, some in signs for line in some)]
        after += lines[next_line:first + lead] + added + wanted[lead + gone:]
        next_line = first + len(wanted)
    after += lines[next_line:]
    return (patch, "".join(line + "\n" for line in after)) if patch and after != lines else None


class Claude(Sequence):
    """Results have the whole file as it was."""

    agent = "claude"

    def record(self, kind, message, **more):
        number = len(self.records)
        self.records.append({"parentUuid": self.tip, "isSidechain": False, "type": kind, "uuid": f"u{number}",
                             "sessionId": "$id", "cwd": self.folder, "timestamp": "2026-05-01T10:00:00.000Z",
                             "message": message, **more})
        self.tip = f"u{number}"

    def say(self, words):
        self.record("user", {"role": "user", "content": words})

    def tool(self, name, arguments, result, failed=False):
        self.calls += 1
        call = f"toolu_{self.calls}"
        self.record("assistant", {"id": f"m{self.calls}", "role": "assistant", "model": "m", "content": [
            {"type": "tool_use", "id": call, "name": name, "input": arguments}]})
        words = "<tool_use_error>no</tool_use_error>" if failed else "done"
        self.record("user", {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call, "content": words, "is_error": failed}]},
            toolUseResult="Error: no" if failed else result)

    @staticmethod
    def replaced(text, old, new, everywhere):
        if not new and not old.endswith("\n") and old + "\n" in text:
            old += "\n"
        return text.replace(old, new) if everywhere else text.replace(old, new, 1)

    def step(self):
        act = self.dice.choice(("edit", "edit", "multi", "create", "write", "fail", "bash"))
        path = self.new_name() if act == "create" else self.pick()
        if path is None:
            return
        text = self.now.get(path)
        if act == "bash":
            self.tool("Bash", {"command": "ls"}, {"stdout": "", "stderr": ""})
        elif act in ("create", "write"):
            self.now[path] = self.text(0, 20, self.dice.random() < 0.7)
            self.tool("Write", {"file_path": path, "content": self.now[path]},
                      {"type": "update" if text is not None else "create", "filePath": path, "content": self.now[path],
                       "structuredPatch": [], "originalFile": text, "userModified": False})
        elif act == "fail":
            self.tool("Edit", {"file_path": path, "old_string": "nowhere", "new_string": "x"}, None, True)
        else:
            edits = []
            for _ in range(self.dice.randint(1, 3) if act == "multi" else 1):
                everywhere = self.dice.random() < 0.2
                old = self.dice.choice(WORDS) if everywhere else self.only(self.now[path], False)
                if not old or old not in self.now[path]:
                    continue
                new = self.other(old)
                edits.append({"old_string": old, "new_string": new, "replace_all": everywhere})
                self.now[path] = self.replaced(self.now[path], old, new, everywhere)
            if edits and act == "multi":
                self.tool("MultiEdit", {"file_path": path, "edits": edits},
                          {"filePath": path, "edits": edits, "originalFileContents": text, "structuredPatch": []})
            elif edits:
                self.tool("Edit", {"file_path": path, **edits[0]},
                          {"filePath": path, "oldString": edits[0]["old_string"], "newString": edits[0]["new_string"],
                           "originalFile": text, "structuredPatch": [], "replaceAll": edits[0]["replace_all"]})

    def make(self, steps):
        self.give_files(False)
        self.say("go")
        self.go(steps)

    def store(self, folder, identity):
        text = "".join(json.dumps(record) + "\n" for record in self.records).replace("$id", identity)
        write(folder / "projects" / self.folder.replace("/", "-") / f"{identity}.jsonl", text)


class Codex(Sequence):
    """Patches without line numbers, by all the ways in which a patch is sent."""

    agent = "codex"

    def item(self, **payload):
        self.records.append({"timestamp": "2026-05-01T10:00:00.000Z", "type": "response_item", "payload": payload})

    def send(self, lines, worked=True):
        patch = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
        self.calls += 1
        call = {"call_id": f"call_{self.calls}"}
        said = "Success. Updated the following files:\nM x\n" if worked else "apply_patch verification failed: no lines"
        way = self.dice.choice(("custom", "function", "shell", "heredoc"))
        if way == "custom":
            self.item(type="custom_tool_call", name="apply_patch", input=patch, **call)
            output = json.dumps({"output": said, "metadata": {"exit_code": 0 if worked else 1}})
            self.item(type="custom_tool_call_output", output=output, **call)
            return
        arguments = {"function": {"input": patch}, "shell": {"command": ["apply_patch", patch]},
                     "heredoc": {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{patch}\nEOF\n"]}}[way]
        self.item(type="function_call", name="apply_patch" if way == "function" else "shell",
                  arguments=json.dumps(arguments), **call)
        self.item(type="function_call_output", output=f"Exit code: {0 if worked else 1}\nOutput:\n{said}", **call)

    def name_in_patch(self, path):
        return path if self.dice.random() < 0.3 else path[len(self.folder) + 1:]

    def step(self):
        act = self.dice.choice(("update", "update", "update", "add", "remove", "move", "fail", "shell"))
        path = self.new_name() if act == "add" else self.pick(self.known if act == "remove" else None)
        if path is None:
            return
        name = self.name_in_patch(path)
        if act == "shell":
            self.item(type="function_call", name="shell", arguments='{"command":["bash","-lc","make"]}', call_id="s")
            self.item(type="function_call_output", output="Exit code: 0\nOutput:\n", call_id="s")
        elif act == "fail":
            self.send([f"*** Update File: {name}", "@@", "-nowhere", "+x"], False)
        elif act == "add":
            self.now[path] = self.text(0, 20)
            self.known.add(path)
            self.send([f"*** Add File: {name}", *("+" + line for line in self.now[path].split("\n")[:-1])])
        elif act == "remove":
            del self.now[path]
            self.known.discard(path)
            self.send([f"*** Delete File: {name}"])
        else:
            made = random_chunks(self, self.now[path])
            target = self.new_name() if act == "move" else None
            if made is None or (act == "move" and target is None):
                return
            self.now[path] = made[1]
            lines = [f"*** Update File: {name}"]
            if target:
                lines.append(f"*** Move to: {self.name_in_patch(target)}")
                self.now[target] = self.now.pop(path)
                if path in self.known:
                    self.known.discard(path)
                    self.known.add(target)
            self.send(lines + made[0])

    def make(self, steps):
        self.give_files(True)
        for _ in range(steps):
            self.step()

    def store(self, folder, identity):
        head = {"timestamp": "2026-05-01T10:00:00.000Z", "type": "session_meta",
                "payload": {"id": identity, "timestamp": "2026-05-01T10:00:00.000Z", "cwd": self.folder}}
        write(folder / "sessions/2026/05/01" / f"rollout-2026-05-01T10-00-00-{identity}.jsonl",
              "".join(json.dumps(record) + "\n" for record in (head, *self.records)))


class Pi(Sequence):
    """Results have the lines that differ, with their numbers."""

    agent = "pi"

    def message(self, message):
        number = len(self.records)
        self.records.append({"type": "message", "id": f"{number:08}", "parentId": self.tip,
                             "timestamp": "2026-05-01T10:00:00.000Z", "message": message})
        self.tip = f"{number:08}"

    def say(self, words):
        self.message({"role": "user", "content": [{"type": "text", "text": words}]})

    def tool(self, name, arguments, details=None, failed=False):
        self.calls += 1
        call = f"call_{self.calls}"
        self.message({"role": "assistant", "model": "m", "content": [
            {"type": "toolCall", "id": call, "name": name, "arguments": arguments}]})
        self.message({"role": "toolResult", "toolCallId": call, "toolName": name, "isError": failed,
                      "content": [{"type": "text", "text": "no" if failed else "done"}],
                      **({"details": details} if details else {})})

    def edit(self, path, name):
        old = self.only(self.now[path], False)
        if old is None:
            return
        new, text = self.other(old), self.now[path]
        after = text.replace(old, new, 1)
        if not after.endswith("\n") and path not in self.known:
            return  # the numbered lines do not tell it
        self.now[path] = after
        self.tool("edit", {"path": name, "oldText": old, "newText": new}, {"diff": numbered(text, after)})

    def step(self):
        act = self.dice.choice(("edit", "edit", "edit", "create", "write", "fail", "bash"))
        path = {"create": self.new_name, "write": lambda: self.pick(self.known)}.get(act, self.pick)()
        if path is None:
            return
        name = path if self.dice.random() < 0.5 else path[len(self.folder) + 1:]
        if act == "bash":
            self.tool("bash", {"command": "ls"})
        elif act == "fail":
            self.tool("edit", {"path": name, "oldText": "nowhere", "newText": "x"}, failed=True)
        elif act in ("create", "write"):
            self.known.add(path)
            self.now[path] = self.text(0, 20, self.dice.random() < 0.7)
            self.tool("write", {"path": name, "content": self.now[path]})
        else:
            self.edit(path, name)

    def make(self, steps):
        self.give_files(True)
        self.go(steps)

    def store(self, folder, identity):
        head = {"type": "session", "version": 3, "id": identity, "timestamp": "2026-05-01T10:00:00.000Z",
                "cwd": self.folder}
        project = f"--{self.folder[1:].replace('/', '-')}--"
        write(folder / "sessions" / project / f"2026-05-01T10-00-00-000Z_{identity}.jsonl",
              "".join(json.dumps(record) + "\n" for record in (head, *self.records)))


class Omp(Pi):
    """Results have the file before and after, unless it is long."""

    agent = "omp"

    def edit(self, path, name):
        pruned = self.dice.random() < 0.3
        whole = pruned and path not in self.known
        if whole and not self.now[path].endswith("\n"):
            return
        everywhere = not whole and self.dice.random() < 0.2
        old = self.dice.choice(WORDS) if everywhere else self.only(self.now[path], whole)
        if not old or old not in self.now[path]:
            return
        new, text = self.other(old, whole), self.now[path]
        self.now[path] = text.replace(old, new) if everywhere else text.replace(old, new, 1)
        snapshots = {"snapshotsPruned": True} if pruned else {"oldText": text, "newText": self.now[path]}
        if not pruned:
            self.known.add(path)
        self.tool("edit", {"path": name, "old_string": old, "new_string": new, "replace_all": everywhere},
                  {"path": path, "diff": "?", **snapshots})


class OpenCode(Sequence):
    """Results of some versions have the file before and after, those of others a diff without its indentation."""

    agent = "opencode"

    def tool(self, name, arguments, metadata=None, failed=False):
        self.calls += 1
        state = {"input": arguments, "time": {"start": 1, "end": 2}}
        state |= {"status": "error", "error": "no"} if failed else {
            "status": "completed", "output": "done", "title": "t", "metadata": metadata or {}}
        self.records.append({"type": "tool", "tool": name, "callID": f"call_{self.calls}", "state": state})

    def step(self):
        act = self.dice.choice(("edit", "edit", "lines", "create", "write", "patch", "fail", "bash"))
        path = {"create": self.new_name, "write": lambda: self.pick(self.known)}.get(act, self.pick)()
        if path is None:
            return
        text = self.now.get(path)
        if act == "bash":
            self.tool("bash", {"command": "ls"})
        elif act == "fail":
            self.tool("edit", {"filePath": path, "oldString": "nowhere", "newString": "x"}, failed=True)
        elif act in ("create", "write"):
            self.known.add(path)
            self.now[path] = self.text(0, 20, self.dice.random() < 0.7)
            self.tool("write", {"filePath": path, "content": self.now[path]},
                      {"filepath": path, "exists": text is not None})
        elif act == "patch":
            self.patch(path)
        else:
            whole = act == "lines" and path not in self.known
            old = self.only(text, whole) if not whole or text.endswith("\n") else None
            if old is None:
                return
            new = self.other(old, whole)
            self.now[path] = text.replace(old, new, 1)
            told = {"diff": "?", "filediff": {"file": path, "patch": "?"}}
            if act == "edit":
                self.known.add(path)
                told["filediff"] |= {"before": text, "after": self.now[path]}
            self.tool("edit", {"filePath": path, "oldString": old, "newString": new}, told)

    def patch(self, path):
        if not self.now[path].endswith("\n"):
            return
        made = random_chunks(self, self.now[path])
        added = self.new_name()
        if made is None:
            return
        lines = ["*** Begin Patch", f"*** Update File: {path[len(self.folder) + 1:]}", *made[0]]
        self.now[path] = made[1]
        files = [{"filePath": path, "type": "update", "patch": "?"}]
        if added and self.dice.random() < 0.5:
            self.now[added] = self.text(0, 9)
            self.known.add(added)
            lines += [f"*** Add File: {added}", *("+" + line for line in self.now[added].split("\n")[:-1])]
            files.append({"filePath": added, "type": "add", "patch": "?"})
        self.tool("apply_patch", {"patchText": "\n".join([*lines, "*** End Patch"])}, {"files": files})

    def make(self, steps):
        self.give_files(True)
        for _ in range(steps):
            self.step()

    def store(self, folder, identity):
        session = "ses_" + identity.replace("-", "")[:26]
        storage = folder / "storage"
        write(storage / f"session/p/{session}.json",
              json.dumps({"id": session, "projectID": "p", "directory": self.folder, "title": "t",
                          "time": {"created": 1, "updated": 2}}))
        message = f"msg_{identity}"
        write(storage / f"message/{session}/{message}.json",
              json.dumps({"id": message, "sessionID": session, "role": "assistant", "modelID": "m", "providerID": "p",
                          "time": {"created": 1, "completed": 2}}))
        write(storage / "project/p.json",
              json.dumps({"id": "p", "worktree": "/w", "time": {"created": 1, "updated": 1}}))
        for number, part in enumerate(self.records):
            name = f"prt_{number:04}{identity}"
            write(storage / f"part/{message}/{name}.json",
                  json.dumps({"id": name, "sessionID": session, "messageID": message, **part}))


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf8", newline="")


AGENTS = (Claude, Codex, Omp, Pi, OpenCode)
