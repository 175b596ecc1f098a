/** Files of a turn's input. */

import type { FileProcessing } from "../generated/events.js";
import { findTurn } from "./find.js";
import { ledger } from "./plain.js";
import type { TurnFile } from "./state.js";
import type { Step } from "./step.js";
import { putIfTold } from "./step.js";

/** Files of one turn that the state holds; the log has those beyond it. */
const MOST_FILES = 100;

type FileStatus = "running" | "completed" | "failed";

/** A file that is announced again begins anew. One that was never announced is taken as it is. */
export function file(status: FileStatus): (step: Step, reported: FileProcessing) => void {
  return (step, reported) => {
    const turn = findTurn(step, step.event.scope.turnId);
    if (turn === undefined) return ledger(step);
    const known = step.state.turns[turn]?.files ?? [];
    const at = known.findIndex((file) => file.fileId === reported.fileId);
    if (at < 0 && known.length >= MOST_FILES) return ledger(step);
    const files = step.ownList(step.turn(turn), "files");
    files[at < 0 ? files.length : at] = merged(known[at], status, reported);
    step.change();
  };
}

/** What an earlier reading found says nothing about the one that begins. */
function merged(before: TurnFile | undefined, status: FileStatus, reported: FileProcessing): TurnFile {
  const file: TurnFile = { ...(status !== "running" && before), fileId: reported.fileId, status };
  delete file.error;
  putIfTold(file, "count", reported.count);
  putIfTold(file, "source", reported.source);
  putIfTold(file, "name", reported.name);
  putIfTold(file, "url", reported.url);
  putIfTold(file, "mediaType", reported.mediaType);
  putIfTold(file, "size", reported.size);
  putIfTold(file, "pages", reported.pages);
  putIfTold(file, "handling", reported.handling);
  putIfTold(file, "outputRef", reported.outputRef);
  putIfTold(file, "truncated", reported.truncated);
  putIfTold(file, "error", reported.error);
  return file;
}
