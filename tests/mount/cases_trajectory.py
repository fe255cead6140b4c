"""trajectory.json of every session keeps the rules of ATIF-v1.7, says what the session says, and sums up its tokens."""

import datetime
import json
import re

from cases_stats import AGENTS, copies
from mounting import Mount, equal

IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
MEMBERS = {
    "trajectory": {"schema_version", "session_id", "trajectory_id", "agent", "steps", "notes", "final_metrics",
                   "continued_trajectory_ref", "extra", "subagent_trajectories"},
    "agent": {"name", "version", "model_name", "tool_definitions", "extra"},
    "step": {"step_id", "timestamp", "source", "model_name", "reasoning_effort", "message", "reasoning_content",
             "tool_calls", "observation", "metrics", "is_copied_context", "llm_call_count", "extra"},
    "call": {"tool_call_id", "function_name", "arguments", "extra"},
    "result": {"source_call_id", "content", "subagent_trajectory_ref", "extra"},
    "ref": {"trajectory_id", "session_id", "trajectory_path", "extra"},
    "metrics": {"prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "prompt_token_ids",
                "completion_token_ids", "logprobs", "extra"},
    "final_metrics": {"total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd",
                      "total_steps", "extra"},
}
OF_THE_AGENT = {"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"}


def known(kind, value):
    assert isinstance(value, dict) and set(value) <= MEMBERS[kind], (kind, value)


def check_content(content, folder):
    """A text, or parts of which each is a text or an image in a file."""
    if isinstance(content, str):
        return
    for part in content:
        if part["type"] == "text":
            equal(set(part), {"type", "text"})
        else:
            equal((part["type"], set(part), set(part["source"])), ("image", {"type", "source"}, {"media_type", "path"}))
            assert part["source"]["media_type"] in IMAGES, part
            assert (folder / part["source"]["path"]).stat().st_size > 0, part


def check_step(step, number, folder):
    known("step", step)
    equal(step["step_id"], number)
    assert step["source"] in ("user", "agent", "system"), step
    assert step["source"] == "agent" or not OF_THE_AGENT & set(step), step
    if "timestamp" in step:
        datetime.datetime.fromisoformat(step["timestamp"].replace("Z", "+00:00"))
    check_content(step["message"], folder)
    calls = step.get("tool_calls", [])
    for call in calls:
        known("call", call)
        assert isinstance(call["arguments"], dict) and call["function_name"], call
    ids = [call["tool_call_id"] for call in calls]
    equal(len(set(ids)), len(ids), "calls with an id of their own")
    for result in step.get("observation", {}).get("results", []):
        known("result", result)
        assert result.get("source_call_id") is None or result["source_call_id"] in ids, result
        check_content(result["content"], folder)
        for ref in result.get("subagent_trajectory_ref", []):
            known("ref", ref)
            equal(json.loads((folder / ref["trajectory_path"]).read_text())["session_id"], ref["session_id"])
    known("metrics", step.get("metrics", {}))
    assert all(isinstance(value, int) for key, value in step.get("metrics", {}).items() if key.endswith("tokens")), step


def checked(folder):
    """The trajectory of a session, which keeps all rules."""
    trajectory = json.loads((folder / "trajectory.json").read_text())
    known("trajectory", trajectory)
    known("agent", trajectory["agent"])
    equal(trajectory["schema_version"], "ATIF-v1.7")
    assert trajectory["agent"]["name"] and trajectory["agent"]["version"], trajectory["agent"]
    for number, step in enumerate(trajectory["steps"], 1):
        check_step(step, number, folder)
    known("final_metrics", trajectory["final_metrics"])
    equal(trajectory["final_metrics"]["total_steps"], len(trajectory["steps"]))
    return trajectory


def texts_of(content):
    return content if isinstance(content, str) else "\n\n".join(part.get("text", "") for part in content)


