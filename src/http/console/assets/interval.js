// The error of an estimate that comes without its interval.

const Z = 1.96;

/** The 95 % interval of an estimate, `[low, high]`: the server's, or Wilson's of its slots. */
export function interval(estimated, { sketch }) {
  if (estimated.interval) return estimated.interval;
  // Slots of few bits agree by accident, which the estimate leaves out.
  const accident = 2 ** -sketch.bits;
  const n = sketch.slots;
  const p = estimated.value * (1 - accident) + accident;
  const center = (p + (Z * Z) / (2 * n)) / (1 + (Z * Z) / n);
  const half = (Z * Math.sqrt((p * (1 - p)) / n + (Z * Z) / (4 * n * n))) / (1 + (Z * Z) / n);
  const without = (q) => Math.min(1, Math.max(0, (q - accident) / (1 - accident)));
  return [without(center - half), without(center + half)];
}
