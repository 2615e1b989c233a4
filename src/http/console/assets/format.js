// Numbers as people read them.

const whole = new Intl.NumberFormat("en");

export function count(n) {
  return n === undefined || n === null ? "–" : whole.format(Math.round(n));
}

/** "1 match", "2 matches". */
export function counted(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A similarity or a probability. Only what is exactly 1 reads as 1. */
export function share(x) {
  if (x === undefined || x === null) return "–";
  if (x > 0.9995 && x < 1) return "> 0.999";
  return x === 0 || x === 1 ? String(x) : x.toFixed(3);
}

export function bytes(n) {
  if (n === undefined || n === null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit += 1;
  }
  return `${n >= 100 || unit === 0 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

/** A duration given in seconds. */
export function duration(s) {
  if (s === undefined || s === null || Number.isNaN(s)) return "–";
  if (s < 1e-3) return `${Math.round(s * 1e6)} µs`;
  if (s < 1) return `${(s * 1e3).toPrecision(3)} ms`;
  if (s < 120) return `${s.toPrecision(3)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  return s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} days`;
}

export function time(text) {
  return text ? text.replace("T", " ").replace(/\.\d+Z$/, "Z") : "–";
}

/** The text as a word of a shell. */
export function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The text up to `max` characters. */
export function cut(text, max) {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}
