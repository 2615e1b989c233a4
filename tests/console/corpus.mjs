// A small corpus, the same in every run: articles, each with copies that differ a little.

/** A generator of numbers in 0..1 (mulberry32). */
export function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SUBJECTS = [
  "The city council",
  "A local farmer",
  "The ferry company",
  "The museum",
  "An amateur astronomer",
  "The national library",
  "A group of students",
  "The harbour master",
  "The weather service",
  "A retired teacher",
];
const VERBS = [
  "announced",
  "rejected",
  "presented",
  "discussed",
  "published",
  "delayed",
  "defended",
  "tested",
];
const OBJECTS = [
  "a plan to rebuild the old bridge",
  "the results of a long survey",
  "new rules for night trains",
  "a map of every tree in the park",
  "the budget for the coming year",
  "a collection of forgotten letters",
  "an exhibition about the lighthouse",
  "a proposal to open the archive",
];
const PLACES = [
  "on Monday morning",
  "after months of debate",
  "in front of a small crowd",
  "at the spring meeting",
  "near the northern gate",
  "despite heavy rain",
  "with support from neighbours",
  "for the third time this decade",
];
const ENDINGS = [
  "and expects an answer by autumn",
  "which surprised nobody who had followed the matter",
  "although several questions remain open",
  "and invited everyone to comment",
  "but gave no date",
  "because the earlier attempt had failed",
  "and thanked the volunteers",
  "while critics asked for more time",
];

function sentence(next) {
  const pick = (list) => list[Math.floor(next() * list.length)];
  return [SUBJECTS, VERBS, OBJECTS, PLACES, ENDINGS].map(pick).join(" ");
}

/** The text with some of its words exchanged. */
function edited(text, share, next) {
  const words = ["today", "quietly", "again", "reportedly", "later", "perhaps"];
  return text
    .split(" ")
    .map((word) => (next() < share ? words[Math.floor(next() * words.length)] : word))
    .join(" ");
}

export const HOSTILE = '<img src=x onerror="window.hacked=1">';

/** Documents that quote each other: a thesis with parts of three sources, and what quotes markup. */
export function essays() {
  const next = random(11);
  const sentences = (n) => Array.from({ length: n }, () => `${sentence(next)}. `).join("");
  const sources = ["report", "letter", "speech"].map((id) => ({ id, text: sentences(9) }));
  const part = ({ text }, from, to) => text.split(". ").slice(from, to).join(". ");
  const [report, letter, speech] = sources;
  const harbour =
    "The harbour was closed for repairs during a whole winter while fishermen waited on the quay for news.";
  report.text += harbour;
  const quoted = part(letter, 2, 5).replace(/ (\w+) (\w+)$/, " $1 indeed $2");
  const thesis = [
    "A thesis of its own begins without any source at all and says so.",
    part(report, 1, 4),
    "Then it argues for a while in words that nobody else has used before.",
    quoted,
    "Between two quotations there is one more remark of the author alone.",
    part(speech, 0, 2),
    part(report, 5, 8),
    "It ends as it began.",
  ].join(" ");
  const markup = `${HOSTILE} ${harbour} <b>${HOSTILE}</b>`;
  return [...sources, { id: "thesis", text: thesis }, { id: `${HOSTILE}3`, text: markup }];
}

export function corpus() {
  const next = random(7);
  const documents = [];
  for (let article = 0; article < 60; article += 1) {
    const text = `${Array.from({ length: 7 }, () => sentence(next)).join(". ")}.`;
    const copies = article % 12 === 0 ? 9 : article % 4 === 0 ? 3 : article % 2;
    const name = `article-${String(article).padStart(2, "0")}`;
    const metadata = { lang: article % 3 ? "en" : "de", year: 2000 + (article % 24) };
    documents.push({ id: name, text, metadata });
    for (let copy = 1; copy <= copies; copy += 1) {
      const changed = copy === 3 ? text : edited(text, 0.004 + 0.005 * copy, next);
      documents.push({
        id: `${name}/copy-${copy}`,
        text: changed,
        metadata: { ...metadata, copy },
      });
    }
  }
  const hostile = `${HOSTILE} </script><script>window.hacked=1</script> a text that tries to be markup & more \u202e${sentence(next)}`;
  for (const n of [1, 2]) {
    documents.push({
      id: `${HOSTILE}${n}`,
      text: `${hostile} ${"again ".repeat(n)}`,
      metadata: { [HOSTILE]: HOSTILE },
    });
  }
  return documents;
}
