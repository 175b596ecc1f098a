"""Small clients of the dialects that nobody ships one for, each written from its dialect's README alone."""


class Task:
    """`task`: an item's place is its task and its `output_index`; `added` replaces, `done` merges."""

    def __init__(self):
        self.tasks, self.last = {}, 0

    def take(self, frame):
        if frame["sequence_number"] <= self.last:
            return
        self.last = frame["sequence_number"]
        task = self.tasks.setdefault(frame["task_id"], {"id": frame["task_id"], "summary": {}, "output": {}})
        if "task" in frame:
            task["summary"] = frame["task"]
        else:
            self.change(task["output"], frame["type"], frame)

    def change(self, output, kind, frame):
        if kind == "task.output_item.added":
            output[frame["output_index"]] = dict(frame["item"])
            return
        item = output[frame["output_index"]]
        if kind == "task.output_item.done":
            item.update(frame["item"])
            for name in [name for name, value in item.items() if value is None]:
                del item[name]
        elif kind == "task.output_item.retracted":
            item.update(retracted=True, status="incomplete")
        elif kind == "task.tool_call_arguments.delta":
            item["arguments"] += frame["delta"]
        elif kind == "task.tool_call_arguments.done":
            item["arguments"] = frame["arguments"]
        elif kind in ("task.audio.delta", "task.file.delta"):
            parts, place = self.parts(item, frame)
            parts[place]["data"] = parts[place].get("data", "") + frame["delta"]
        elif kind in ("task.reasoning_summary_text.delta", "task.text.delta", "task.block.delta"):
            part = self.parts(item, frame)[0][self.parts(item, frame)[1]]
            part["text"] = part.get("text", "") + frame["delta"]
            if "annotations" in frame:
                part.setdefault("annotations", []).extend(frame["annotations"])
        elif "item" in frame:
            parts, place = self.parts(item, frame)
            parts[place] = dict(frame["item"])

    def parts(self, item, frame):
        name, member = ("summary", "summary_index") if "summary_index" in frame else ("block_list", "block_index")
        parts, place = item.setdefault(name, []), frame[member]
        parts.extend([None] * (place + 1 - len(parts)))
        return parts, place

    def object(self, name):
        """The task with its children in the results of the calls that started them."""
        task = self.tasks[name]
        return task["summary"] | {"output": self.items(task)}

    def items(self, task):
        shown = []
        for _, item in sorted(task["output"].items()):
            item = dict(item)
            if item["type"] == "tool_result" and "block_list" in item:
                below = [child for child in self.tasks.values() if self.is_below(child, task, item["call_id"])]
                inside = [{"task_id": child["id"]} | one for child in below for one in self.items(child)]
                item["block_list"] = item["block_list"] + inside
            shown.append(item)
        return shown

    def is_below(self, child, parent, call):
        told = child["summary"]
        return told.get("parent_task_id") == parent["id"] and told.get("parent_call_id", child["id"]) == call


class SimpleRun:
    """`simple-run`: texts by their index, arguments by call, and the result."""

    def __init__(self):
        self.texts, self.arguments, self.items, self.steps, self.result = {}, {}, {}, 0, None

    def take(self, event):
        assert self.result is None, f"{event['type']} behind the end"
        kind = event["type"]
        if kind == "response.text.delta":
            at = event["content_index"]
            self.texts[at] = self.texts.get(at, "") + event["delta"]
        elif kind == "response.function_call_arguments.delta":
            self.arguments[event["call_id"]] = self.arguments.get(event["call_id"], "") + event["delta"]
        elif kind == "response.function_call.done":
            assert self.arguments[event["call_id"]] == event["arguments"]
        elif kind == "response.output_item.done":
            self.items[event["item"]["id"]] = event["item"]
        elif kind == "run.step.done":
            assert event["step_number"] > self.steps
            self.steps = event["step_number"]
        elif kind == "run.done":
            self.result = event["run_result"]

    def object(self):
        return {"texts": self.texts, "arguments": self.arguments, "items": self.items, "result": self.result}


class AgentsRun:
    """`agents-sdk`: what each item said as it came, the items that are complete, and how the run stands."""

    def __init__(self):
        self.said, self.items, self.end = {}, {}, None

    def take(self, event):
        if event["type"] == "raw_response_event" and event["data"]["type"] == "response.output_text.delta":
            data = event["data"]
            at = (data["item_id"], data.get("content_index", 0))
            self.said[at] = self.said.get(at, "") + data["delta"]
        elif event["type"] == "run_item_stream_event":
            raw = event["item"].get("raw_item", event["item"])
            self.items[(event["name"], raw.get("id") or raw.get("call_id"))] = event["item"]
        elif event["type"] == "run_complete_event":
            self.end = event

    def object(self):
        return {"said": self.said, "items": self.items, "end": self.end}


class Blocks:
    """`blocks`: blocks by their index, grown by deltas; `extras` make another block of a text."""

    def __init__(self):
        self.blocks, self.open, self.end, self.is_over = {}, set(), None, False

    def take(self, event):
        kind, index = event["type"], event.get("index")
        if kind == "content_block_start":
            assert index == len(self.blocks), f"block {index} behind {len(self.blocks)} others"
            self.blocks[index] = dict(event["content_block"])
            self.open.add(index)
        elif kind == "content_block_delta":
            assert index in self.open, f"block {index} is not open"
            self.grow(self.blocks[index], event["delta"])
        elif kind == "content_block_stop":
            self.open.remove(index)
            self.blocks[index]["is_final"] = event.get("is_final")
        elif kind == "message_delta":
            self.end = event["delta"]
        elif kind == "message_stop":
            assert not self.open, f"{self.open} are open"
            self.is_over = True

    def grow(self, block, delta):
        for name in ("text", "thinking"):
            if delta["type"] == f"{name}_delta":
                block[name] += delta[name]
        for name in ("status", "decisions"):
            if name in delta:
                block[name] = delta[name]
        extras = delta.get("extras") or {}
        if extras.get("block_subtype") == "replaced":
            block["text"] = extras["text"]
        elif extras:
            block["extras"] = extras

    def object(self):
        return {"blocks": self.blocks, "end": self.end}
