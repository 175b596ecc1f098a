/** RFC 3339 in, `2026-11-16T05:40:00.123Z` out; precision below a millisecond is dropped. */

const FORM = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Absent if the text is no date and time. */
export function normalTime(text: string): string | undefined {
  const found = FORM.exec(text);
  if (found === null) return undefined;
  const number = (group: number): number => Number(found[group] ?? 0);
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(number) as [number, number, number, number, number, number];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 60 || number(9) > 23 || number(10) > 59) return undefined;
  const millis = Number((found[7] ?? "").slice(0, 3).padEnd(3, "0"));
  const offset = (found[8] === "-" ? -1 : 1) * (number(9) * 60 + number(10));
  const time = new Date(0);
  time.setUTCFullYear(year, month - 1, day);
  time.setUTCHours(hour, minute - offset, second, millis);
  // A zone may lead out of the years that have four digits.
  const told = Math.min(Math.max(time.getUTCFullYear(), 0), 9999);
  return String(told).padStart(4, "0") + time.toISOString().slice(-20);
}

function daysIn(year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
}
