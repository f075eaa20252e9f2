/* Numbers and times as readable text, written as the terminal writes them; times are in UTC. */

const SIZES = ["B", "kB", "MB", "GB", "TB", "PB"];
export const NONE = "–";

/** Return whether there is a number to show. */
export function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/** Format 1234567 as 1,234,567. */
export function count(number) {
  return isNumber(number) ? Math.round(number).toLocaleString("en-US") : NONE;
}

/** Format a number with its noun: 1 host, 1,234 hosts. */
export function things(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Format bytes in powers of a thousand: 23.4 MB. */
export function size(number) {
  if (!isNumber(number)) return NONE;
  for (const unit of SIZES.slice(0, -1)) {
    if (number < 999.5) return `${number.toFixed(unit === "B" || number >= 99.95 ? 0 : 1)} ${unit}`;
    number /= 1000;
  }
  return `${decimal(number, 1)} ${SIZES.at(-1)}`;
}

/** Format a rate as 807/s; slow rates with a decimal, very slow ones by the minute. */
export function rate(perSecond) {
  if (!isNumber(perSecond)) return NONE;
  if (perSecond >= 9.95) return `${count(perSecond)}/s`;
  if (perSecond <= 0) return "0/s";
  return perSecond >= 0.1 ? `${perSecond.toFixed(1)}/s` : `${(perSecond * 60).toFixed(1)}/min`;
}

/** Format bytes per second. */
export function speed(perSecond) {
  return isNumber(perSecond) ? `${size(Math.max(perSecond, 0))}/s` : NONE;
}

/** Format seconds in the two largest useful units: 8.2 s, 3 min 05 s, 2 h 10 min, 4 d 03 h. */
export function duration(seconds) {
  if (!isNumber(seconds)) return NONE;
  if (seconds < 59.95) return `${Math.max(seconds, 0).toFixed(1)} s`;
  const whole = Math.round(seconds);
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${two((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${two((whole % 86400) / 3600)} h`;
}

/** Format seconds that may be very few: 0.7 ms, 12 ms, 8.2 s. */
export function span(seconds) {
  if (!isNumber(seconds) || seconds >= 0.0995 || seconds <= 0) return duration(seconds);
  const ms = seconds * 1000;
  return `${ms.toFixed(ms < 9.95 ? 1 : 0)} ms`;
}

/** Format epoch seconds as 2026-03-01 12:34:56, in UTC. */
export function moment(at) {
  if (!isNumber(at) || Math.abs(at) > 8.64e12) return NONE;
  return new Date(at * 1000).toISOString().slice(0, 19).replace("T", " ");
}

/** Format epoch seconds as 12:34:56, in UTC. */
export function clock(at) {
  return moment(at).slice(11);
}

/** Format a time relative to another: in 3.0 s, 2 min 10 s ago, now. */
export function relative(at, now) {
  if (!isNumber(at) || !isNumber(now)) return NONE;
  const ahead = at - now;
  if (Math.abs(ahead) < 0.05) return "now";
  return ahead > 0 ? `in ${duration(ahead)}` : `${duration(-ahead)} ago`;
}

export function percent(share) {
  return isNumber(share) ? `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %` : NONE;
}

/** Format a number with at most so many decimals. */
export function decimal(number, most = 3) {
  return isNumber(number) ? number.toLocaleString("en-US", { maximumFractionDigits: most }) : NONE;
}

const BY_UNIT = { "bytes per second": speed, "seconds per second": percent, bytes: size, seconds: span };

/** Return the function that formats values of a unit. */
export function ofUnit(unit) {
  return BY_UNIT[unit] ?? (unit?.endsWith(" per second") ? rate : (value) => decimal(value, Math.abs(value) < 10 ? 2 : 0));
}
