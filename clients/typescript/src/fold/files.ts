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
export function file(status: FileStatus): (step: Step, told: FileProcessing) => void {
  return (step, told) => {
    const turn = findTurn(step, step.event.scope.turnId);
    if (turn === undefined) return ledger(step);
    const known = step.state.turns[turn]?.files ?? [];
    const at = known.findIndex((file) => file.fileId === told.fileId);
    if (at < 0 && known.length >= MOST_FILES) return ledger(step);
    const files = step.ownList(step.turn(turn), "files");
    files[at < 0 ? files.length : at] = merged(known[at], status, told);
    step.change();
  };
}

/** What an earlier reading found says nothing about the one that begins. */
function merged(before: TurnFile | undefined, status: FileStatus, told: FileProcessing): TurnFile {
  const file: TurnFile = { ...(status !== "running" && before), fileId: told.fileId, status };
  delete file.error;
  putIfTold(file, "count", told.count);
  putIfTold(file, "source", told.source);
  putIfTold(file, "name", told.name);
  putIfTold(file, "url", told.url);
  putIfTold(file, "mediaType", told.mediaType);
  putIfTold(file, "size", told.size);
  putIfTold(file, "pages", told.pages);
  putIfTold(file, "handling", told.handling);
  putIfTold(file, "outputRef", told.outputRef);
  putIfTold(file, "truncated", told.truncated);
  putIfTold(file, "error", told.error);
  return file;
}
