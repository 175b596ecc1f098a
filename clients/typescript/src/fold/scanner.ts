/**
 * Finds `[^1]` in text that arrives in pieces.
 *
 * A marker may be split over any number of pieces. Inside code (a run of backticks up to the same run, or up to a
 * blank line if it has fewer than three) a marker is code, not a citation.
 */

/** A marker in the text: `[start, end)` in code points. */
export interface Marker {
  readonly number: number;
  readonly start: number;
  readonly end: number;
}

/** Longer numbers are not citations. */
const MAX_DIGITS = 9;
/** Unicode's White_Space, which is not what `\s` means. */
const SPACE = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

type Place =
  | { readonly type: "text" }
  /** After `[`. */
  | { readonly type: "bracket"; readonly start: number }
  /** After `[^` and some digits. */
  | { readonly type: "number"; readonly start: number; readonly number: number; readonly digits: number };

const TEXT: Place = { type: "text" };

/** Where the scan of one text stands. */
export class Scanner {
  /** UTF-16 units that were seen. */
  seen = 0;
  #codePoints = 0;
  #place: Place = TEXT;
  /** Length of the run of backticks that opened the code we are in; 0 outside code. */
  #code = 0;
  /** Length of the run of backticks that we are in the middle of. */
  #run = 0;
  #lineIsBlank = false;

  /** The scanner that has seen all of this text. What it found is left out: it was annotated, or refused, before. */
  static after(text: string): Scanner {
    const scanner = new Scanner();
    scanner.scan(text);
    return scanner;
  }

  /** Goes on with the piece that comes next. */
  scan(piece: string): Marker[] {
    const found: Marker[] = [];
    for (const character of piece) {
      this.#step(character, found);
      this.#codePoints += 1;
    }
    this.seen += piece.length;
    return found;
  }

  #step(character: string, found: Marker[]): void {
    if (character === "`") {
      this.#run += 1;
      this.#place = TEXT;
      this.#lineIsBlank = false;
      return;
    }
    this.#endRun();
    this.#endLine(character);
    this.#place = this.#code > 0 ? TEXT : this.#nextPlace(character, found);
  }

  #endRun(): void {
    if (this.#run === 0) return;
    if (this.#code === 0) this.#code = this.#run;
    else if (this.#code === this.#run) this.#code = 0;
    this.#run = 0;
  }

  /** A blank line ends a paragraph, and with it code that was opened by one or two backticks. */
  #endLine(character: string): void {
    if (character === "\n") {
      if (this.#lineIsBlank && this.#code < 3) this.#code = 0;
      this.#lineIsBlank = true;
    } else if (this.#lineIsBlank && !SPACE.test(character)) {
      this.#lineIsBlank = false;
    }
  }

  #nextPlace(character: string, found: Marker[]): Place {
    const place = this.#place;
    if (character === "[") return { type: "bracket", start: this.#codePoints };
    if (place.type === "text") return TEXT;
    if (place.type === "bracket") {
      return character === "^" ? { type: "number", start: place.start, number: 0, digits: 0 } : TEXT;
    }
    if (character >= "0" && character <= "9" && place.digits < MAX_DIGITS) {
      return { ...place, number: place.number * 10 + Number(character), digits: place.digits + 1 };
    }
    if (character === "]" && place.digits > 0) {
      found.push({ number: place.number, start: place.start, end: this.#codePoints + 1 });
    }
    return TEXT;
  }
}
