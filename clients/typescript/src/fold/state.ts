/**
 * The folded state. It is plain JSON, and a snapshot is this JSON: what is derived from it lives elsewhere.
 *
 * Treat a state as a value: the fold makes new ones and shares what did not change.
 */

import type {
  BenchmarkIds,
  BlobRef,
  Comparison,
  ErrorInfo,
  Input,
  Item,
  JobProgress,
  Json,
  Reward,
  Trajectory,
  Usage,
} from "../generated/events.js";
import type { Status } from "./status.js";

export type { Status } from "./status.js";

/** Finished turns that stay in the state in full. Older ones are sealed: stored once, read on demand. */
export const WINDOW = 8;

/** A session as its events tell it. What no event told is absent, never a default that looks like success. */
export interface State {
  sessionId?: string;
  /** The last event that was applied. */
  sequence: number;
  /** Counts the changes of this state; each has one number for ever. */
  revision: number;
  updatedAt?: string;
  session: SessionState;
  /** The agent that acts now. */
  agent?: string;
  threads: ThreadState[];
  /** Open turns and the newest finished ones. */
  turns: TurnState[];
  /** Turns that left the window. */
  sealedTurns: number;
  /** The tasks of these turns, parents before children. */
  tasks: TaskState[];
  toolCalls: ToolCallState[];
  actions: ActionState[];
  queue: QueueEntry[];
  usage: Usage;
  /** Recorded cost by currency. */
  cost: Record<string, number>;
  ledger: Record<string, LedgerFamily>;
  /** Processes that tools ran or run, the newest of them. */
  processes?: Processes;
  /** The newest jobs with their items. */
  jobs?: Jobs;
  /** Trials and comparisons of benchmarks, the newest of them. */
  benchmarks?: Benchmarks;
  problems: Problems;
}

export interface SessionState {
  status: Status;
  title?: string;
  agent?: string;
  tags?: string[];
  metadata?: Json;
  createdAt?: string;
}

export interface ThreadState {
  threadId: string;
  status: Status;
  title?: string;
  activeTurnId?: string;
  lastTurnId?: string;
  /** How the last finished turn ended. */
  lastOutcome?: Status;
  /** Turns of this thread so far, sealed ones included. */
  turns: number;
}

export interface TurnState {
  turnId: string;
  threadId: string;
  status: Status;
  firstSequence: number;
  lastSequence: number;
  /** The root task. */
  taskId?: string;
  runId?: string;
  agent?: string;
  input?: Input;
  inputRef?: BlobRef;
  /** What was said before, where the caller brought it along. */
  history?: Item[];
  settings?: Json;
  /** Files of the input that were read or are being read. */
  files?: TurnFile[];
  /** The agent's own texts for people, by language and name. */
  texts?: Json;
  request?: Json;
  submittedAt?: string;
  startedAt?: string;
  endedAt?: string;
  finalOutput?: Json;
  /** Why the model stopped, where it did not choose to: `max_tokens`, `refusal`, `content_filter`. */
  stopReason?: string;
  error?: ErrorInfo;
  /** True once the turn was taken out of the conversation: shown once, read by no later model call. */
  removed?: boolean;
  usage: Usage;
}

/** A file of a turn, as its events tell it. */
export interface TurnFile {
  fileId: string;
  /** `running`, `completed` or `failed`. */
  status: Status;
  /** The files that were announced up to this one and together with it. */
  count?: number;
  /** `input`, `history`, `steer`. */
  source?: string;
  name?: string;
  url?: string;
  mediaType?: string;
  size?: number;
  pages?: number;
  /** `native` or `text`. */
  handling?: string;
  /** The whole extracted text. */
  outputRef?: BlobRef;
  truncated?: boolean;
  error?: ErrorInfo;
}

