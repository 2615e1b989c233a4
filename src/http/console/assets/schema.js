// JSON schemas, as nested lists.

import { el } from "./dom.js";
import { blocks } from "./markdown.js";

/** Deeper parts of a schema are named and not unfolded. */
const DEPTH_MAX = 6;

function resolved(schema, document_) {
  const name = schema.$ref?.split("/").pop();
  return name ? { name, ...document_.components.schemas[name] } : schema;
}

/** "array of string", "Document", "number, null". */
export function shortType(given, document_) {
  const schema = resolved(given, document_);
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (alternatives)
    return [...new Set(alternatives.map((one) => shortType(one, document_)))].join(" | ");
  const types = [schema.type ?? (schema.properties ? "object" : "any")].flat();
  const named = types.map((type) =>
    type === "array" && schema.items ? `array of ${shortType(schema.items, document_)}` : type,
  );
  return `${schema.name && types.includes("object") ? schema.name : named.join(" | ")}${bounds(schema)}`;
}

function bounds({
  minimum,
  maximum,
  exclusiveMinimum,
  exclusiveMaximum,
  default: usual,
  maxLength,
}) {
  const low = exclusiveMinimum ?? minimum;
  const high = exclusiveMaximum ?? maximum;
  const range =
    low !== undefined && high !== undefined
      ? `${low} to ${high}`
      : low !== undefined
        ? `from ${low}`
        : high !== undefined
          ? `to ${high}`
          : "";
  const said = [
    range,
    maxLength === undefined ? "" : `at most ${maxLength} characters`,
    usual === undefined || usual === null || typeof usual === "object" ? "" : `default ${usual}`,
  ];
  return said
    .filter(Boolean)
    .map((text) => `, ${text}`)
    .join("");
}

/** A schema with all its properties. */
export function schemaNode(given, document_, depth = 0) {
  if (!given) return null;
  const schema = resolved(given, document_);
  const parts = schema.allOf ?? schema.oneOf ?? schema.anyOf;
  if (parts) {
    const inner = parts
      .map((part) => resolved(part, document_))
      .filter(hasParts)
      .map((part) => schemaNode(part, document_, depth));
    const word = schema.allOf
      ? null
      : el("p", { class: "hint" }, "one of: ", shortType(schema, document_));
    return inner.length > 0 || depth === 0
      ? [depth === 0 ? blocks(schema.description) : null, word, inner]
      : null;
  }
  if (schema.type === "array" && schema.items) return schemaNode(schema.items, document_, depth);
  if (schema.contentSchema) return schemaNode(schema.contentSchema, document_, depth);
  if (!schema.properties)
    return depth === 0 ? el("p", { class: "hint" }, shortType(schema, document_)) : null;
  return [depth === 0 ? blocks(schema.description) : null, propertiesOf(schema, document_, depth)];
}

function propertiesOf({ properties, required = [] }, document_, depth) {
  const entry = ([name, property]) => {
    const schema = resolved(property, document_);
    const inner =
      depth < DEPTH_MAX && hasParts(schema) ? schemaNode(schema, document_, depth + 1) : null;
    return [
      el(
        "dt",
        {},
        el("code", {}, name),
        " ",
        el(
          "small",
          {},
          `${shortType(property, document_)}${required.includes(name) ? "" : ", optional"}`,
        ),
      ),
      el(
        "dd",
        {},
        blocks(property.description ?? schema.description),
        inner ? el("details", {}, el("summary", {}, `Parts of ${name}`), inner) : null,
      ),
    ];
  };
  return el("dl", { class: "parameters" }, Object.entries(properties).map(entry));
}

function hasParts(schema) {
  return Boolean(schema.properties || schema.items || schema.oneOf || schema.anyOf || schema.allOf);
}
