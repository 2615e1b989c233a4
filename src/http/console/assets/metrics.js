// Reads the text format of Prometheus, as far as this server writes it.

/** `[{name, labels, value}]`. */
export function parsed(text) {
  const samples = [];
  for (const line of text.split("\n")) {
    const match = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!match) continue;
    const labels = {};
    for (const [, name, value] of (match[2] ?? "").matchAll(/([a-z]+)="((?:[^"\\]|\\.)*)"/g))
      labels[name] = value;
    samples.push({ name: match[1], labels, value: Number(match[3]) });
  }
  return samples;
}

export function value(samples, name) {
  return samples.find((sample) => sample.name === name)?.value;
}

/** What each route took: `[{route, requests, seconds, p99}]`, the most time first. */
export function routes(samples) {
  const found = new Map();
  for (const { name, labels, value: n } of samples) {
    const part = /^akin_http_request_duration_seconds_(bucket|sum|count)$/.exec(name)?.[1];
    if (!part) continue;
    const route = `${labels.method} ${labels.route}`;
    const entry = found.get(route) ?? { route, buckets: [] };
    if (part === "bucket") entry.buckets.push([Number(labels.le.replace("+Inf", "Infinity")), n]);
    else entry[part] = n;
    found.set(route, entry);
  }
  const rows = [...found.values()]
    .filter(({ count }) => count > 0)
    .map(({ route, buckets, sum, count }) => ({
      route,
      requests: count,
      seconds: sum,
      p99: quantile(buckets, count, 0.99),
    }));
  return rows.sort((a, b) => b.seconds - a.seconds);
}

/** The upper bound of the bucket in which the quantile lies. */
function quantile(buckets, count, q) {
  const reached = buckets.find(([, n]) => n >= q * count);
  return reached?.[0];
}
