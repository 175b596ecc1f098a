"""a2a-sdk: the agent card, messages as streams, tasks. Coming back is `SubscribeToTask`."""

import unittest
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from support import BASE, FAULT, KEY


class Client:
    """An official client of its own, made from the server's card."""

    def __init__(self, key=KEY, streaming=True, **headers):
        self.headers = {"authorization": f"Bearer {key}", **headers}
        self.streaming = streaming

    async def __aenter__(self):
        self.http = httpx.AsyncClient(headers=self.headers, timeout=30)
        self.card = await A2ACardResolver(self.http, BASE).get_agent_card()
        config = ClientConfig(httpx_client=self.http, streaming=self.streaming)
        self.client = ClientFactory(config).create(self.card)
        return self

    async def __aexit__(self, *_):
        await self.http.aclose()

    def send(self, agent=None, text="weather?", **more):
        message = Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=[Part(text=text)], **more)
        if agent:
            message.metadata.update({"agent": agent})
        return self.client.send_message(SendMessageRequest(message=message))

    async def get(self, task):
        return await self.client.get_task(GetTaskRequest(id=task))


async def run(agent, **more):
    async with Client() as own:
        return [update async for update in own.send(agent, **more)]


class Seen:
    """What the updates add up to, as a client of the protocol keeps it."""

    def __init__(self, updates):
        self.states, self.artifacts, self.task, self.message = [], {}, None, None
        for update in updates:
            kind = update.WhichOneof("payload")
            if kind == "task":
                self.task = update.task
                self.status(update.task.status)
                for artifact in update.task.artifacts:
                    self.artifacts[artifact.artifact_id] = list(artifact.parts)
            elif kind == "status_update":
                self.status(update.status_update.status)
            elif kind == "artifact_update":
                self.artifact(update.artifact_update)

    def status(self, status):
        self.states.append(status.state)
        self.message = status.message

    def artifact(self, update):
        before = self.artifacts.get(update.artifact.artifact_id, []) if update.append else []
        self.artifacts[update.artifact.artifact_id] = [*before, *update.artifact.parts]

    def text(self):
        return "".join(part.text for parts in self.artifacts.values() for part in parts)