export interface TaskState {
  taskId: string;
  status: Status;
  depth: number;
  turnId?: string;
  runId?: string;
  parentTaskId?: string;
  /** The parent's call that this task answers; the item with this call id holds its output. */
  parentToolCallId?: string;
  title?: string;
  objective?: string;
  agent?: string;
  statusReason?: string;
  error?: ErrorInfo;
  createdAt?: string;
  endedAt?: string;
  attempts?: Attempt[];
  usage: Usage;
  output: Item[];
  /** Items that are not complete yet, by position, and how far they are. */
  open?: OpenItem[];
  /** Positions in `output` that were retracted: shown once, withdrawn since. */
  retracted?: number[];
}

export interface OpenItem {
  /** Position in the task's output. */
  position: number;
  /** Blocks (or summary parts, or the arguments as part 0) that are final. */
  done?: number[];
}

/** One run of a task. */
export interface Attempt {
  runId?: string;
  status: Status;
  startedAt?: string;
  endedAt?: string;
  error?: ErrorInfo;
  /** Who works, as it was told. */
  worker?: unknown;
}

export interface ToolCallState {
  toolCallId: string;
  status: Status;
  toolName?: string;
  taskId?: string;
  turnId?: string;
  progress?: string;
  preview?: string;
  inputRef?: BlobRef;
  outputRef?: BlobRef;
  error?: ErrorInfo;
  startedAt?: string;
  endedAt?: string;
  hooks?: HookOutcome[];
}

/** What a hook said of a call, at one point. */
export interface HookOutcome {
  hookName?: string;
  point?: string;
  /** `running`, `completed` or `failed`: of the hook, not of the call. */
  status: Status;
  outcome?: string;
  reason?: string;
  updatedInputRef?: BlobRef;
  updatedToolOutputRef?: BlobRef;
}

/** A decision that somebody must make, or made. An unresolved action is never approval. */
export interface ActionState {
  actionId: string;
  /** `abandoned`: its turn ended first; it can no longer be decided, and is not forgotten. */
  status: "pending" | "resolved" | "abandoned";
  sequence: number;
  requiredAt: string;
  /** What `action.required` said. */
  request: Json;
  turnId?: string;
  taskId?: string;
  /** The outermost task above it: where a person looks. */
  rootTaskId?: string;
  toolCallId?: string;
  resolvedAt?: string;
  /** What `action.resolved` said. */
  resolution?: Json;
}

export interface QueueEntry {
  turnId: string;
  position?: number;
  preview?: string;
}

/** Facts of one family, as they were last told, in the order of their last change. */
export interface LedgerFamily {
  entries: LedgerEntry[];
  /** Entries that were dropped to keep the state small. The log still has them. */
  dropped?: number;
}

export interface LedgerEntry {
  /** What the fact is about, or the event type for facts that name nothing. */
  key: string;
  type: string;
  sequence: number;
  turnId?: string;
  payload?: Json;
}

export interface Processes {
  /** In the order in which they were first told. */
  entries: ProcessState[];
  /** Entries that were dropped to keep the state small. The log still has them. */
  dropped?: number;
}

export interface ProcessState {
  processId: string;
  /** `cancelled` if somebody ended it, `lost` if its owner died. */
  status: Status;
  turnId?: string;
  taskId?: string;
  toolCallId?: string;
  toolName?: string;
  commandSummary?: string;
  cwd?: string;
  destructive?: boolean;
  interactive?: boolean;
  startedAt?: string;
  endedAt?: string;
  /** How often it was given something, and how much. */
  inputs: number;
  inputBytes: number;
  /** How often it was told to have written something, and how much. */
  outputs: number;
  outputBytes: number;
  outputRefs?: BlobRef[];
  exitCode?: number;
  signal?: string;
  terminatedBy?: string;
  reason?: string;
  durationMs?: number;
  error?: ErrorInfo;
}

export interface Jobs {
  /** In the order in which they were created. */
  entries: JobState[];
  /** Jobs that were dropped to keep the state small. The log still has them. */
  dropped?: number;
}

/** The status of a job or of one of its items; `reported` is an item's whose result was delivered. */
export type JobStatus = "pending" | "running" | "completed" | "failed" | "cancelled" | "reported";