def test_trajectories_of_all_agents_keep_the_rules(case):
    """Each session of the samples: every rule of ATIF's checker; the words of its prompts; on a log without branches
    the sums are those of usage.json."""
    samples = copies(case)
    stores = [f"store={agent}={samples / agent}" for agent in AGENTS if agent != "omp"]
    sums, agents, images, prompts = 0, set(), 0, 0
    with Mount(case, stores, agent_dir=samples / "omp") as mount:
        for folder in (mount / "by-id").iterdir():
            about = json.loads((folder / "session.json").read_text())
            trajectory = checked(folder)
            equal(trajectory["session_id"], about["id"])
            agents.add(trajectory["agent"]["name"])
            said = "\n".join(texts_of(step["message"]) for step in trajectory["steps"])
            for text in (folder / "text").glob("*-user-*.md"):
                first = text.read_text().split("\n")[0]
                if re.fullmatch("[A-Za-z ,.]+", first) and f"\n{first}" in (folder / "transcript.md").read_text():
                    assert first in said, (folder, first)
                    prompts += 1
            usage = json.loads((folder / "usage.json").read_text())
            if len(list((folder / "branches").iterdir())) == 2 and usage.get("output") is not None:
                total = trajectory["final_metrics"]
                equal(total.get("total_completion_tokens", 0), usage["output"], f"{folder} output")
                sums += usage["output"] > 0
            images += json.dumps(trajectory).count('"media_type"')
    equal(agents, set(AGENTS))
    assert sums > 5 and images > 5 and prompts > 10, (sums, images, prompts)


def test_results_refer_to_the_trajectories_of_sub_agents(case):
    """A call that failed says so, and the result that names a sub-agent refers to its trajectory."""
    claude = case.new_path("claude")
    project = claude / "projects" / "-work"
    (project / "s1" / "subagents").mkdir(parents=True)

    def row(uuid, parent, kind, content, **more):
        return json.dumps({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "cwd": "/work",
                           "timestamp": "2026-02-16T10:00:00.000Z",
                           "message": {"role": kind, "content": content, **more}}) + "\n"

    answer = {"id": "m1", "model": "claude-opus-4-5", "usage": {"input_tokens": 10, "cache_read_input_tokens": 5,
                                                                 "cache_creation_input_tokens": 1, "output_tokens": 7}}
    (project / "s1.jsonl").write_text(
        row("u1", None, "user", "look")
        + row("u2", "u1", "assistant", [{"type": "thinking", "thinking": "hm", "signature": "x"}], **answer)
        + row("u3", "u2", "assistant", [{"type": "tool_use", "id": "c1", "name": "Task", "input": {"prompt": "p"}},
                                        {"type": "tool_use", "id": "c2", "name": "Bash", "input": {"command": "x"}}],
              **answer)
        + row("u4", "u3", "user", [{"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": True}])
        + row("u5", "u4", "user", [{"type": "tool_result", "tool_use_id": "c1",
                                    "content": [{"type": "text", "text": "agentId: a1b2c3d4e5f6"}]}]))
    (project / "s1" / "subagents" / "agent-a1b2c3d4e5f6.jsonl").write_text(
        row("v1", None, "user", "p").replace('"cwd"', '"isSidechain": true, "agentId": "a1b2c3d4e5f6", "cwd"'))
    with case.mount("ro", f"store=claude={claude}") as mount:
        steps = checked(mount / "by-id" / "s1")["steps"]
        equal([step["source"] for step in steps], ["user", "agent"])
        equal(steps[1]["reasoning_content"], "hm")
        equal({key: steps[1]["metrics"][key] for key in ("prompt_tokens", "completion_tokens", "cached_tokens")},
              {"prompt_tokens": 16, "completion_tokens": 7, "cached_tokens": 5})
        equal(steps[1]["metrics"]["extra"], {"cost": "computed from list prices"})
        failed, launched = steps[1]["observation"]["results"]
        equal((failed["source_call_id"], failed["content"], failed["extra"]), ("c2", "no", {"is_error": True}))
        equal([ref["session_id"] for ref in launched["subagent_trajectory_ref"]], ["agent-a1b2c3d4e5f6"])
