// The page and its parameters stand in the address behind `#`, so that they can be kept and shared:
// `#/lookup?collection=news&id=a`.

export function current() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { page: path, parameters: new URLSearchParams(query ?? "") };
}

export function link(page, parameters = {}) {
  const given = Object.entries(parameters).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  const query = new URLSearchParams(given).toString();
  return `#/${page}${query ? `?${query}` : ""}`;
}

/** Notes parameters in the address without another step of the history. */
export function note(changed) {
  const { page, parameters } = current();
  const all = { ...Object.fromEntries(parameters), ...changed };
  history.replaceState(null, "", link(page, all));
}