export interface JobState {
  jobId: string;
  status: JobStatus;
  /** The first event about it. */
  sequence: number;
  title?: string;
  threadId?: string;
  taskId?: string;
  instructionRef?: BlobRef;
  metadata?: Json;
  /** As its worker counted last. */
  progress?: JobProgress;
  reason?: string;
  error?: ErrorInfo;
  createdAt?: string;
  startedAt?: string;
  endedAt?: string;
  items: JobItemState[];
  /** Items beyond those that the state keeps. */
  droppedItems?: number;
}

export interface JobItemState {
  itemId: string;
  status: JobStatus;
  /** Attempts so far, the running one included. */
  attempts: number;
  title?: string;
  threadId?: string;
  metadata?: Json;
  inputRef?: BlobRef;
  outputRef?: BlobRef;
  /** Why the last failed attempt failed. It stays when a later attempt succeeds. */
  lastError?: ErrorInfo;
  /** Of a failed item: whether another attempt may succeed. */
  retryable?: boolean;
  startedAt?: string;
  endedAt?: string;
}

/** What a harness outside measured in this session. */
export interface Benchmarks {
  datasets?: BenchmarkFact[];
  configurations?: BenchmarkFact[];
  /** In the order in which they were first named. */
  trials?: TrialState[];
  comparisons?: BenchmarkFact[];
  /** Entries that were dropped to keep the state small. The log still has them. */
  dropped?: number;
}

/** A data set, a configuration or a comparison. */
export interface BenchmarkFact {
  sequence: number;
  recordedAt: string;
  benchmark: BenchmarkIds;
  comparison?: Comparison;
  metrics?: Json;
  decisionInputs?: Json;
  refs?: Json;
}

/** One trial: which task and configuration, which turn and run it was, and how it was graded. */
export interface TrialState {
  trialId: string;
  /** `unknown` while only its reward is known. */
  status: Status;
  /** The first event about it. */
  sequence: number;
  benchmark: BenchmarkIds;
  threadId?: string;
  turnId?: string;
  taskId?: string;
  runId?: string;
  traceId?: string;
  runtimeCorrelation?: Json;
  attempt?: number;
  timeoutSec?: number;
  startedAt?: string;
  endedAt?: string;
  /** Absent until the trial was graded: no reward is not a reward of zero. */
  reward?: Reward;
  trajectory?: Trajectory;
  metrics?: Json;
  decisionInputs?: Json;
  refs?: Json;
  failureCategory?: string;
  error?: ErrorInfo;
}

/** What the fold could not make sense of. */
export interface Problems {
  count: number;
  recent: Problem[];
}

export interface Problem {
  sequence: number;
  code: ProblemCode;
  /** For people; it differs by language. */
  detail: string;
}

export type ProblemCode =
  /** The payload does not fit its type. */
  | "malformed"
  /** An id is missing without which the event joins nothing. Nothing is guessed from time. */
  | "missing_correlation"
  /** It names something that no event announced. */
  | "unknown_item"
  | "unknown_action"
  /** The item is of another type than the event needs. */
  | "wrong_item_type"
  /** A new item's index is not the next place of the output; it went to the end. */
  | "output_index"
  /** A block index leaves a hole; the block went to the end. */
  | "block_index"
  /** The turn or task had ended. */
  | "after_terminal"
  /** A second terminal event, or a second decision: the first one stands. */
  | "already_ended"
  /** A task would be its own ancestor. */
  | "task_cycle"
  /** `[^n]` with a number that no result has. */
  | "unknown_reference";

/** A finished turn with everything that belongs to it. It never changes again. */
export interface SealedTurn {
  turn: TurnState;
  tasks: TaskState[];
  toolCalls: ToolCallState[];
  actions: ActionState[];
}

/** The state before the first event. */
export function emptyState(sessionId?: string): State {
  return {
    ...(sessionId !== undefined && { sessionId }),
    sequence: 0,
    revision: 0,
    session: { status: "unknown" },
    threads: [],
    turns: [],
    sealedTurns: 0,
    tasks: [],
    toolCalls: [],
    actions: [],
    queue: [],
    usage: {},
    cost: {},
    ledger: {},
    problems: { count: 0, recent: [] },
  };
}
