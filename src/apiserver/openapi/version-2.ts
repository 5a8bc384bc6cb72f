/**
 * The OpenAPI v2 (Swagger) document of the whole API. It is merged from a part for each group version; a part is
 * generated again only if its resources change, so that one more CustomResourceDefinition costs little.
 */
import type { Resource } from '#/api/resource.ts'
import type { Clock } from '#/platform/platform.ts'
import { shortNameOf } from './definition-names.ts'
import { definitionsFor, type DefinitionOptions } from './definitions.ts'
import { reference, version2, type JsonSchema } from './json-schema.ts'
import { compareText, failure, splitParameters, successes, type Operation, type Path } from './operation.ts'
import type { Parameter } from './parameters.ts'
import type { Section } from './sections.ts'
import { SharedParameters } from './shared-parameters.ts'

export interface Version2Options extends Omit<DefinitionOptions, 'dialect' | 'homes'> {
  /** Server version, e.g. `v1.36.4+k8ts.0.1.0`. */
  readonly gitVersion: string
}

/** JSON texts by name. */
type Texts = ReadonlyMap<string, string>

interface Part {
  readonly resources: readonly Resource[]
  readonly paths: Texts
  /** Definitions that Kubernetes does not have. */
  readonly custom: Texts
  /** Names of definitions that Kubernetes has, too. */
  readonly builtIn: readonly string[]
  readonly parameters: Texts
}

export class Version2Document {
  readonly #clock: Pick<Clock, 'turn'>
  readonly #parts = new Map<string, Part>()
  /** Definitions that several parts contain. */
  readonly #builtIn = new Map<string, string>()

  constructor(clock: Pick<Clock, 'turn'>) {
    this.#clock = clock
  }

  /** The document as JSON. */
  async print(sections: ReadonlyMap<string, Section>, options: Version2Options): Promise<string> {
    for (const name of this.#parts.keys()) if (!sections.has(name)) this.#parts.delete(name)
    const parts: Part[] = []
    for (const section of sections.values()) parts.push(await this.#part(section, options))
    const builtIn = new Set(parts.flatMap(part => part.builtIn))
    const definitions = [...builtIn].map(name => [name, this.#builtIn.get(name) ?? ''] as const)
    const members = {
      swagger: JSON.stringify('2.0'),
      info: JSON.stringify({ title: 'Kubernetes', version: options.gitVersion }),
      paths: printObject(parts.flatMap(part => [...part.paths])),
      definitions: printObject(new Map([...definitions, ...parts.flatMap(part => [...part.custom])])),
      parameters: printObject(new Map(parts.flatMap(part => [...part.parameters]))),
      securityDefinitions: JSON.stringify({ BearerToken: bearerToken }),
      security: JSON.stringify([{ BearerToken: [] }]),
    }
    return `{${Object.entries(members)
      .map(([name, text]) => `"${name}":${text}`)
      .join()}}`
  }

  async #part(section: Section, options: Version2Options): Promise<Part> {
    const { name, resources } = section
    const known = this.#parts.get(name)
    if (known && isSame(known.resources, resources)) return known
    // The document has many parts, so this yields to the event loop between them.
    await this.#clock.turn()
    const paths = section.paths()
    const shared = new SharedParameters()
    const definitions = Object.entries(definitionsFor(paths, resources, { ...options, dialect: version2 }))
    const [builtIn, custom] = [true, false].map(wanted =>
      definitions.filter(([each]) => (shortNameOf(each) !== undefined) === wanted),
    )
    for (const [each, schema] of builtIn ?? []) {
      this.#builtIn.getOrInsertComputed(each, () => JSON.stringify(schema))
    }
    const part = {
      resources,
      paths: textsOf(paths.map(path => [path.path, describePath(path, shared)])),
      custom: textsOf(custom ?? []),
      builtIn: (builtIn ?? []).map(([each]) => each),
      parameters: textsOf(Object.entries(shared.definitions())),
    }
    this.#parts.set(name, part)
    return part
  }
}

function isSame(left: readonly Resource[], right: readonly Resource[]): boolean {
  return left.length === right.length && left.every((each, index) => each === right[index])
}

function textsOf(entries: readonly (readonly [string, JsonSchema])[]): Texts {
  return new Map(entries.map(([name, schema]) => [name, JSON.stringify(schema)]))
}

/** Members are sorted by name. */
function printObject(texts: Iterable<readonly [string, string]>): string {
  const sorted = [...texts].sort(([left], [right]) => compareText(left, right))
  return `{${sorted.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`
}

export const bearerToken: JsonSchema = {
  description: 'Bearer Token authentication',
  type: 'apiKey',
  name: 'authorization',
  in: 'header',
}

function describePath(path: Path, shared: SharedParameters): JsonSchema {
  const parameters = splitParameters(path)
  const operations = path.operations.map(operation => [
    operation.method,
    describeOperation(operation, parameters.own.get(operation) ?? [], shared),
  ])
  return {
    ...(Object.fromEntries(operations) as JsonSchema),
    ...(parameters.shared.length > 0 && {
      parameters: parameters.shared.map(each => shared.write(describe(each))),
    }),
  }
}

function describeOperation(
  operation: Operation,
  parameters: readonly Parameter[],
  shared: SharedParameters,
): JsonSchema {
  const { action, kind, consumes, produces, tag, id, description, body, responses } = operation
  const bodies = body
    ? [
        {
          name: 'body',
          in: 'body',
          ...(body.required && { required: true }),
          schema: reference(version2, body.definition),
        },
      ]
    : []
  const written = [...bodies, ...parameters.map(describe)].sort((left, right) =>
    compareText(String(left['name']), String(right['name'])),
  )
  return {
    description,
    consumes,
    produces,
    schemes: ['https'],
    tags: [tag],
    operationId: id,
    ...(written.length > 0 && { parameters: written.map(each => shared.write(each)) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([code, name]) => [
          code,
          {
            description: successes[code],
            schema: name === 'string' ? { type: 'string' } : reference(version2, name),
          },
        ]),
      ),
      [failure.code]: { description: failure.description },
    },
    ...(action !== undefined && { 'x-kubernetes-action': action }),
    ...(kind && { 'x-kubernetes-group-version-kind': kind }),
  }
}

/** The key order matters: it determines the hash in the names of shared parameters. */
function describe({ type, description, name, required, in: place }: Parameter): JsonSchema {
  return { uniqueItems: true, type, description, name, in: place, ...(required && { required }) }
}
