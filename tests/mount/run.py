#!/usr/bin/python3
"""Runs one case of this folder against a real mount, or lists all of them.

    run.py --list           one line for each case: <module>.<case> <label>,<label>...
    run.py <module>.<case>  exit status 0 passed, 1 failed, 77 skipped (the reason is printed)

A case is a function `test_...(case)` in a module `cases_*.py` of this folder; it is not registered anywhere else. A
function with variants (mounting.variants) is one case for each of them: <module>.<case>.<variant>.
"""

import functools
import importlib
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
sys.dont_write_bytecode = True

import mounting  # noqa: E402  (needs the path above)

SKIPPED = 77


def modules():
    return sorted(path.stem for path in HERE.glob("cases_*.py"))


def cases_of(module_name):
    """The cases of a module in source order, as tuples of name, function and labels."""
    module = importlib.import_module(module_name)
    for name, function in list(vars(module).items()):
        if not name.startswith("test_") or not callable(function):
            continue
        short, labels = name.removeprefix("test_"), getattr(function, "labels", ())
        if not hasattr(function, "variants"):
            yield short, function, labels
            continue
        for variant, arguments in function.variants.items():
            yield f"{short}.{variant}", functools.partial(function, **arguments), labels


def list_cases():
    for module_name in modules():
        for name, _, labels in cases_of(module_name):
            print(f"{module_name.removeprefix('cases_')}.{name} {','.join(('mount', *labels))}")


def run_case(full_name):
    module_name, _, name = full_name.partition(".")
    function = next(function for known, function, _ in cases_of("cases_" + module_name) if known == name)
    words = getattr(function, "func", function).__doc__ or ""
    print(f"{full_name}: {' '.join(words.split())}", flush=True)
    case = None
    try:
        mounting.require_fuse()
        case = mounting.Case(name.replace(".", "-"))
        function(case)
        report = case.sanitizer_report()
        assert not report, report
        return 0
    except mounting.Skip as reason:
        print(f"SKIPPED: {reason}")
        return SKIPPED
    except BaseException:  # KeyboardInterrupt too: the mounts must be removed
        traceback.print_exc(file=sys.stdout)
        print("--- what the programs of this case wrote ---")
        print(case.transcript() if case else "(nothing)")
        return 1
    finally:
        if case:
            case.close()


def main(words):
    if words == ["--list"]:
        list_cases()
        return 0
    if len(words) != 1:
        print(__doc__)
        return 2
    return run_case(words[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
