/** The input of an agent as fields of a form, made from its schema. */

export interface InputField {
  name: string;
  label: string;
  help?: string;
  kind: 'text' | 'number' | 'boolean' | 'choice' | 'json';
  choices: unknown[];
  isRequired: boolean;
}

interface Schema {
  type?: string | string[];
  title?: unknown;
  description?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
}

/** The fields; one for the whole value where it is no object with named fields. */
export function fieldsOf(input: unknown): InputField[] {
  if (typeof input !== 'object' || input === null) return [];
  const schema = input as Schema;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const named = Object.entries(schema.properties ?? {});
  return named.map(([name, field]) => fieldOf(name, field, required.includes(name)));
}

function fieldOf(name: string, schema: Schema, isRequired: boolean): InputField {
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type;
  const choices = Array.isArray(schema.enum) ? schema.enum : [];
  const simple = type === 'number' || type === 'integer' ? 'number' : type === 'boolean' ? 'boolean' : type === undefined || type === 'string' ? 'text' : 'json';
  return {
    name,
    label: typeof schema.title === 'string' ? schema.title : name,
    ...(typeof schema.description === 'string' ? { help: schema.description } : {}),
    kind: choices.length > 0 ? 'choice' : simple,
    choices,
    isRequired,
  };
}

/** The input as typed, without fields that were left empty, and the fields in which something is wrong. */
export function inputOf(fields: InputField[], typed: Record<string, string>): { input: Record<string, unknown>; wrong: string[] } {
  const input: Record<string, unknown> = {};
  const wrong: string[] = [];
  for (const field of fields) {
    const text = (typed[field.name] ?? '').trim();
    if (text === '') {
      if (field.isRequired) wrong.push(field.name);
      continue;
    }
    const value = valueOf(field, text);
    if (value === undefined) wrong.push(field.name);
    else input[field.name] = value;
  }
  return { input, wrong };
}

function valueOf(field: InputField, text: string): unknown {
  switch (field.kind) {
    case 'choice':
      return field.choices[Number(text)];
    case 'boolean':
      return text === 'yes';
    case 'number': {
      const number = Number(text.replace(/\s/g, '').replace(',', '.'));
      return Number.isNaN(number) ? undefined : number;
    }
    case 'json':
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return undefined;
      }
    default:
      return text;
  }
}