class Tasks(unittest.IsolatedAsyncioTestCase):
    async def test_the_card_says_where_to_ask(self):
        async with Client() as own:
            interface = own.card.supported_interfaces[0]
        self.assertEqual(interface.url, f"{BASE}/a2a")
        self.assertEqual((interface.protocol_binding, interface.protocol_version), ("JSONRPC", "1.0"))
        self.assertTrue(own.card.capabilities.streaming)

    async def test_the_stream_adds_up_to_the_task(self):
        seen = Seen(await run("scripted/text"))
        self.assertEqual(seen.states[0], TaskState.TASK_STATE_SUBMITTED)
        self.assertEqual(seen.states[-1], TaskState.TASK_STATE_COMPLETED)
        self.assertTrue(seen.text().startswith("The weather in Paris"))
        async with Client() as own:
            task = await own.get(seen.task.id)
        self.assertEqual(task.status.state, TaskState.TASK_STATE_COMPLETED)
        self.assertEqual("".join(part.text for part in task.artifacts[0].parts), seen.text())

    async def test_a_message_without_a_stream_waits_for_the_task(self):
        async with Client(streaming=False) as own:
            seen = Seen([update async for update in own.send("scripted/text")])
        self.assertEqual(seen.states, [TaskState.TASK_STATE_COMPLETED])
        self.assertTrue(seen.text().startswith("The weather in Paris"))

    async def test_tools_stay_inside_and_their_answer_comes(self):
        seen = Seen(await run("agent/scenario-tool"))
        self.assertEqual(seen.states[-1], TaskState.TASK_STATE_COMPLETED)
        self.assertTrue(seen.text())

    async def test_a_context_is_gone_on_with(self):
        first = Seen(await run("scripted/text"))
        second = Seen(await run("scripted/text", context_id=first.task.context_id))
        self.assertEqual(second.task.context_id, first.task.context_id)
        self.assertNotEqual(second.task.id, first.task.id)
        async with Client() as own:
            listed = await own.client.list_tasks(ListTasksRequest(context_id=first.task.context_id))
        self.assertEqual([task.id for task in listed.tasks], [second.task.id, first.task.id])
        self.assertEqual(listed.total_size, 2)


    async def test_an_old_task_is_listed_and_read(self):
        first = Seen(await run("scripted/text"))
        context = first.task.context_id
        for _ in range(25):
            await run("scripted/echo", context_id=context)
        async with Client() as own:
            listed, token = [], ""
            while True:
                ask = ListTasksRequest(context_id=context, page_size=10, page_token=token, history_length=1)
                page = await own.client.list_tasks(ask)
                listed += page.tasks
                token = page.next_page_token
                if not token:
                    break
            oldest = await own.get(first.task.id)
        self.assertEqual((len(listed), page.total_size), (26, 26))
        self.assertEqual(listed[-1].id, first.task.id)
        self.assertEqual(listed[-1].history[0].parts[0].text, "weather?")
        self.assertEqual(len(listed[-1].artifacts), 0)
        self.assertEqual("".join(part.text for part in oldest.artifacts[0].parts), first.text())

    async def test_tasks_are_found_by_their_state(self):
        first = Seen(await run("scripted/text"))
        context = first.task.context_id
        await run("scripted/error", context_id=context)
        state = TaskState.TASK_STATE_FAILED
        ask = ListTasksRequest(context_id=context, status=state, include_artifacts=True)
        async with Client() as own:
            found = await own.client.list_tasks(ask)
        self.assertEqual([task.status.state for task in found.tasks], [state])
        self.assertEqual(found.total_size, 1)

    async def test_the_extended_card_names_the_agents(self):
        async with Client() as own:
            self.assertTrue(own.card.capabilities.extended_agent_card)
            card = await own.client.get_extended_agent_card(GetExtendedAgentCardRequest())
        self.assertIn("scenario-tool", [skill.id for skill in card.skills])

    async def test_nothing_is_pushed(self):
        config = TaskPushNotificationConfig(task_id="t", url="https://example.com/hook")
        with self.assertRaisesRegex(PushNotificationNotSupportedError, "SubscribeToTask"):
            async with Client() as own:
                await own.client.create_task_push_notification_config(config)


class Approvals(unittest.IsolatedAsyncioTestCase):
    async def waiting(self):
        seen = Seen(await run("agent/scenario-approval"))
        self.assertEqual(seen.states[-1], TaskState.TASK_STATE_INPUT_REQUIRED)
        self.assertTrue(seen.message.parts[0].text)
        return seen

    async def test_a_task_that_needs_an_approval_goes_on_with_it(self):
        seen = await self.waiting()
        place = {"task_id": seen.task.id, "context_id": seen.task.context_id}
        rest = Seen(await run(None, text="approve", **place))
        self.assertEqual(rest.states[-1], TaskState.TASK_STATE_COMPLETED)

    async def test_an_approval_without_a_stream_waits_for_the_task(self):
        seen = await self.waiting()
        async with Client(streaming=False) as own:
            rest = Seen([update async for update in own.send(None, text="approve", task_id=seen.task.id)])
        self.assertEqual(rest.states, [TaskState.TASK_STATE_COMPLETED])

    async def test_a_data_part_decides_too(self):
        seen = await self.waiting()
        asked = next(part.data.struct_value for part in seen.message.parts if part.HasField("data"))
        part = Part()
        part.data.struct_value.update({"actionId": asked["actionId"], "decision": "reject"})
        message = Message(message_id="m", role=Role.ROLE_USER, task_id=seen.task.id, parts=[part])
        async with Client() as own:
            sent = own.client.send_message(SendMessageRequest(message=message))
            rest = Seen([update async for update in sent])
        self.assertEqual(rest.states[-1], TaskState.TASK_STATE_COMPLETED)

    async def test_a_task_that_waits_for_nothing_takes_no_answer(self):
        seen = Seen(await run("scripted/text"))
        with self.assertRaisesRegex(UnsupportedOperationError, "waits for nothing"):
            await run(None, text="approve", task_id=seen.task.id)


class Resume(unittest.IsolatedAsyncioTestCase):
    async def test_a_cut_stream_is_seen_and_gone_on_with(self):
        for fault in ("drop-after=4", "reset-after=4"):
            updates = []
            with self.assertRaises(A2AClientError):
                async with Client(**{FAULT: fault}) as own:
                    async for update in own.send("scripted/slow"):
                        updates.append(update)
            cut = Seen(updates)
            async with Client() as own:
                again = own.client.subscribe(SubscribeToTaskRequest(id=cut.task.id))
                rest = Seen([update async for update in again])
                whole = await own.get(cut.task.id)
            self.assertEqual(rest.states[-1], TaskState.TASK_STATE_COMPLETED)
            self.assertEqual(rest.text(), "".join(part.text for part in whole.artifacts[0].parts))
            self.assertTrue(rest.text().startswith(cut.text()))

    async def test_a_message_sent_twice_is_one_task(self):
        message = Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=[Part(text="weather?")])
        message.metadata.update({"agent": "scripted/text"})
        tasks = []
        for _ in range(2):
            async with Client() as own:
                sent = own.client.send_message(SendMessageRequest(message=message))
                tasks.append(Seen([update async for update in sent]))
        self.assertEqual(tasks[0].task.id, tasks[1].task.id)
        self.assertEqual(tasks[0].text(), tasks[1].text())

    async def test_a_task_that_ended_is_read_and_not_followed(self):
        seen = Seen(await run("scripted/text"))
        with self.assertRaises(UnsupportedOperationError):
            async with Client() as own:
                async for _ in own.client.subscribe(SubscribeToTaskRequest(id=seen.task.id)):
                    pass


class Cancel(unittest.IsolatedAsyncioTestCase):
    async def test_a_task_is_cancelled(self):
        updates = []
        async with Client() as own:
            async for update in own.send("scripted/slow"):
                updates.append(update)
                if len(updates) == 4:
                    async with Client() as other:
                        task = await other.client.cancel_task(CancelTaskRequest(id=updates[0].task.id))
        self.assertEqual(task.status.state, TaskState.TASK_STATE_CANCELED)
        self.assertEqual(Seen(updates).states[-1], TaskState.TASK_STATE_CANCELED)

    async def test_what_has_ended_cannot_be_cancelled(self):
        seen = Seen(await run("scripted/text"))
        with self.assertRaises(TaskNotCancelableError) as late:
            async with Client() as own:
                await own.client.cancel_task(CancelTaskRequest(id=seen.task.id))
        self.assertTrue(str(late.exception))


class Refusals(unittest.IsolatedAsyncioTestCase):
    async def test_a_failed_task_says_why(self):
        seen = Seen(await run("scripted/error"))
        self.assertEqual(seen.states[-1], TaskState.TASK_STATE_FAILED)
        self.assertTrue(seen.message.parts[0].text)

    async def test_refusals_have_a_message(self):
        with self.assertRaisesRegex(InvalidParamsError, "nobody-knows"):
            await run("nobody-knows")
        with self.assertRaises(TaskNotFoundError):
            async with Client() as own:
                await own.get("no-such-task")
        with self.assertRaisesRegex(InvalidParamsError, "parts"):
            async with Client() as own:
                message = Message(message_id="m", role=Role.ROLE_USER)
                async for _ in own.client.send_message(SendMessageRequest(message=message)):
                    pass
        with self.assertRaisesRegex(A2AClientError, "401"):
            async with Client(key="rr_wrong") as own:
                await own.get("x")


if __name__ == "__main__":
    unittest.main()
